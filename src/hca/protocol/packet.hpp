// One packet of the transport protocol, whichever wire carries it: shared memory inside a host, RoCEv2 between hosts.
// The numbers are InfiniBand's own, so that the RoCE codec only has to put fields in their places.
#pragma once

#include <cstdint>

#include "hca/protocol/numbers.hpp"

namespace loom::hca {

// Operation codes: the lower five bits of the BTH opcode.
enum class Op : std::uint8_t {
    send_first = 0x00,
    send_middle = 0x01,
    send_last = 0x02,
    send_last_imm = 0x03,
    send_only = 0x04,
    send_only_imm = 0x05,
    write_first = 0x06,
    write_middle = 0x07,
    write_last = 0x08,
    write_last_imm = 0x09,
    write_only = 0x0a,
    write_only_imm = 0x0b,
    read_request = 0x0c,
    read_response_first = 0x0d,
    read_response_middle = 0x0e,
    read_response_last = 0x0f,
    read_response_only = 0x10,
    acknowledge = 0x11,
    atomic_acknowledge = 0x12,
    compare_swap = 0x13,
    fetch_add = 0x14,
    // Not InfiniBand's: only between processes of one host, never on RoCE.
    send_by_reference = 0x1e,  // the payload is a list of addresses in the sender's memory
};

// The upper three bits of the BTH opcode.
enum class Service : std::uint8_t { rc = 0, uc = 1, ud = 3, cnp = 4 };  // cnp: congestion notification (0x81)

// AETH syndromes: the upper three bits tell which kind, the lower five carry credits, the RNR timer or the NAK code.
constexpr std::uint8_t syndrome_kind = 0xe0;
constexpr std::uint8_t syndrome_ack = 0x1f;  // without credits
constexpr std::uint8_t syndrome_rnr = 0x20;  // | timer
constexpr std::uint8_t syndrome_nak = 0x60;  // | code
enum class Nak : std::uint8_t { sequence = 0, invalid_request = 1, remote_access = 2, remote_operational = 3 };

// Only the fields that the operation has are meaningful; the rest are zero. 64 bytes: one cache line.
struct Packet {
    Op op{};
    Service service{};
    bool solicited = false;
    bool ack_request = false;
    bool fecn = false;
    bool becn = false;
    std::uint8_t syndrome = 0;  // AETH
    std::uint8_t reserved = 0;
    QpNumber dest_qpn;
    Psn psn;
    std::uint32_t msn = 0;             // AETH
    QpNumber src_qpn;                  // DETH (UD); inside a host of every request
    std::uint32_t qkey = 0;            // DETH (UD)
    std::uint32_t imm = 0;             // ImmDt, as the program gave it (network order)
    std::uint64_t remote_address = 0;  // RETH, AtomicETH
    std::uint32_t rkey = 0;            // RETH, AtomicETH
    std::uint32_t dma_length = 0;      // RETH
    std::uint64_t swap_or_add = 0;     // AtomicETH; AtomicAckETH: the original value
    std::uint64_t compare = 0;         // AtomicETH
};

constexpr bool has_immediate(Op op) {
    return op == Op::send_last_imm || op == Op::send_only_imm || op == Op::write_last_imm || op == Op::write_only_imm;
}
constexpr bool has_reth(Op op) {
    return op == Op::write_first || op == Op::write_only || op == Op::write_only_imm || op == Op::read_request;
}
constexpr bool has_aeth(Op op) {
    return op == Op::acknowledge || op == Op::atomic_acknowledge || op == Op::read_response_first ||
           op == Op::read_response_last || op == Op::read_response_only;
}
constexpr bool has_atomic(Op op) {
    return op == Op::compare_swap || op == Op::fetch_add;
}
constexpr Op read_response(bool first, bool last) {
    if (first) return last ? Op::read_response_only : Op::read_response_first;
    return last ? Op::read_response_last : Op::read_response_middle;
}
// Goes from requester to responder.
constexpr bool is_request(Op op) {
    return op <= Op::read_request || op == Op::compare_swap || op == Op::fetch_add || op == Op::send_by_reference;
}

}  // namespace loom::hca
