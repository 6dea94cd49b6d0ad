// Packets and events of the packet level, packed small: millions of them pass every second.
#pragma once

#include <cstdint>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::sim::packet {

using Port = std::uint32_t;      // a switch port (its SwitchGraph channel) or, behind those, a host port
using Entity = std::uint32_t;    // a switch or a host port: what is handled as one
using Endpoint = std::uint32_t;  // a host port, 0..n-1

inline constexpr std::uint32_t none = 0xffffffffu;

// Bytes on the wire beside the payload: local route header 8, base transport header 12, CRCs 6.
inline constexpr std::uint32_t header_bytes = 26;
inline constexpr std::uint32_t variant_crc_bytes = 2;          // of those, what counters of data leave out
inline constexpr std::uint32_t ack_bytes = header_bytes + 4;   // and the acknowledgement header
inline constexpr std::uint32_t cnp_bytes = header_bytes + 16;  // and the reserved payload
inline constexpr std::uint32_t block_bytes = 64;               // what one credit stands for

struct Packet {
    enum Kind : std::uint8_t { data = 0, ack = 1, cnp = 2 };
    enum Flag : std::uint8_t { last = 4, fecn = 8, becn = 16 };
    static constexpr unsigned epoch_bit = 5;

    std::uint32_t op;    // the send it belongs to
    std::uint32_t flow;  // of that send
    std::uint16_t dlid;
    std::uint16_t slid;
    std::uint16_t wire;  // bytes, headers included
    std::uint8_t lane;
    std::uint8_t bits;  // kind and flags

    [[nodiscard]] Kind kind() const { return static_cast<Kind>(bits & 3u); }
    [[nodiscard]] bool has(Flag flag) const { return (bits & flag) != 0; }
    // Which sending again it belongs to, modulo 8, of packets and their acknowledgements.
    [[nodiscard]] std::uint8_t epoch() const { return bits >> epoch_bit; }
    void set_epoch(std::uint8_t epoch) { bits = static_cast<std::uint8_t>(bits | epoch << epoch_bit); }
    [[nodiscard]] std::uint32_t payload() const { return wire - header_bytes; }
    [[nodiscard]] std::int32_t blocks() const {
        return static_cast<std::int32_t>((wire + block_bytes - 1) / block_bytes);
    }
};
static_assert(sizeof(Packet) == 16);

// In the order in which events of the same moment are handled.
enum class What : std::uint8_t {
    arrive,   // a packet: its head at a switch and past the pipeline, its tail at a host
    defer,    // a packet from a slow link may now go out on a fast one
    credit,   // while it is far away only: handled as a Credit once it has come near
    wake,     // an output may be free
    post,     // a message enters its queue pair (op)
    deliver,  // a message between ranks of one host port is there (op)
    work,     // local work is done (op)
    start,    // a rank begins (op is the rank)
    retry,    // a queue pair finds out that it has lost the packet, or that it went unacknowledged
};

// Buffer space that has become free: applied at the start of a window, when the flow-control packet is read.
struct Credit {
    std::uint32_t slot;
    std::int32_t blocks;
};

// 24 bytes. The moment is the start of a window and an offset; events of one entity and window are handled in
// key order, which is total: a port sends one packet at a time.
struct Event {
    std::uint32_t offset;  // picoseconds from the window's start
    std::uint32_t what_port;
    Packet packet;

    static constexpr unsigned port_bits = 28;
    [[nodiscard]] static std::uint32_t pack(What what, Port port) {
        return static_cast<std::uint32_t>(what) << port_bits | port;
    }
    [[nodiscard]] What what() const { return static_cast<What>(what_port >> port_bits); }
    [[nodiscard]] Port port() const { return what_port & ((1u << port_bits) - 1); }
    // Of a What::credit: the slot travels as flow, the blocks as op.
    [[nodiscard]] Credit credit() const { return {packet.flow, static_cast<std::int32_t>(packet.op)}; }
    // Events of one host may come in numbers at one moment: the operation tells them apart.
    [[nodiscard]] bool before(const Event& other) const {
        const std::uint64_t a = std::uint64_t{offset} << 32 | what_port;
        const std::uint64_t b = std::uint64_t{other.offset} << 32 | other.what_port;
        return a != b ? a < b : packet.op < other.packet.op;
    }
};
static_assert(sizeof(Event) == 24);

}  // namespace loom::sim::packet
