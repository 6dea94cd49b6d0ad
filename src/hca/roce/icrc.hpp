// The invariant CRC of RoCEv2: CRC-32 (Ethernet's polynomial) over 8 bytes of ones in place of an InfiniBand header,
// then the IP and UDP headers and the packet, with every field that a router may change replaced by ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hca/roce/address.hpp"

namespace loom::hca::roce {

// The state of a CRC in the middle of a message: starts as ~0, and its complement is the CRC, sent low byte first.
using CrcRegister = std::uint32_t;

// Takes in the bytes. By the fastest of the kinds that this processor has: 512-bit or 128-bit carry-less
// multiplication, else sixteen table look-ups for 16 bytes.
CrcRegister crc_update(CrcRegister crc, std::span<const std::byte> bytes);

// The kinds by name, for tests and benchmarks. has(): whether this processor can run it; asking for one it cannot is
// undefined.
enum class CrcKind : std::uint8_t { table, multiply128, multiply512 };
bool has(CrcKind kind);
CrcRegister crc_update(CrcKind kind, CrcRegister crc, std::span<const std::byte> bytes);

// The headers around the packets of one flow, as the CRC sees them.
class Envelope {
public:
    // Both of one family; IPv4 unless both are IPv6.
    Envelope(const Address& source, const Address& destination);

    // The invariant CRC of a UDP payload up to its CRC field, as the number that is written low byte first. The payload
    // comes in pieces: its headers (at least the BTH's 12 bytes), then the rest through crc_update, then ~. `total` is
    // the UDP payload's length with the CRC field; `id` is IPv4's identification (ignored by IPv6).
    CrcRegister start(std::span<const std::byte> headers, std::size_t total, std::uint16_t id) const;

    // Whether the last 4 bytes are the right CRC of those before. UDP sockets do not show IPv4's identification and
    // do-not-fragment bit, so every value of those passes: they enter the CRC linearly, and the difference to the CRC
    // for 0 tells which they were. What passes by chance is 2^-15 of damaged IPv4 packets, 2^-32 of IPv6.
    // datagram: at least 16 bytes, a multiple of 4, at most 8 KiB; anything else is wrong.
    bool right(std::span<const std::byte> datagram) const;

private:
    std::array<std::byte, 48> headers_{};  // 28 bytes for IPv4
    std::size_t size_ = 0;
};

}  // namespace loom::hca::roce
