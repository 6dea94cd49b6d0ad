#include "hca/protocol/receiving.hpp"

#include <cstring>

#include "hca/objects/pieces.hpp"

namespace loom::hca {

Taken take_receive(Engine& a, Qp& qp, bool may_keep) {
    if (!qp.has_receive()) return Taken::none;
    const Pd* pd = qp.srq != nullptr ? qp.srq->pd : qp.pd;
    RecvQueue& queue = qp.receives();
    if (qp.kept) {
        qp.kept = false;
        qp.recv_sges = qp.recv_posted;
    } else {
        qp.recv = queue.wqe(queue.head);
        const ibv_sge* sges = queue.sges_of(queue.head);
        qp.recv_sges.assign(sges, sges + qp.recv.sges);
        if (may_keep) qp.recv_posted = qp.recv_sges;
        ++queue.head;
    }
    if (qp.srq != nullptr && qp.srq->limit != 0 && queue.waiting() < qp.srq->limit) {
        qp.srq->limit = 0;
        a.completions.async_event(*qp.context, IBV_EVENT_SRQ_LIMIT_REACHED, &qp.srq->abi);
    }
    for (ibv_sge& piece : qp.recv_sges) {
        std::uint8_t* memory = a.memory.local(piece.lkey, piece.addr, piece.length, pd, IBV_ACCESS_LOCAL_WRITE);
        if (memory == nullptr && piece.length != 0) return Taken::bad_memory;
        piece.addr = reinterpret_cast<std::uint64_t>(memory);
    }
    qp.recv_checked = a.memory.generation();
    return Taken::yes;
}

bool receive_short(Engine& a, Qp& qp, const Arrival& arrival) {
    const Packet& packet = arrival.packet;
    if ((packet.op != Op::send_only && packet.op != Op::send_only_imm) || packet.psn != qp.expected_psn) return false;
    if (qp.type() != IBV_QPT_RC || arrival.from == nullptr || (arrival.flags & Entry::carried) != 0) return false;
    if (qp.in_message || qp.kept || !qp.established || (qp.srq != nullptr && qp.srq->limit != 0)) return false;
    RecvQueue& queue = qp.receives();
    if (queue.waiting() == 0) return false;
    const RecvQueue::Wqe& wqe = queue.wqe(queue.head);
    const ibv_sge& piece = *queue.sges_of(queue.head);
    const auto length = static_cast<std::uint32_t>(arrival.payload.size());
    if (wqe.sges != 1 || length > piece.length) return false;
    std::uint8_t* memory = a.memory.local(piece.lkey, piece.addr, piece.length, qp.srq != nullptr ? qp.srq->pd : qp.pd,
                                          IBV_ACCESS_LOCAL_WRITE);
    if (memory == nullptr) return false;
    std::memcpy(memory, arrival.payload.data(), length);
    ++queue.head;
    qp.nak_sent = false;
    qp.nak_due = 0;
    qp.expected_psn = qp.expected_psn + 1;
    qp.msn = (qp.msn + 1) & low_24_bits;
    add(counters_of(*qp.context).received_bytes[static_cast<std::size_t>(Way::store)], length);
    ibv_wc wc{};
    wc.wr_id = wqe.wr_id;
    wc.opcode = IBV_WC_RECV;
    wc.byte_len = length;
    wc.qp_num = qp.qpn.value;
    wc.src_qp = qp.attr.dest_qp_num;
    wc.slid = arrival.slid;
    if (packet.op == Op::send_only_imm) {
        wc.wc_flags = IBV_WC_WITH_IMM;
        wc.imm_data = packet.imm;
    }
    a.completions.complete(*qp.recv_cq, wc, packet.solicited);
    ++qp.owed;
    if (packet.ack_request) {
        qp.ack_due = true;
        a.responder.owe(qp);
    }
    return true;
}

void scatter(std::span<const ibv_sge> sges, std::uint32_t offset, std::span<const std::uint8_t> bytes) {
    const std::uint8_t* from = bytes.data();
    each_part(sges, offset, bytes.size(), [&](std::uint8_t* to, std::uint32_t length) {
        std::memcpy(to, from, length);
        from += length;
    });
}

ibv_wc receive_completion(const Qp& qp, ibv_wc_status status, ibv_wc_opcode opcode, std::uint32_t length) {
    ibv_wc wc{};
    wc.wr_id = qp.recv.wr_id;
    wc.status = status;
    wc.opcode = opcode;
    wc.byte_len = length;
    wc.qp_num = qp.qpn.value;
    return wc;
}

}  // namespace loom::hca
