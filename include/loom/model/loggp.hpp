// LogGP (Alexandrov and others 1995): what a message costs, with a bandwidth of its own for long ones.
#pragma once

#include <cstdint>

#include "loom/base/time.hpp"
#include "loom/model/assumptions.hpp"

namespace loom::model {

// What work on a rank itself costs its core. Per-byte costs are in picoseconds, which 1 GB/s makes 1,000.
struct LocalCosts {
    std::int64_t copy = assumed::copy;
    std::int64_t reduce = assumed::reduce;
    Time step{};  // of every copy and reduce, whatever its length
    friend bool operator==(const LocalCosts&, const LocalCosts&) = default;
};

// A message of s bytes takes o + (s - 1)G + L + o from the beginning of its send to the end of its receive. The core of
// either end is busy for o, the adapter of either end for g + (s - 1)G, both directions at once.
struct LogGp {
    Time L = nanoseconds(2500);
    Time o = nanoseconds(1500);
    Time g = nanoseconds(1000);
    std::int64_t G = 1'000;  // ps a byte
    LocalCosts local{};
    friend bool operator==(const LogGp&, const LogGp&) = default;
};

}  // namespace loom::model
