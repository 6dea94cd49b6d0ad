// What the responder owes, and how its queue pairs end.
#include <algorithm>

#include "hca/engine.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t most_owed = 16;  // packets that may wait for their acknowledgement

}  // namespace

void Responder::owe(Qp& qp) {
    if (qp.listed_ack) return;
    qp.listed_ack = true;
    owing_.push_back(&qp);
}

// Owes the requester a refusal of its packet. It acknowledges what came before, goes out behind the answers that are
// due, and waits for room as they do: the wire inside a host loses nothing, so nobody would ask again.
void Responder::owe_nak(Qp& qp, Psn psn, std::uint8_t syndrome) {
    qp.nak_due = syndrome;
    qp.nak_psn = psn;
    qp.ack_due = false;
    qp.owed = 0;
    answer(qp);
}

// Tells the requester that its request was refused, and stops.
void Responder::refuse(Qp& qp, Psn psn, Nak code, ibv_event_type event) {
    owe_nak(qp, psn, static_cast<std::uint8_t>(syndrome_nak | static_cast<std::uint8_t>(code)));
    if (code == Nak::sequence) return;
    engine_.completions.async_event(*qp.context, event, &qp.abi);
    engine_.queue_pairs.to_error(qp);
}

void Responder::make_acknowledgement(const Qp& qp, Packet& packet) const {
    packet.service = Service::rc;
    packet.op = Op::acknowledge;
    packet.dest_qpn = qp.partner();
    packet.psn = qp.expected_psn - 1;
    packet.msn = qp.msn;
    packet.syndrome = syndrome_ack;
}

void Responder::settle_up(Qp& qp) {
    if (qp.owed == 0 || qp.type() != IBV_QPT_RC || qp.path == nullptr || !qp.path->wire->lossy()) return;
    Packet packet;
    make_acknowledgement(qp, packet);
    // Nobody sends it again: where others have filled the socket, it waits for some of that to leave.
    for (int left = 20; !qp.path->wire->send(qp, *qp.path, packet) && left > 0; --left)
        qp.path->wire->await_room(qp, 1);
    qp.ack_due = false;
    qp.owed = 0;
}

// The packets of the answer to a read that are still to be sent. False: not all of them went.
bool Responder::answer_read(Qp& qp, Answer& due, Packet& packet) {
    Wire& wire = *qp.path->wire;
    auto& sent_bytes = counters_of(*qp.context).sent_bytes[static_cast<std::size_t>(wire.counted_as(Way::target))];
    const auto advance = [&](std::uint32_t packets) {
        const std::uint32_t bytes = std::min(packets * qp.mtu, due.left);
        add(sent_bytes, bytes);
        due.first = false;
        due.psn = due.psn + packets;
        due.address += bytes;
        due.left -= bytes;
    };
    for (bool last = false; !last;) {
        const bool together = wire.lossy() && due.left > qp.mtu && !engine_.faults.lose_packets();
        std::uint8_t* memory = nullptr;
        if (together) memory = engine_.memory.local(due.rkey, due.address, due.left, qp.pd, IBV_ACCESS_REMOTE_READ);
        if (memory != nullptr) {
            const std::uint32_t taken = wire.send_response(qp, due, memory);
            if (taken == 0) return false;
            advance(taken);
            last = due.left == 0;
            continue;
        }
        const std::uint32_t length = std::min(due.left, qp.mtu);
        if (length != 0) memory = engine_.memory.local(due.rkey, due.address, length, qp.pd, IBV_ACCESS_REMOTE_READ);
        if (memory == nullptr && length != 0) {  // deregistered meanwhile
            const Psn psn = due.psn;
            qp.answers.clear();
            refuse(qp, psn, Nak::remote_access, IBV_EVENT_QP_ACCESS_ERR);
            return false;
        }
        last = length == due.left;
        packet.psn = due.psn;
        packet.op = read_response(due.first, last);
        if (!wire.send(qp, *qp.path, packet, {{}, 0, length, Entry::carried, memory})) return false;
        advance(1);
    }
    return true;
}

// The acknowledgement that is owed, to ride on a packet to the same place. False: none is, or answers go before it.
bool Responder::ride(Qp& qp, Packet& packet) const {
    if (qp.owed == 0 || !qp.answers.empty() || qp.type() != IBV_QPT_RC) return false;
    make_acknowledgement(qp, packet);
    return true;
}

void Responder::rode(Qp& qp) {
    qp.ack_due = false;
    qp.owed = 0;
}

void Responder::answer(Qp& qp) {
    if (qp.path == nullptr) return;
    // Inside a host an acknowledgement alone is the common case.
    if (qp.ack_due && qp.nak_due == 0 && qp.answers.empty() && qp.path->peer != nullptr && qp.type() == IBV_QPT_RC &&
        !engine_.faults.any() && engine_.ring.acknowledge(qp))
        return rode(qp);
    Packet packet;
    packet.service = Service::rc;
    packet.dest_qpn = qp.partner();
    while (!qp.answers.empty()) {
        Answer& due = qp.answers.front();
        packet.msn = due.msn;
        packet.psn = due.psn;
        packet.syndrome = syndrome_ack;
        if (due.kind == Answer::Kind::atomic) {
            packet.op = Op::atomic_acknowledge;
            packet.swap_or_add = due.address;
            if (!qp.path->wire->send(qp, *qp.path, packet)) return;
        } else {
            if (!answer_read(qp, due, packet)) return;
        }
        qp.answers.pop_front();
    }
    if (qp.nak_due != 0) {
        packet.op = Op::acknowledge;
        packet.psn = qp.nak_psn;
        packet.msn = qp.msn;
        packet.syndrome = qp.nak_due;
        if (!qp.path->wire->send(qp, *qp.path, packet)) return;
        qp.nak_due = 0;
    }
    if (qp.ack_due) {
        make_acknowledgement(qp, packet);
        if (!qp.path->wire->send(qp, *qp.path, packet)) return;
        qp.ack_due = false;
        qp.owed = 0;
    }
}

// While messages come in, plain acknowledgements wait a little: several become one, and on RoCE the program's own next
// packet carries them along. Only while the program polls, so that the thread looks soon, whatever the program does.
void Responder::settle(Acks acks) {
    const bool hold = acks == Acks::may_wait && engine_.service.attended();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < owing_.size(); ++i) {
        Qp* qp = owing_[i];
        if (hold && qp->answers.empty() && qp->nak_due == 0 && qp->owed < most_owed) {
            owing_[kept++] = qp;
            continue;
        }
        qp->listed_ack = false;
        answer(*qp);
    }
    owing_.resize(kept);
}

void Responder::flush(Qp& qp) {
    ibv_wc wc{};
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.opcode = IBV_WC_RECV;
    wc.qp_num = qp.qpn.value;
    if (qp.receiving || qp.kept) {
        qp.receiving = qp.kept = false;
        wc.wr_id = qp.recv.wr_id;
        engine_.completions.complete(*qp.recv_cq, wc, false);
    }
    if (qp.srq != nullptr) {
        engine_.completions.async_event(*qp.context, IBV_EVENT_QP_LAST_WQE_REACHED, &qp.abi);
        return;
    }
    for (; qp.rq.waiting() != 0; ++qp.rq.head) {
        wc.wr_id = qp.rq.wqe(qp.rq.head).wr_id;
        engine_.completions.complete(*qp.recv_cq, wc, false);
    }
}

void Responder::end(Qp& qp) {
    if (qp.nak_due == 0) qp.answers.clear();  // what was asked before the refused request is still answered
    qp.ack_due = qp.in_message = false;
}

void Responder::forget(Qp& qp) {
    std::erase(owing_, &qp);
    qp.listed_ack = false;
}

std::uint64_t Responder::least_missing_of_writes() {
    std::uint64_t least = 0;
    std::erase_if(far_writes_, [&](QpNumber qpn) {
        const Qp* const qp = engine_.queue_pairs.find(qpn);
        if (qp == nullptr || !qp->in_message || !qp->message_is_write) return true;
        // What ends first is what is waited for.
        if (least == 0 || qp->write_left < least) least = qp->write_left;
        return false;
    });
    return least;
}

}  // namespace loom::hca
