// The invariant CRC of RoCEv2 on whole IP packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/crc32.hpp"

namespace loom::reference {

// RoCEv2's invariant CRC of a whole IP packet without its last four bytes, masked as the annex lists the fields.
inline std::uint32_t icrc(std::vector<std::byte> ip_packet) {
    constexpr std::byte ones{0xff};
    std::size_t udp = 20;
    if ((ip_packet[0] >> 4) == std::byte{4}) {
        ip_packet[1] = ip_packet[8] = ip_packet[10] = ip_packet[11] = ones;
    } else {
        ip_packet[0] |= std::byte{0x0f};
        ip_packet[1] = ip_packet[2] = ip_packet[3] = ip_packet[7] = ones;
        udp = 40;
    }
    ip_packet[udp + 6] = ip_packet[udp + 7] = ones;
    ip_packet[udp + 8 + 4] = ones;
    std::uint32_t crc = ~std::uint32_t{0};
    for (int i = 0; i < 8; ++i) crc = crc32_update(crc, ones);
    return ~crc32_update(crc, ip_packet);
}

}  // namespace loom::reference
