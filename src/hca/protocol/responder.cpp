#include "hca/protocol/responder.hpp"

#include <algorithm>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/host/as_adapter.hpp"
#include "hca/host/copy.hpp"
#include "hca/protocol/receiving.hpp"

namespace loom::hca {

namespace {

bool begins(Op op) {
    return op == Op::send_first || op == Op::send_only || op == Op::send_only_imm || op == Op::write_first ||
           op == Op::write_only || op == Op::write_only_imm || op == Op::send_by_reference;
}
bool ends(Op op) {
    return op != Op::send_first && op != Op::send_middle && op != Op::write_first && op != Op::write_middle;
}
bool is_write(Op op) {
    return op >= Op::write_first && op <= Op::write_only_imm;
}
// A receive is taken by the first packet of a send, and by the last of a write with immediate.
bool wants_receive(Op op) {
    return is_write(op) ? op == Op::write_last_imm || op == Op::write_only_imm : begins(op);
}

// A message that is lost half way leaves its receive to the next.
void keep_receive(Qp& qp) {
    qp.kept = qp.kept || qp.receiving;
    qp.receiving = false;
}

// Whether the memory that a send refers to is still that of the request: a sender that gave up has it back.
bool still_sends(const Peer& peer, QpNumber qpn) {
    const std::uint64_t what = peer.directory->qps[index_of(qpn)].what.load(std::memory_order_acquire);
    const auto state = static_cast<std::uint32_t>(what >> 24 & 0xff);
    return (what & low_24_bits) == qpn.value && (state == IBV_QPS_RTS || state == IBV_QPS_SQD);
}

// Carries out an atomic operation; returns the original value. Atomic for the target's processors too, but where
// an address of the program's choosing makes the word lie across others.
std::uint64_t change_word(std::uint8_t* memory, const Packet& packet) {
    std::uint64_t original;
    if (reinterpret_cast<std::uintptr_t>(memory) % 8 != 0) {
        std::memcpy(&original, memory, 8);
        std::uint64_t changed = packet.swap_or_add;
        if (packet.op == Op::fetch_add) changed += original;
        if (packet.op == Op::fetch_add || original == packet.compare) std::memcpy(memory, &changed, 8);
        return original;
    }
    auto* word = reinterpret_cast<std::uint64_t*>(memory);
    if (packet.op == Op::fetch_add) return __atomic_fetch_add(word, packet.swap_or_add, __ATOMIC_SEQ_CST);
    original = packet.compare;
    __atomic_compare_exchange_n(word, &original, packet.swap_or_add, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return original;
}

// Memory is written in rising order, the last bytes after all others: programs poll them.
void store_in_order(std::uint8_t* to, std::span<const std::uint8_t> bytes) {
    const AsAdapter unseen;
    const std::size_t tail_bytes = std::min<std::size_t>(bytes.size(), 8), early = bytes.size() - tail_bytes;
    std::memcpy(to, bytes.data(), early);
    std::atomic_thread_fence(std::memory_order_release);
    if (tail_bytes == 8 && reinterpret_cast<std::uintptr_t>(to + early) % 8 == 0) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data() + early, 8);
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(to + early), word, __ATOMIC_RELEASE);
        return;
    }
    for (std::size_t i = early; i < bytes.size(); ++i) __atomic_store_n(to + i, bytes[i], __ATOMIC_RELEASE);
}

}  // namespace

void Responder::on_packet(const Arrival& arrival) {
    const Packet& packet = arrival.packet;
    if (packet.dest_qpn == multicast_qpn) {
        engine_.groups.arrived(arrival);
        return;
    }
    Qp* const qp = engine_.queue_pairs.find(packet.dest_qpn);
    if (qp == nullptr) return;
    PortCounters& counters = counters_of(*qp->context);
    add(counters.received_packets);
    if (arrival.dlid != 0 && arrival.dlid != qp->context->hca->lid) {
        add(counters.dropped);
        return;
    }
    if (packet.service == Service::ud && qp->type() == IBV_QPT_UD) {
        on_datagram(*qp, arrival);
        return;
    }
    const Service expected = qp->type() == IBV_QPT_RC ? Service::rc : Service::uc;
    if (packet.service != expected || qp->type() == IBV_QPT_UD || qp->path == nullptr) {
        add(counters.dropped);
        return;
    }
    // A connected queue pair listens to its partner alone.
    if (arrival.from != nullptr
            ? qp->path->peer.get() != arrival.from || (is_request(packet.op) && packet.src_qpn != qp->partner())
            : qp->path->wire != engine_.roce.get() || arrival.sgid == nullptr || *arrival.sgid != qp->path->dgid) {
        add(counters.dropped);
        return;
    }
    if (!is_request(packet.op))
        engine_.requester.on_answer(*qp, packet, arrival.payload);
    else if (qp->state() == IBV_QPS_RTR || qp->state() == IBV_QPS_RTS || qp->state() == IBV_QPS_SQD ||
             qp->state() == IBV_QPS_SQE)
        on_request(*qp, arrival);
    else
        add(counters.dropped);
}

void Responder::on_request(Qp& qp, const Arrival& arrival) {
    if (receive_short(engine_, qp, arrival)) return;
    const Packet& packet = arrival.packet;
    const Op op = packet.op;
    const bool reliable = qp.type() == IBV_QPT_RC;
    if (packet.psn != qp.expected_psn && !goes_on(qp, packet)) return;
    if (!qp.established && qp.state() == IBV_QPS_RTR)
        engine_.completions.async_event(*qp.context, IBV_EVENT_COMM_EST, &qp.abi);
    qp.established = true;

    if (op == Op::read_request || has_atomic(op)) {
        if (!reliable || qp.in_message) return reject(qp, packet, Nak::invalid_request, IBV_EVENT_QP_REQ_ERR);
        serve_read_or_atomic(qp, packet);
        return;
    }
    if (begins(op) == qp.in_message || (qp.in_message && is_write(op) != qp.message_is_write))
        return reject(qp, packet, Nak::invalid_request, IBV_EVENT_QP_REQ_ERR);
    const bool by_reference = op == Op::send_by_reference;
    if (by_reference && (arrival.from == nullptr || !still_sends(*arrival.from, packet.src_qpn))) return;
    const bool receives = wants_receive(op);
    if (receives && !qp.has_receive()) return not_ready(qp, packet);
    qp.nak_sent = false;
    qp.nak_due = 0;

    if (begins(op) && !begin_message(qp, arrival)) return;
    if (receives && !begin_receive(qp, packet)) return;
    const std::uint32_t carried = (arrival.flags & Entry::placed) != 0 || by_reference
                                      ? packet.dma_length
                                      : static_cast<std::uint32_t>(arrival.payload.size());
    if (is_write(op) ? !take_written(qp, arrival, carried) : !take_sent(qp, arrival, carried)) return;
    qp.received += carried;
    count(qp, arrival, carried);
    qp.expected_psn = qp.expected_psn + 1;
    if (ends(op)) end_message(qp, arrival);
    if (!reliable) return;
    ++qp.owed;
    if (packet.ack_request) {
        qp.ack_due = true;
        owe(qp);
    }
}

// A packet that is not the next one. UC: the message in progress is lost, and the next one that begins is taken. True:
// the packet is to be served all the same.
bool Responder::goes_on(Qp& qp, const Packet& packet) {
    if (qp.type() != IBV_QPT_RC) {
        keep_receive(qp);
        qp.in_message = false;
        if (!begins(packet.op)) return false;
        qp.expected_psn = packet.psn;
        return true;
    }
    if (packet.psn.before(qp.expected_psn)) {
        repeat(qp, packet);
    } else if (!qp.nak_sent) {
        qp.nak_sent = true;
        add(counters_of(*qp.context).sequence_naks);
        refuse(qp, qp.expected_psn, Nak::sequence, IBV_EVENT_QP_REQ_ERR);
    }
    return false;
}

// There is no receive for it.
void Responder::not_ready(Qp& qp, const Packet& packet) {
    if (qp.type() != IBV_QPT_RC) {
        qp.expected_psn = packet.psn + 1;
        qp.in_message = false;
        add(counters_of(*qp.context).dropped);
        return;
    }
    qp.nak_sent = true;  // what follows it is out of sequence, and need not be told
    add(counters_of(*qp.context).rnr_naks);
    owe_nak(qp, packet.psn, static_cast<std::uint8_t>(syndrome_rnr | qp.attr.min_rnr_timer));
}

void Responder::reject(Qp& qp, const Packet& packet, Nak code, ibv_event_type event) {
    const bool reliable = qp.type() == IBV_QPT_RC;
    if (!reliable) keep_receive(qp);
    if (qp.receiving) {
        const ibv_wc_status status = code == Nak::invalid_request ? IBV_WC_LOC_LEN_ERR : IBV_WC_LOC_PROT_ERR;
        qp.receiving = false;
        engine_.completions.complete(*qp.recv_cq, receive_completion(qp, status, IBV_WC_RECV, 0), true);
    }
    qp.in_message = false;
    if (reliable) refuse(qp, packet.psn, code, event);
}

// The receive itself cannot hold the message: the queue pair ends.
void Responder::fail_receive(Qp& qp, const Packet& packet, ibv_wc_status status, Nak code, ibv_event_type event) {
    qp.receiving = false;
    qp.in_message = false;
    engine_.completions.complete(*qp.recv_cq, receive_completion(qp, status, IBV_WC_RECV, 0), true);
    if (qp.type() == IBV_QPT_RC)
        refuse(qp, packet.psn, code, event);
    else
        engine_.queue_pairs.to_error(qp);
}

bool Responder::begin_message(Qp& qp, const Arrival& arrival) {
    const Packet& packet = arrival.packet;
    qp.in_message = true;
    qp.message_is_write = is_write(packet.op);
    qp.received = 0;
    if (!qp.message_is_write) return true;
    qp.write_address = packet.remote_address;
    qp.write_left = packet.dma_length;
    qp.write_rkey = packet.rkey;
    if (arrival.from == nullptr && !ends(packet.op)) far_writes_.push_back(qp.qpn);
    const bool may = (qp.attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0;
    if (packet.dma_length == 0 || (may && engine_.memory.local(packet.rkey, packet.remote_address, packet.dma_length,
                                                               qp.pd, IBV_ACCESS_REMOTE_WRITE) != nullptr))
        return true;
    reject(qp, packet, Nak::remote_access, IBV_EVENT_QP_ACCESS_ERR);
    return false;
}

bool Responder::begin_receive(Qp& qp, const Packet& packet) {
    const bool may_keep = qp.type() != IBV_QPT_RC || packet.op == Op::send_by_reference;
    const Taken taken = take_receive(engine_, qp, may_keep);
    if (taken == Taken::yes) qp.receiving = true;
    if (taken == Taken::bad_memory)
        fail_receive(qp, packet, IBV_WC_LOC_PROT_ERR, Nak::remote_operational, IBV_EVENT_QP_FATAL);
    return taken == Taken::yes;
}

bool Responder::take_written(Qp& qp, const Arrival& arrival, std::uint32_t carried) {
    const Packet& packet = arrival.packet;
    if (carried > qp.write_left || (ends(packet.op) && carried != qp.write_left)) {
        reject(qp, packet, Nak::invalid_request, IBV_EVENT_QP_REQ_ERR);
        return false;
    }
    if (!arrival.payload.empty()) {
        std::uint8_t* memory =
            engine_.memory.local(qp.write_rkey, qp.write_address, carried, qp.pd, IBV_ACCESS_REMOTE_WRITE);
        if (memory == nullptr) {
            reject(qp, packet, Nak::remote_access, IBV_EVENT_QP_ACCESS_ERR);
            return false;
        }
        store_in_order(memory, arrival.payload);
    }
    qp.write_address += carried;
    qp.write_left -= carried;
    return true;
}

bool Responder::take_sent(Qp& qp, const Arrival& arrival, std::uint32_t carried) {
    const Packet& packet = arrival.packet;
    const Pd* pd = qp.srq != nullptr ? qp.srq->pd : qp.pd;
    if (!engine_.memory.still_registered(qp.recv_sges, pd, IBV_ACCESS_LOCAL_WRITE, qp.recv_checked)) {
        reject(qp, packet, Nak::remote_operational, IBV_EVENT_QP_FATAL);
        return false;
    }
    std::uint64_t room = 0;
    for (const ibv_sge& piece : qp.recv_sges) room += piece.length;
    if (std::uint64_t{qp.received} + carried > room) {
        fail_receive(qp, packet, IBV_WC_LOC_LEN_ERR, Nak::invalid_request, IBV_EVENT_QP_REQ_ERR);
        return false;
    }
    if (packet.op != Op::send_by_reference) {
        scatter(qp.recv_sges, qp.received, arrival.payload);
        return true;
    }
    const Pulled pulled = pull(*arrival.from, arrival.payload, packet.dma_length, qp.recv_sges);
    if (pulled == Pulled::gone || !still_sends(*arrival.from, packet.src_qpn)) {
        // The message went with its sender, or the memory was the sender's own again while it was read.
        keep_receive(qp);
        qp.in_message = false;
        return false;
    }
    if (pulled == Pulled::refused) reject(qp, packet, Nak::remote_operational, IBV_EVENT_QP_FATAL);
    return pulled != Pulled::refused;
}

void Responder::count(const Qp& qp, const Arrival& arrival, std::uint32_t carried) {
    const Way way = arrival.from == nullptr                      ? Way::roce
                    : arrival.packet.op == Op::send_by_reference ? Way::direct
                    : (arrival.flags & Entry::carried) != 0      ? Way::target
                                                                 : Way::store;
    if ((arrival.flags & Entry::placed) == 0)
        add(counters_of(*qp.context).received_bytes[static_cast<std::size_t>(way)], carried);
    if (way == Way::roce) far_bytes_ += carried;
}

void Responder::end_message(Qp& qp, const Arrival& arrival) {
    const Packet& packet = arrival.packet;
    qp.in_message = false;
    qp.msn = (qp.msn + 1) & low_24_bits;
    if (!qp.receiving) return;
    qp.receiving = false;
    ibv_wc wc = receive_completion(qp, IBV_WC_SUCCESS, is_write(packet.op) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
                                   qp.received);
    wc.src_qp = qp.attr.dest_qp_num;
    wc.slid = arrival.slid;
    if (has_immediate(packet.op) || (packet.op == Op::send_by_reference && packet.rkey != 0)) {
        wc.wc_flags |= IBV_WC_WITH_IMM;
        wc.imm_data = packet.imm;
    }
    engine_.completions.complete(*qp.recv_cq, wc, packet.solicited);
}

void Responder::serve_read_or_atomic(Qp& qp, const Packet& packet) {
    const bool read = packet.op == Op::read_request;
    const std::uint32_t right = read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_ATOMIC;
    const std::uint32_t length = read ? packet.dma_length : 8;
    // The requester keeps to what was agreed, but long reads come in pieces, and after losses some answers are under
    // way twice: what is too much now is asked for again.
    if (qp.answers.size() >= std::max<std::size_t>(2u * qp.attr.max_dest_rd_atomic, 2))
        return add(counters_of(*qp.context).dropped);
    if (!read && packet.remote_address % 8 != 0)
        return refuse(qp, packet.psn, Nak::invalid_request, IBV_EVENT_QP_REQ_ERR);
    std::uint8_t* memory = nullptr;
    if (length != 0) {
        if ((qp.rights() & right) != 0)
            memory = engine_.memory.local(packet.rkey, packet.remote_address, length, qp.pd, right);
        if (memory == nullptr) return refuse(qp, packet.psn, Nak::remote_access, IBV_EVENT_QP_ACCESS_ERR);
    }
    qp.nak_sent = false;
    qp.nak_due = 0;
    qp.msn = (qp.msn + 1) & low_24_bits;
    Answer due;
    due.psn = packet.psn;
    due.msn = qp.msn;
    if (read) {
        due.kind = Answer::Kind::read;
        due.address = packet.remote_address;
        due.rkey = packet.rkey;
        due.left = length;
        const std::uint32_t packets = std::max(1u, (length + qp.mtu - 1) / qp.mtu);
        qp.expected_psn = qp.expected_psn + packets;
    } else {
        due.kind = Answer::Kind::atomic;
        due.address = change_word(memory, packet);
        qp.atomics[qp.atomics_at++ % qp.atomics.size()] = {packet.psn, due.address};
        qp.expected_psn = qp.expected_psn + 1;
    }
    qp.ack_due = false;  // the answer acknowledges what came before
    qp.answers.push_back(due);
    owe(qp);
}

// A request that was served before has come again: its answer was lost.
void Responder::repeat(Qp& qp, const Packet& packet) {
    const auto too_many = [&] { return qp.answers.size() > 2u * qp.attr.max_dest_rd_atomic; };
    if (packet.op == Op::read_request) {
        const std::uint32_t length = packet.dma_length;
        const bool may = (qp.rights() & IBV_ACCESS_REMOTE_READ) != 0;
        if (length != 0 && (!may || engine_.memory.local(packet.rkey, packet.remote_address, length, qp.pd,
                                                         IBV_ACCESS_REMOTE_READ) == nullptr))
            return;
        // The new answer replaces an old one for the same read that is still being sent.
        std::erase_if(qp.answers, [&](const Answer& answer) { return !answer.psn.before(packet.psn); });
        if (too_many()) return;
        Answer due;
        due.kind = Answer::Kind::read;
        due.psn = packet.psn;
        due.msn = qp.msn;
        due.address = packet.remote_address;
        due.rkey = packet.rkey;
        due.left = length;
        qp.answers.push_back(due);
        owe(qp);
    } else if (has_atomic(packet.op)) {
        for (const Qp::AtomicResult& known : qp.atomics) {
            if (known.psn != packet.psn || too_many()) continue;
            Answer due;
            due.kind = Answer::Kind::atomic;
            due.psn = packet.psn;
            due.msn = qp.msn;
            due.address = known.original;
            qp.answers.push_back(due);
            owe(qp);
            return;
        }
    } else {
        qp.ack_due = true;
        owe(qp);
    }
}

}  // namespace loom::hca
