// The LogGOPS model's parameters: what a message costs processors, adapters and the network.
#pragma once

#include <cstdint>

#include "loom/base/time.hpp"

namespace loom::model {

// Per-byte costs are in picoseconds a byte, which 1 GB/s makes 1,000.
struct LogGops {
    Time L = nanoseconds(2500);  // latency
    Time o = nanoseconds(1500);  // processor overhead of a message, at either end
    Time g = nanoseconds(1000);  // gap between messages at an adapter
    std::int64_t G = 6'000;      // gap a byte (ps)
    std::int64_t O = 0;          // processor overhead a byte (ps)
    std::uint64_t S = 65'535;    // messages of more bytes complete at the sender when they are matched
    friend bool operator==(const LogGops&, const LogGops&) = default;
};

// What the bytes of a message cost: all but the first, which `o` or `g` has in it.
[[nodiscard]] constexpr Time per_byte(std::int64_t picoseconds, std::uint64_t bytes) {
    return Time{bytes == 0 ? 0 : picoseconds * static_cast<std::int64_t>(bytes - 1)};
}

}  // namespace loom::model
