// RoCEv2 packets as bytes: what a UDP datagram to port 4791 carries. BTH, the headers of the operation, payload,
// padding, CRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hca/protocol/packet.hpp"
#include "hca/roce/icrc.hpp"

namespace loom::hca::roce {

constexpr std::size_t max_header_bytes = 40;  // BTH and AtomicETH
constexpr std::size_t max_payload_bytes = 4096;

// A congestion notification for the sender of a flow: `qpn` is its queue pair. 16 bytes of zeros are its payload.
constexpr std::size_t notification_bytes = 16;
constexpr Packet notification(QpNumber qpn) {
    Packet packet;
    packet.service = Service::cnp;
    packet.op = Op::send_middle;  // 0x81 in all
    packet.becn = true;
    packet.dest_qpn = qpn;
    return packet;
}

// Whether RoCE has this operation for this service.
bool known(Service service, Op op);

// Bytes of BTH and further headers of a known operation.
std::size_t header_bytes(Service service, Op op);

constexpr std::size_t padding(std::size_t payload) {
    return -payload & 3u;
}

// Length of the UDP payload.
inline std::size_t datagram_bytes(const Packet& packet, std::size_t payload) {
    return header_bytes(packet.service, packet.op) + payload + padding(payload) + 4;
}

// Writes the headers of a known operation and returns how many bytes they take. P_Key 0xffff, migrated, version 0.
std::size_t write_headers(const Packet& packet, std::size_t payload, std::span<std::byte, max_header_bytes> out);

// A whole datagram with its CRC, for tests; allocates. Sockets write theirs where they are sent from.
std::vector<std::byte> encode(const Packet& packet, std::span<const std::byte> payload, const Envelope& envelope,
                              std::uint16_t id = 0);

// Why a datagram is not used.
enum class Drop : std::uint8_t {
    none,       // it is
    too_short,  // for its headers and a CRC
    version,    // not transport version 0
    opcode,     // unknown, or not of its service
    padding,    // not a multiple of 4, more padding than payload
    length,     // payload where the operation has none, none where it needs some, or beyond 4096 bytes
    crc,
};
constexpr std::size_t drop_kinds = 7;
std::string_view name(Drop drop);

struct Parsed {
    Drop drop = Drop::none;
    Packet packet;                       // fields that the operation lacks are zero
    std::span<const std::byte> payload;  // part of the datagram, without padding
};

// Reads a datagram from an untrusted sender without looking at the CRC. Never reads outside it, never throws.
Parsed parse(std::span<const std::byte> datagram);
// The same, and the CRC must be right; `arrived`: from the sender to this endpoint.
Parsed parse(std::span<const std::byte> datagram, const Envelope& arrived);

// The destination QPN of a datagram of at least 8 bytes: enough to tell whose it is.
QpNumber destination_qpn(std::span<const std::byte> datagram);

}  // namespace loom::hca::roce
