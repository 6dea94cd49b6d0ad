#include "hca/protocol/requester.hpp"

#include <loom/softhca.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/host/copy.hpp"
#include "hca/interface/api.hpp"
#include "hca/protocol/requests.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t reference_from = 8192;  // sends of this size and more are pulled out of the sender's memory

Service service_of(ibv_qp_type type) {
    return type == IBV_QPT_RC ? Service::rc : type == IBV_QPT_UC ? Service::uc : Service::ud;
}

std::uint32_t most_reads(const Qp& qp) {
    return std::max<std::uint32_t>(qp.attr.max_rd_atomic, 1);
}

Op op_of(const SendWqe& w, bool first, bool last) {
    if (is_read(w)) return Op::read_request;
    if (w.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) return Op::compare_swap;
    if (w.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) return Op::fetch_add;
    const bool imm = has_imm(w);
    if (is_write(w)) {
        if (first && last) return imm ? Op::write_only_imm : Op::write_only;
        return first ? Op::write_first : !last ? Op::write_middle : imm ? Op::write_last_imm : Op::write_last;
    }
    if (first && last) return imm ? Op::send_only_imm : Op::send_only;
    return first ? Op::send_first : !last ? Op::send_middle : imm ? Op::send_last_imm : Op::send_last;
}

std::span<const ibv_sge> pieces_of(Qp& qp, const SendWqe& w, std::uint32_t at) {
    return {qp.sges_of(at), w.inlined ? (w.length != 0 ? 1u : 0u) : w.sges};
}

}  // namespace

// A request that cannot begin fails when everything before it is completed; until then it is looked at again.
inline void Requester::refuse(Qp& qp, ibv_wc_status status) {
    if (qp.sq_head == qp.sq_next) fail(qp, status);
}

// False: the queue pair waits, or has failed.
inline bool Requester::can_reach(Qp& qp) {
    if (qp.type() == IBV_QPT_UD) return true;
    if (qp.path == nullptr) return refuse(qp, IBV_WC_LOC_QP_OP_ERR), false;
    Peer* const peer = qp.path->peer.get();
    if (peer == nullptr) return true;
    if (peer->state == Peer::State::dead && qp.type() == IBV_QPT_RC) {
        if (!peer->said_bye) return refuse(qp, IBV_WC_RETRY_EXC_ERR), false;
        if (qp.retry_at == 0) give_up(qp);
        return false;
    }
    if (peer->state != Peer::State::connecting) return true;
    engine_.peers.block_on(*peer, qp);
    return false;
}

// Work requests hold the program's addresses; from here on they are memory of this process.
inline ibv_wc_status Requester::translate(Qp& qp, SendWqe& w, ibv_sge* sges) {
    const std::uint32_t right = waits_for_answer(w) ? IBV_ACCESS_LOCAL_WRITE : 0;
    std::uint8_t* memory[max_sges];
    for (std::uint32_t i = 0; i < w.sges; ++i) {
        memory[i] = engine_.memory.local(sges[i].lkey, sges[i].addr, sges[i].length, qp.pd, right);
        if (memory[i] == nullptr && sges[i].length != 0) return IBV_WC_LOC_PROT_ERR;
    }
    for (std::uint32_t i = 0; i < w.sges; ++i) sges[i].addr = reinterpret_cast<std::uint64_t>(memory[i]);
    w.translated = true;
    w.checked = engine_.memory.generation();
    return IBV_WC_SUCCESS;
}

// The whole of a read or write inside the host, where it may be copied at once. True: packets are to be sent.
inline bool Requester::copy(Qp& qp, SendWqe& w, std::uint32_t at) {
    Peer* const peer = qp.type() != IBV_QPT_UD ? qp.path->peer.get() : nullptr;
    if (peer == nullptr || peer->state != Peer::State::up || (!is_read(w) && !is_write(w))) return true;
    // Order: what was sent before must have been taken in before memory changes.
    const bool in_order = qp.type() == IBV_QPT_RC
                              ? qp.sq_head == qp.sq_next
                              : peer->in->consumed.load(std::memory_order_acquire) >= qp.wire_position;
    if (!in_order) {
        if (qp.type() == IBV_QPT_UC) engine_.peers.block_on(*peer, qp);
        return false;
    }
    const Remote remote{is_read(w), w.remote_address, w.rkey, w.length, (w.flags & LOOM_SEND_PAST_CACHES) != 0};
    switch (copy_direct(qp, remote, pieces_of(qp, w, at))) {
        case Copied::done:
            w.placed = true;
            if (w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) return true;
            engine_.completions.complete_send(qp, w, IBV_WC_SUCCESS);
            ++qp.sq_next;
            ++qp.sq_head;
            return false;
        case Copied::gone:
            engine_.peers.lose(*peer);
            return false;
        case Copied::faulted:
            fail(qp, IBV_WC_REM_ACCESS_ERR);
            return false;
        default:
            return true;  // the responder is asked, and gives its reasons
    }
}

// Checks a request before its first packet and decides how it travels. True: packets are to be sent. Not inline: the
// short way in run() would pay for its registers.
[[gnu::noinline]] bool Requester::begin(Qp& qp, SendWqe& w, std::uint32_t at) {
    const bool connected = qp.type() != IBV_QPT_UD;
    if ((w.flags & IBV_SEND_FENCE) != 0 && qp.reads_out != 0) return false;
    if (!can_reach(qp)) return false;
    ibv_sge* const sges = qp.sges_of(at);
    ibv_wc_status wrong = IBV_WC_SUCCESS;
    if (w.inlined && w.length != 0)
        sges[0] = {reinterpret_cast<std::uint64_t>(qp.inline_of(at)), w.length, 0};
    else if (!w.inlined && !w.translated)
        wrong = translate(qp, w, sges);
    if (wrong == IBV_WC_SUCCESS && ((!connected && w.length > 4096) || (is_atomic(w) && w.length != 8)))
        wrong = IBV_WC_LOC_LEN_ERR;
    if (wrong == IBV_WC_SUCCESS && w.doomed) wrong = IBV_WC_GENERAL_ERR;
    if (wrong != IBV_WC_SUCCESS) return refuse(qp, wrong), false;

    w.placed = w.by_reference = false;
    if (!copy(qp, w, at)) return false;
    const Peer* const peer = connected ? qp.path->peer.get() : nullptr;
    const bool is_send = !is_read(w) && !is_write(w) && !is_atomic(w);
    if (is_send && qp.type() == IBV_QPT_RC && peer != nullptr && w.length >= reference_from && !w.inlined &&
        (peer->self || peer->in->can_pull.load(std::memory_order_relaxed) != 0))
        w.by_reference = true;

    w.begun = true;
    w.responded = false;
    w.received = w.requested = w.asked = 0;
    w.sent = 0;
    w.first_psn = qp.next_psn;
    const std::uint32_t whole = is_atomic(w) || w.placed || w.by_reference ? 0 : w.length;
    w.packets = connected ? std::max(1u, (whole + qp.mtu - 1) / qp.mtu) : 1;
    qp.next_psn = qp.next_psn + w.packets;
    if (w.placed) return true;
    const Path& path = connected ? *qp.path : *w.path;
    const Way way = path.wire->counted_as(w.by_reference                                            ? Way::direct
                                          : is_write(w) || is_read(w) || w.length >= reference_from ? Way::target
                                                                                                    : Way::store);
    add(counters_of(*qp.context).sent_bytes[static_cast<std::size_t>(way)], w.length);
    return true;
}

// Sends the packets of a request that are not on the wire yet. False: not all of them could go.
bool Requester::send_packets(Qp& qp, SendWqe& w, std::uint32_t at) {
    const Path& path = qp.type() != IBV_QPT_UD ? *qp.path : *w.path;
    if (is_atomic(w) && qp.reads_out >= most_reads(qp)) return false;
    if (w.packets == 1 && path.wire->lossy() && path.wire->allowance(qp) == 0) return false;
    const std::span<const ibv_sge> sges = pieces_of(qp, w, at);
    const bool all = waits_for_answer(w) ? send_questions(qp, w)
                     : w.by_reference    ? send_references(qp, w, sges)
                                         : send_message(qp, w, path, sges);
    // As soon as something is on its way: the first part of a long message may be lost as a whole.
    if (qp.type() == IBV_QPT_RC && qp.retry_at == 0 && qp.attr.timeout != 0 && w.sent != 0)
        start_timer(qp, qp.retry_at, path.wire->retry_time(qp));
    return all;
}

// The requests of a read, or that of an atomic.
bool Requester::send_questions(Qp& qp, SendWqe& w) {
    Wire& wire = *qp.path->wire;
    Packet packet;
    packet.service = service_of(qp.type());
    packet.dest_qpn = qp.partner();
    packet.src_qpn = qp.qpn;
    packet.imm = w.imm;
    packet.op = op_of(w, true, true);
    packet.ack_request = true;
    packet.rkey = w.rkey;
    packet.swap_or_add = w.swap_or_add;
    packet.compare = w.compare;
    const std::uint32_t chunk = wire.read_chunk();
    while (w.sent < w.packets) {
        if (qp.reads_out >= most_reads(qp) || qp.read_bytes_out >= wire.read_window()) return false;
        const std::uint64_t boundary = (std::uint64_t{w.requested} / chunk + 1) * chunk;
        const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(w.length, boundary));
        packet.psn = w.first_psn + w.requested / qp.mtu;
        packet.remote_address = w.remote_address + w.requested;
        packet.dma_length = end - w.requested;
        if (!wire.send(qp, *qp.path, packet)) return false;
        qp.read_bytes_out += end - w.requested;
        w.requested = end;
        w.sent = end == w.length ? w.packets : end / qp.mtu;
        qp.sent_psn = w.first_psn + w.sent;
        ++w.asked;
        ++qp.reads_out;
    }
    return true;
}

// A list of where the message lies: the receiver pulls it out of our memory.
bool Requester::send_references(Qp& qp, SendWqe& w, std::span<const ibv_sge> sges) {
    std::uint8_t references[max_sges * 16];
    std::uint32_t used = 0;
    for (const ibv_sge& piece : sges) {
        const std::uint64_t reference[2] = {piece.addr, piece.length};
        std::memcpy(references + used, reference, 16);
        used += 16;
    }
    Packet packet;
    packet.service = service_of(qp.type());
    packet.dest_qpn = qp.partner();
    packet.src_qpn = qp.qpn;
    packet.imm = w.imm;
    packet.op = Op::send_by_reference;
    packet.psn = w.first_psn;
    packet.solicited = (w.flags & IBV_SEND_SOLICITED) != 0;
    packet.ack_request = true;
    packet.dma_length = w.length;
    packet.rkey = has_imm(w) ? 1 : 0;
    if (!qp.path->wire->send(qp, *qp.path, packet, {{}, 0, used, 0, references})) return false;
    w.sent = 1;
    return true;
}

// A send or write whose bytes travel with it.
bool Requester::send_message(Qp& qp, SendWqe& w, const Path& path, std::span<const ibv_sge> sges) {
    const bool connected = qp.type() != IBV_QPT_UD;
    Wire& wire = *path.wire;
    const bool paced = wire.lossy() && connected && w.packets > 1;
    while (paced && !engine_.faults.lose_packets() && w.sent < w.packets) {
        const std::uint32_t sent = wire.send_run(qp, w, sges);
        if (sent == 0) return false;
        w.sent += sent;
        qp.sent_psn = w.first_psn + w.sent;
    }
    Packet packet;
    packet.src_qpn = qp.qpn;
    Load load{sges};
    load.flags = static_cast<std::uint8_t>((w.placed ? Entry::placed : 0) |
                                           (is_write(w) || w.length >= reference_from ? Entry::carried : 0));
    for (; w.sent < w.packets; ++w.sent) {
        const std::uint32_t allowed = paced ? wire.allowance(qp) : 1;
        if (allowed == 0) return false;
        load.offset = w.sent * qp.mtu;
        load.length = w.placed ? 0 : std::min(w.length - load.offset, connected ? qp.mtu : w.length);
        make_packet(qp, w, w.sent, packet);
        if (paced && (allowed == 1 || w.sent % 16 == 15)) packet.ack_request = true;
        qp.sent_psn = packet.psn + 1;
        if (path.multicast ? !engine_.groups.send(qp, w, packet, sges) : !wire.send(qp, path, packet, load))
            return false;
    }
    return true;
}

// Short sends inside the host decide latency and message rate: the same steps as begin() and send_packets(), for one
// entry whose payload lies in it. False: nothing was done, the general way decides.
bool Requester::send_short(Qp& qp, SendWqe& w, std::uint32_t at) {
    if (w.begun || w.length > Entry::small_size || (w.opcode != IBV_WR_SEND && w.opcode != IBV_WR_SEND_WITH_IMM))
        return false;
    const bool reliable = qp.type() == IBV_QPT_RC;
    if ((!reliable && qp.type() != IBV_QPT_UC) || (w.flags & IBV_SEND_FENCE) != 0 || engine_.faults.any()) return false;
    const Path* path = qp.path.get();
    if (path == nullptr || path->peer == nullptr) return false;
    Peer& peer = *path->peer;
    if (peer.state != Peer::State::up || !peer.room(0)) return false;
    ibv_sge* sges = qp.sges_of(at);
    if (w.inlined) {
        if (w.length != 0) sges[0] = {reinterpret_cast<std::uint64_t>(qp.inline_of(at)), w.length, 0};
    } else if (w.sges == 1 && !w.translated) {
        std::uint8_t* memory = engine_.memory.local(sges[0].lkey, sges[0].addr, sges[0].length, qp.pd, 0);
        if (memory == nullptr) return false;
        sges[0].addr = reinterpret_cast<std::uint64_t>(memory);
        w.translated = true;
        w.checked = engine_.memory.generation();
    } else if (w.length != 0) {
        return false;
    }
    w.begun = true;
    w.placed = w.by_reference = w.responded = false;
    w.first_psn = qp.next_psn;
    w.packets = w.sent = 1;
    qp.next_psn = qp.sent_psn = w.first_psn + 1;
    engine_.ring.send_short(qp, w, reinterpret_cast<const std::uint8_t*>(sges[0].addr));
    ++qp.sq_next;
    if (!reliable) {
        engine_.completions.complete_send(qp, w, IBV_WC_SUCCESS);
        ++qp.sq_head;
    } else if (qp.retry_at == 0 && qp.attr.timeout != 0) {
        start_timer(qp, qp.retry_at, engine_.ring.retry_time(qp));
    }
    return true;
}

void Requester::make_packet(Qp& qp, const SendWqe& w, std::uint32_t index, Packet& packet) const {
    const bool first = index == 0, last = index + 1 == w.packets;
    packet.service = service_of(qp.type());
    packet.op = op_of(w, first, last);
    packet.psn = w.first_psn + index;
    packet.solicited = last && (w.flags & IBV_SEND_SOLICITED) != 0;
    packet.ack_request = last && (qp.type() != IBV_QPT_RC || is_signalled(qp, w) || qp.path->wire->asks(qp, w));
    packet.imm = w.imm;
    packet.remote_address = first ? w.remote_address : 0;
    packet.rkey = first ? w.rkey : 0;
    packet.dma_length = first ? w.length : 0;
    if (qp.type() == IBV_QPT_UD) {
        packet.dest_qpn = w.remote_qpn;
        packet.src_qpn = qp.qpn;
        // The upper bit means: the queue pair's own key.
        packet.qkey = (w.remote_qkey & 0x80000000u) != 0 ? qp.attr.qkey : w.remote_qkey;
    } else {
        packet.dest_qpn = qp.partner();
    }
}

bool Requester::write_at_once(Qp& qp, const ibv_send_wr& request) {
    if (request.opcode != IBV_WR_RDMA_WRITE || request.num_sge != 1 || qp.sq_head != qp.sq_tail || engine_.faults.any())
        return false;
    if ((request.send_flags & IBV_SEND_SIGNALED) != 0 || qp.init.sq_sig_all != 0 || qp.type() != IBV_QPT_RC ||
        qp.init.cap.max_send_sge == 0 || qp.unpolled >= qp.init.cap.max_send_wr)
        return false;
    const Path* const path = qp.path.get();
    if (path == nullptr || path->peer == nullptr || path->peer->state != Peer::State::up) return false;
    ibv_sge piece = *request.sg_list;
    if ((request.send_flags & IBV_SEND_INLINE) != 0) {
        if (piece.length > qp.init.cap.max_inline_data) return false;
    } else {
        std::uint8_t* const memory = engine_.memory.local(piece.lkey, piece.addr, piece.length, qp.pd, 0);
        if (memory == nullptr || piece.length > api::max_message) return false;
        piece.addr = reinterpret_cast<std::uint64_t>(memory);
    }
    const Remote target{false, request.wr.rdma.remote_addr, request.wr.rdma.rkey, piece.length,
                        (request.send_flags & LOOM_SEND_PAST_CACHES) != 0};
    return copy_direct(qp, target, {&piece, 1}) == Copied::done;
}

void Requester::run(Qp& qp) {
    while (qp.sq_next != qp.sq_tail && qp.rnr_until == 0) {
        const std::uint32_t at = qp.sq_next;
        SendWqe& w = qp.wqe(at);
        // While the queue drains, what has begun goes on and nothing new begins.
        if (qp.state() != IBV_QPS_RTS && !(qp.state() == IBV_QPS_SQD && w.begun)) return;
        if (send_short(qp, w, at)) continue;
        if (!w.begun && !begin(qp, w, at)) {
            if (qp.sq_next == at) return;  // it waits, or has failed
            continue;
        }
        if (!w.inlined && !w.placed && !waits_for_answer(w) &&
            !engine_.memory.still_registered({qp.sges_of(at), w.sges}, qp.pd, 0, w.checked)) {
            if (qp.sq_head == qp.sq_next) fail(qp, IBV_WC_LOC_PROT_ERR);
            return;
        }
        if (!send_packets(qp, w, at)) return;
        ++qp.sq_next;
        if (qp.type() != IBV_QPT_RC) {
            engine_.completions.complete_send(qp, w, IBV_WC_SUCCESS);
            w.path.reset();
            ++qp.sq_head;
            if (qp.drain_event) look_if_drained(qp);
        }
    }
}

}  // namespace loom::hca
