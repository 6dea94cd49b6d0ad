// The CRC of Ethernet and InfiniBand, bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace loom::reference {

// The register after one byte more; starts as ~0, and its complement is the CRC.
constexpr std::uint32_t crc32_update(std::uint32_t crc, std::byte byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
        const bool out = (crc & 1) != 0;
        const bool in = ((std::to_integer<unsigned>(byte) >> bit) & 1) != 0;
        crc >>= 1;
        if (out != in) crc ^= 0xedb88320;
    }
    return crc;
}

inline std::uint32_t crc32_update(std::uint32_t crc, std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) crc = crc32_update(crc, byte);
    return crc;
}

}  // namespace loom::reference
