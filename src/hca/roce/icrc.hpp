// The invariant CRC of RoCEv2: CRC-32 (Ethernet's polynomial) over 8 bytes of ones in place of an InfiniBand header,
// then the IP and UDP headers and the packet, with every field that a router may change replaced by ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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

    // The identification of the packet if the last 4 bytes are the right CRC of those before; nothing if they are
    // wrong. UDP sockets do not show IPv4's identification and do-not-fragment bit, so every value of those can be
    // right: they enter the CRC linearly, and the difference to the CRC for 0 tells which they were (bit 16: may be
    // fragmented). A damaged IPv4 packet so passes with 2^-15, which IdentificationGuard lowers; an IPv6 packet with
    // 2^-32, and its answer is 0. datagram: at least 16 bytes, a multiple of 4, at most 8 KiB; anything else is wrong.
    std::optional<std::uint32_t> identify(std::span<const std::byte> datagram) const;
    bool right(std::span<const std::byte> datagram) const { return identify(datagram).has_value(); }

private:
    std::array<std::byte, 48> headers_{};  // 28 bytes for IPv4
    std::size_t size_ = 0;
};

// Makes damage that looks like another identification as rare as it can be. Hosts that send as we do number packets 0,
// or 0, 1, 2 ... within a segmentation run; once a source has kept to that for a while, a single other number is taken
// for damage. A second one shows that the source counts its packets after all, and any number goes from then on.
class IdentificationGuard {
public:
    struct Source {
        Address address;
        std::uint16_t kept = 0;  // packets within the small numbers, counted up to a while
        bool doubted = false;

        // Whether to believe the identification of a packet whose CRC is right with it.
        bool plausible(std::uint32_t identification);
    };
    // What is known of a source. 64 are remembered, by hash; a newcomer takes the place of who was there.
    Source& of(const Address& source);

private:
    std::array<Source, 64> sources_{};
};

}  // namespace loom::hca::roce
