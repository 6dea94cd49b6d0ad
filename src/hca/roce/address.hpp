// Where a RoCE endpoint lives: an IP address written as a GID, and a UDP port.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace loom::hca::roce {

// 16 bytes in network order, as in union ibv_gid. IPv4 a.b.c.d is ::ffff:a.b.c.d, IPv6 is itself.
using Gid = std::array<std::uint8_t, 16>;

constexpr std::uint16_t default_port = 4791;

enum class Family : std::uint8_t { ipv4, ipv6 };

constexpr Family family(const Gid& gid) {
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(mapped.begin(), mapped.end(), gid.begin()) ? Family::ipv4 : Family::ipv6;
}

struct Address {
    Gid ip{};
    std::uint16_t port = default_port;
    std::uint32_t scope = 0;  // index of the interface of a link-local IPv6 address, else 0

    friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace loom::hca::roce
