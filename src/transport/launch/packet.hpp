// What the launcher and its ranks say to each other: packets on a Unix socket that keeps their boundaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "loom/base/ids.hpp"

namespace loom::transport::launching {

enum class Kind : std::uint32_t {
    // from a rank
    hello = 1,
    put,
    fence,
    get,
    finished,
    // from the launcher
    welcome,  // rank: yours, size: of the job
    fenced,
    got,     // value
    failed,  // value: why the fence or the get went wrong
    lost,    // rank: who ended, value: how
};

inline constexpr std::size_t most_key_bytes = 256;
inline constexpr std::size_t most_value_bytes = 64 * 1024;
inline constexpr std::size_t most_packet_bytes = 24 + most_key_bytes + most_value_bytes;

struct Packet {
    Kind kind = Kind::hello;
    Rank rank{0};
    std::uint32_t size = 0;
    std::string key = {};
    std::string value = {};
};

[[nodiscard]] std::string encode(const Packet& packet);
// Throws BootstrapError unless the bytes are exactly one packet.
[[nodiscard]] Packet decode(std::span<const char> bytes);

}  // namespace loom::transport::launching
