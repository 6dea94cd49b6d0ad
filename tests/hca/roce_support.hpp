// Drawn packets for the tests of RoCE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "hca/roce/codec.hpp"
#include "loom/base/random.hpp"

namespace loom::hca::roce {

struct Operation {
    Service service;
    Op op;
};

inline std::vector<Operation> all_operations() {
    std::vector<Operation> result;
    for (const Service service : {Service::rc, Service::uc, Service::ud, Service::cnp})
        for (std::uint8_t op = 0; op < 32; ++op)
            if (known(service, static_cast<Op>(op))) result.push_back({service, static_cast<Op>(op)});
    return result;
}

// All fields that the operation has.
inline Packet drawn_packet(Random& random, Operation operation) {
    const auto bit = [&] { return (random() & 1) != 0; };
    const auto number = [&] { return static_cast<std::uint32_t>(random()); };
    Packet packet;
    packet.service = operation.service;
    packet.op = operation.op;
    packet.solicited = bit();
    packet.ack_request = bit();
    packet.fecn = bit();
    packet.becn = bit();
    packet.dest_qpn = QpNumber{number() & 0xffffff};
    packet.psn = Psn(number());
    if (operation.service == Service::ud) {
        packet.qkey = number();
        packet.src_qpn = QpNumber{number() & 0xffffff};
    }
    if (has_reth(operation.op)) packet.dma_length = number();
    if (has_reth(operation.op) || has_atomic(operation.op)) {
        packet.remote_address = random();
        packet.rkey = number();
    }
    if (has_atomic(operation.op)) packet.compare = random();
    if (has_atomic(operation.op) || operation.op == Op::atomic_acknowledge) packet.swap_or_add = random();
    if (has_aeth(operation.op)) {
        packet.syndrome = static_cast<std::uint8_t>(number());
        packet.msn = number() & 0xffffff;
    }
    if (has_immediate(operation.op)) packet.imm = number();
    return packet;
}

inline std::vector<std::byte> drawn_payload(Random& random, Operation operation, std::uint32_t most) {
    std::size_t size = 0;
    switch (operation.op) {
        case Op::send_only:
        case Op::send_only_imm:
        case Op::write_only:
        case Op::write_only_imm:
        case Op::read_response_only:
            size = random.below(most + 1);
            break;
        case Op::send_last:
        case Op::send_last_imm:
        case Op::write_last:
        case Op::write_last_imm:
        case Op::read_response_last:
            size = 1 + random.below(most);
            break;
        case Op::read_request:
        case Op::acknowledge:
        case Op::atomic_acknowledge:
        case Op::compare_swap:
        case Op::fetch_add:
            break;
        default:
            size = 4 * (1 + random.below(most / 4));
    }
    if (operation.service == Service::cnp) size = notification_bytes;
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

// Every field, to compare and to print.
inline std::string describe(const Packet& p) {
    std::ostringstream out;
    out << std::hex << "service " << int(p.service) << " op " << int(p.op) << " se " << p.solicited << " ack "
        << p.ack_request << " fecn " << p.fecn << " becn " << p.becn << " syndrome " << int(p.syndrome) << " qpn "
        << p.dest_qpn.value << " psn " << p.psn.value() << " msn " << p.msn << " from " << p.src_qpn.value << " qkey "
        << p.qkey << " imm " << p.imm << " at " << p.remote_address << " rkey " << p.rkey << " length " << p.dma_length
        << " swap " << p.swap_or_add << " compare " << p.compare;
    return out.str();
}

inline std::vector<std::byte> from_hex(std::string_view text) {
    std::vector<std::byte> bytes;
    std::string digits;
    for (const char c : text) {
        if (c == ' ') continue;
        digits += c;
        if (digits.size() < 2) continue;
        bytes.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
        digits.clear();
    }
    return bytes;
}

}  // namespace loom::hca::roce
