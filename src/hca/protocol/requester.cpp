// The sending half of a queue pair: turns work requests into packets or direct copies, and answers into completions.
#include <algorithm>
#include <array>
#include <cstring>

#include <loom/softhca.h>
#include "hca/engine.hpp"
#include "hca/interface/api.hpp"
#include "hca/protocol/receiving.hpp"
#include "hca/wire/roce_wire.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t read_window = 512 * 1024;  // bytes of answers under way over RoCE: nothing else paces them
constexpr std::uint32_t read_chunk = 128 * 1024;   // bytes that one request asks for over RoCE
constexpr std::uint32_t reference_from = 8192;     // sends of this size and more are pulled out of the sender's memory

// Units of 10 us that each code of the receiver-not-ready timer stands for.
constexpr std::array<std::uint32_t, 32> rnr_units = {
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

bool is_read(const SendWqe& w) {
    return w.opcode == IBV_WR_RDMA_READ;
}
bool is_atomic(const SendWqe& w) {
    return w.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
bool is_write(const SendWqe& w) {
    return w.opcode == IBV_WR_RDMA_WRITE || w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
bool is_signalled(const Qp& qp, const SendWqe& w) {
    return qp.init.sq_sig_all != 0 || (w.flags & IBV_SEND_SIGNALED) != 0;
}
bool has_imm(const SendWqe& w) {
    return w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || w.opcode == IBV_WR_SEND_WITH_IMM;
}
bool waits_for_answer(const SendWqe& w) {
    return is_read(w) || is_atomic(w);
}

Service service_of(ibv_qp_type type) {
    return type == IBV_QPT_RC ? Service::rc : type == IBV_QPT_UC ? Service::uc : Service::ud;
}

ibv_wc_status status_of(Nak code) {
    switch (code) {
        case Nak::invalid_request:
            return IBV_WC_REM_INV_REQ_ERR;
        case Nak::remote_access:
            return IBV_WC_REM_ACCESS_ERR;
        case Nak::remote_operational:
            return IBV_WC_REM_OP_ERR;
        default:
            return IBV_WC_BAD_RESP_ERR;
    }
}

// Bytes that one read request asks for.
std::uint32_t chunk_of(const Qp& qp) {
    return qp.path->kind == Path::Kind::roce ? read_chunk : ~0u;
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

}  // namespace

// Notes that the queue pair waits for the other process; it runs again when that has moved.
void Engine::block_on(Peer& peer, Qp& qp) {
    if (qp.listed_blocked) return;
    qp.listed_blocked = true;
    peer.blocked.push_back(&qp);
    if (peer.state == Peer::State::connecting && std::find(silent.begin(), silent.end(), peer.slot) == silent.end())
        silent.push_back(peer.slot);
    kick();
}

// Hands one packet to the wire. False: no room now; the queue pair is noted and runs again when there is.
bool Engine::wire_send(Qp& qp, const Path& path, Packet& packet, std::span<const ibv_sge> gather, std::uint32_t offset,
                       std::uint32_t length, std::uint8_t flags, const std::uint8_t* bytes) {
    PortCounters& counters = counters_of(*qp.context);
    const bool datagram_lost = faults.datagrams > 0 && qp.type() == IBV_QPT_UD && drops.unit() < faults.datagrams;
    if (datagram_lost || (faults.drop > 0 && drops.unit() < faults.drop)) {
        add(counters.dropped);
        // As with any loss, the sender does not know of it.
        if (path.kind == Path::Kind::roce && qp.type() == IBV_QPT_RC && is_request(packet.op) && packet.ack_request)
            roce->note_asked(qp, (packet.psn + 1) & psn_mask, now_ns());
        return true;
    }
    if (path.kind == Path::Kind::local) {
        Peer* peer = path.peer.get();
        std::shared_ptr<Peer> found;
        if (peer == nullptr) {
            found = peer_at(slot_of(packet.dest_qpn));
            peer = found.get();
        }
        if (peer == nullptr || peer->state == Peer::State::dead) {
            // Nobody of ours has that number: on Ethernet it may be another user's process.
            if (peer == nullptr && roce->has(*qp.context->hca))
                return roce->send(qp, path, packet, gather, offset, length, bytes);
            add(counters.dropped);
            return true;
        }
        if (peer->state != Peer::State::up || !send(*peer, packet, gather, offset, length, path, flags, bytes)) {
            if (qp.type() != IBV_QPT_RC && waited_enough(qp)) {
                add(counters.dropped);
                return true;
            }
            block_on(*peer, qp);
            return false;
        }
        qp.waits_since = 0;
        qp.wire_position = peer->tail;
    } else if (path.kind == Path::Kind::roce) {
        if (!roce->send(qp, path, packet, gather, offset, length, bytes)) return false;
    } else {
        add(counters.dropped);
        return true;
    }
    add(counters.sent_packets);
    return true;
}

// Checks a request before its first packet and decides how it travels. True: packets are to be sent.
bool Engine::begin(Qp& qp, SendWqe& w, std::uint32_t at) {
    const bool alone = qp.sq_head == qp.sq_next;  // everything before it is completed
    const bool connected = qp.type() != IBV_QPT_UD;
    const auto refuse = [&](ibv_wc_status status) {
        if (alone) fail(qp, status);
        return false;  // when not alone: it is looked at again once the others are done
    };
    if ((w.flags & IBV_SEND_FENCE) != 0 && qp.reads_out != 0) return false;
    if (qp.path == nullptr && connected) return refuse(IBV_WC_LOC_QP_OP_ERR);
    Peer* peer = connected && qp.path->kind == Path::Kind::local ? qp.path->peer.get() : nullptr;
    if (peer != nullptr && peer->state == Peer::State::dead && qp.type() == IBV_QPT_RC) {
        if (!peer->said_bye) return refuse(IBV_WC_RETRY_EXC_ERR);
        if (qp.retry_at == 0) give_up(qp);
        return false;
    }

    if (peer != nullptr && peer->state == Peer::State::connecting) {
        block_on(*peer, qp);
        return false;
    }

    ibv_sge* sges = qp.sges_of(at);
    if (w.inlined) {
        if (w.length != 0) sges[0] = {reinterpret_cast<std::uint64_t>(qp.inline_of(at)), w.length, 0};
    } else if (!w.translated) {
        const std::uint32_t right = waits_for_answer(w) ? IBV_ACCESS_LOCAL_WRITE : 0;
        std::uint8_t* memory[max_sges];
        for (std::uint32_t i = 0; i < w.sges; ++i) {
            memory[i] = local_memory(sges[i].lkey, sges[i].addr, sges[i].length, qp.pd, right);
            if (memory[i] == nullptr && sges[i].length != 0) return refuse(IBV_WC_LOC_PROT_ERR);
        }
        // Work requests hold the program's addresses; from here on they are memory of this process.
        for (std::uint32_t i = 0; i < w.sges; ++i) sges[i].addr = reinterpret_cast<std::uint64_t>(memory[i]);
        w.translated = true;
        w.checked = registrations;
    }
    if (!connected && w.length > 4096) return refuse(IBV_WC_LOC_LEN_ERR);
    if (is_atomic(w) && w.length != 8) return refuse(IBV_WC_LOC_LEN_ERR);
    if (w.doomed) return refuse(IBV_WC_GENERAL_ERR);

    const auto complete_now = [&] {
        complete_send(qp, w, IBV_WC_SUCCESS);
        ++qp.sq_next;
        ++qp.sq_head;
        return false;
    };
    w.placed = false;
    w.by_reference = false;
    if (peer != nullptr && peer->state == Peer::State::up && (is_read(w) || is_write(w))) {
        // Order: what was sent before must have been taken in before memory changes.
        const bool in_order =
            qp.type() == IBV_QPT_RC ? alone : peer->in->consumed.load(std::memory_order_acquire) >= qp.wire_position;
        if (!in_order) {
            if (qp.type() == IBV_QPT_UC) block_on(*peer, qp);
            return false;
        }
        switch (copy_direct(qp,
                            {is_read(w), w.remote_address, w.rkey, w.length, (w.flags & LOOM_SEND_PAST_CACHES) != 0},
                            {sges, w.inlined ? (w.length != 0 ? 1u : 0u) : w.sges})) {
            case Copied::done:
                if (w.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) return complete_now();
                w.placed = true;
                break;
            case Copied::gone:
                lose(*peer);
                return false;
            case Copied::faulted:
                fail(qp, IBV_WC_REM_ACCESS_ERR);
                return false;
            case Copied::ask_responder:
            case Copied::refused:
                break;
        }
    }
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
    qp.next_psn = (qp.next_psn + w.packets) & psn_mask;

    PortCounters& counters = counters_of(*qp.context);
    const Path* path = connected ? qp.path.get() : w.path.get();
    const Way way = path->kind == Path::Kind::roce                            ? Way::roce
                    : w.by_reference                                          ? Way::direct
                    : is_write(w) || is_read(w) || w.length >= reference_from ? Way::target
                                                                              : Way::store;
    if (!w.placed) add(counters.sent_bytes[static_cast<std::size_t>(way)], w.length);
    return true;
}

// Sends the packets of a request that are not on the wire yet. False: not all of them could go.
bool Engine::send_packets(Qp& qp, SendWqe& w, std::uint32_t at) {
    const bool connected = qp.type() != IBV_QPT_UD;
    const Path& path = connected ? *qp.path : *w.path;
    if (is_atomic(w) && qp.reads_out >= most_reads(qp)) return false;
    if (path.kind == Path::Kind::roce && w.packets == 1 && roce->allowance(qp) == 0) return false;
    const std::span<const ibv_sge> sges{qp.sges_of(at), w.inlined ? (w.length != 0 ? 1u : 0u) : w.sges};
    // As soon as something is on its way: the first part of a long message may be lost as a whole.
    const auto expect_answer = [&] {
        if (qp.type() == IBV_QPT_RC && qp.retry_at == 0 && qp.attr.timeout != 0 && w.sent != 0)
            start_timer(qp, qp.retry_at, retry_time(qp));
    };
    const auto later = [&] {
        expect_answer();
        return false;
    };
    Packet packet;
    packet.service = service_of(qp.type());
    packet.dest_qpn = connected ? qp.attr.dest_qp_num : w.remote_qpn;
    packet.src_qpn = qp.qpn;
    packet.imm = w.imm;
    if (waits_for_answer(w)) {
        packet.op = op_of(w, true, true);
        packet.ack_request = true;
        packet.rkey = w.rkey;
        packet.swap_or_add = w.swap_or_add;
        packet.compare = w.compare;
        const std::uint32_t chunk = chunk_of(qp);
        while (w.sent < w.packets) {
            if (qp.reads_out >= most_reads(qp)) return later();
            if (path.kind == Path::Kind::roce && qp.read_bytes_out >= read_window) return later();
            const std::uint64_t boundary = (std::uint64_t{w.requested} / chunk + 1) * chunk;
            const auto end = static_cast<std::uint32_t>(std::min<std::uint64_t>(w.length, boundary));
            packet.psn = (w.first_psn + w.requested / qp.mtu) & psn_mask;
            packet.remote_address = w.remote_address + w.requested;
            packet.dma_length = end - w.requested;
            if (!wire_send(qp, path, packet, {}, 0, 0, 0)) return later();
            qp.read_bytes_out += end - w.requested;
            w.requested = end;
            w.sent = end == w.length ? w.packets : end / qp.mtu;
            qp.sent_psn = (w.first_psn + w.sent) & psn_mask;
            ++w.asked;
            ++qp.reads_out;
        }
    } else if (w.by_reference) {
        std::uint8_t references[max_sges * 16];
        std::uint32_t used = 0;
        for (const ibv_sge& piece : sges) {
            const std::uint64_t reference[2] = {piece.addr, piece.length};
            std::memcpy(references + used, reference, 16);
            used += 16;
        }
        packet.op = Op::send_by_reference;
        packet.psn = w.first_psn;
        packet.solicited = (w.flags & IBV_SEND_SOLICITED) != 0;
        packet.ack_request = true;
        packet.dma_length = w.length;
        packet.rkey = has_imm(w) ? 1 : 0;
        if (!wire_send(qp, path, packet, {}, 0, used, 0, references)) return false;
        w.sent = 1;
    } else {
        const bool by_window = path.kind == Path::Kind::roce && connected && w.packets > 1;
        if (by_window && faults.drop == 0) {
            if (!roce->send_run(qp, w, sges)) return later();
        }
        const std::uint8_t flags = static_cast<std::uint8_t>(
            (w.placed ? Entry::placed : 0) | (is_write(w) || w.length >= reference_from ? Entry::carried : 0));
        for (; w.sent < w.packets; ++w.sent) {
            const std::uint32_t offset = w.sent * qp.mtu;
            const std::uint32_t length = w.placed ? 0 : std::min(w.length - offset, connected ? qp.mtu : w.length);
            const std::uint32_t allowed = by_window ? roce->allowance(qp) : 1;
            if (allowed == 0) return later();
            make_packet(qp, w, w.sent, packet);
            if (by_window && (allowed == 1 || w.sent % 16 == 15)) packet.ack_request = true;
            qp.sent_psn = (packet.psn + 1) & psn_mask;
            if (path.multicast) {
                if (!send_to_group(qp, w, packet, sges)) return later();
            } else if (!wire_send(qp, path, packet, sges, offset, length, flags)) {
                return later();
            }
        }
    }
    expect_answer();
    return true;
}

void Engine::make_packet(Qp& qp, const SendWqe& w, std::uint32_t index, Packet& packet) const {
    const bool first = index == 0, last = index + 1 == w.packets;
    packet.service = service_of(qp.type());
    packet.op = op_of(w, first, last);
    packet.psn = (w.first_psn + index) & psn_mask;
    packet.solicited = last && (w.flags & IBV_SEND_SOLICITED) != 0;
    packet.ack_request = last && (qp.type() != IBV_QPT_RC || qp.path->kind != Path::Kind::roce || is_signalled(qp, w) ||
                                  roce->asks(qp, w));
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
        packet.dest_qpn = qp.attr.dest_qp_num;
    }
}

bool Engine::write_at_once(Qp& qp, const ibv_send_wr& request) {
    if (request.opcode != IBV_WR_RDMA_WRITE || request.num_sge != 1 || qp.sq_head != qp.sq_tail || faulty) return false;
    if ((request.send_flags & IBV_SEND_SIGNALED) != 0 || qp.init.sq_sig_all != 0 || qp.type() != IBV_QPT_RC ||
        qp.init.cap.max_send_sge == 0 || qp.unpolled >= qp.init.cap.max_send_wr)
        return false;
    const Path* const path = qp.path.get();
    if (path == nullptr || path->kind != Path::Kind::local || path->peer == nullptr ||
        path->peer->state != Peer::State::up)
        return false;
    ibv_sge piece = *request.sg_list;
    if ((request.send_flags & IBV_SEND_INLINE) != 0) {
        if (piece.length > qp.init.cap.max_inline_data) return false;
    } else {
        std::uint8_t* const memory = local_memory(piece.lkey, piece.addr, piece.length, qp.pd, 0);
        if (memory == nullptr || piece.length > api::max_message) return false;
        piece.addr = reinterpret_cast<std::uint64_t>(memory);
    }
    const Remote target{false, request.wr.rdma.remote_addr, request.wr.rdma.rkey, piece.length,
                        (request.send_flags & LOOM_SEND_PAST_CACHES) != 0};
    return copy_direct(qp, target, {&piece, 1}) == Copied::done;
}

void Engine::run(Qp& qp) {
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
            !still_registered({qp.sges_of(at), w.sges}, qp.pd, 0, w.checked)) {
            if (qp.sq_head == qp.sq_next) fail(qp, IBV_WC_LOC_PROT_ERR);
            return;
        }
        if (!send_packets(qp, w, at)) return;
        ++qp.sq_next;
        if (qp.type() != IBV_QPT_RC) {
            complete_send(qp, w, IBV_WC_SUCCESS);
            w.path.reset();
            ++qp.sq_head;
            if (qp.drain_event) look_if_drained(qp);
        }
    }
}

void Engine::acknowledge_until(Qp& qp, std::uint32_t psn) {
    bool moved = false;
    while (qp.sq_head != qp.sq_tail) {
        SendWqe& w = qp.wqe(qp.sq_head);
        if (!w.begun) break;
        const std::uint32_t last = (w.first_psn + w.packets - 1) & psn_mask;
        if (psn_distance(last, psn) > 0) break;
        if (waits_for_answer(w) && !w.responded) {
            // Something later was acknowledged: the answer was lost on the way. It is asked for once more.
            const std::uint32_t missing = (w.first_psn + w.received / qp.mtu) & psn_mask;
            if (qp.sq_next != qp.sq_head && qp.asked_again != missing) {
                qp.asked_again = missing;
                if (qp.path->kind == Path::Kind::roce) roce->lost(qp);
                resend(qp, missing);
            }
            break;
        }
        complete_send(qp, w, IBV_WC_SUCCESS);
        if (qp.sq_next == qp.sq_head) ++qp.sq_next;
        ++qp.sq_head;
        moved = true;
    }
    if (qp.sq_head != qp.sq_tail) {
        // What is missing of an answer is not acknowledged by what comes behind it.
        const SendWqe& w = qp.wqe(qp.sq_head);
        const std::uint32_t answered = (w.first_psn + w.received / qp.mtu - 1) & psn_mask;
        if (w.begun && waits_for_answer(w) && !w.responded && psn_distance(psn, answered) > 0) psn = answered;
    }
    if (const std::int32_t news = psn_distance(psn, qp.unacked_psn) + 1; news > 0) {
        qp.unacked_psn = (psn + 1) & psn_mask;
        qp.rnr_until = 0;  // what was not received is, after all
        if (psn_distance(qp.sent_psn, qp.unacked_psn) < 0) qp.sent_psn = qp.unacked_psn;
        if (qp.path->kind == Path::Kind::roce) {
            roce->progressed(qp, static_cast<std::uint32_t>(news));
            far_bytes_acknowledged += std::uint64_t{qp.mtu} * static_cast<std::uint32_t>(news);
        }
        moved = true;
    }
    if (!moved) return;
    if (qp.drain_event) look_if_drained(qp);
    qp.retries_left = qp.attr.retry_cnt;
    qp.rnr_left = qp.attr.rnr_retry;
    const bool outstanding = qp.sq_head != qp.sq_next || (qp.sq_next != qp.sq_tail && qp.wqe(qp.sq_next).sent != 0);
    qp.retry_at = outstanding && qp.attr.timeout != 0 ? retry_time(qp) : 0;
}

// Goes back to packet `psn`: it and what follows will be sent again.
void Engine::resend(Qp& qp, std::uint32_t psn, Lost lost) {
    PortCounters& counters = counters_of(*qp.context);
    std::uint32_t at = qp.sq_head;
    const std::uint32_t end = qp.sq_next != qp.sq_tail && qp.wqe(qp.sq_next).begun ? qp.sq_next + 1 : qp.sq_next;
    for (; at != end; ++at) {
        const SendWqe& w = qp.wqe(at);
        if (psn_distance((w.first_psn + w.packets - 1) & psn_mask, psn) >= 0) break;
    }
    if (at == end) return;
    for (std::uint32_t i = at; i != end; ++i) {
        SendWqe& w = qp.wqe(i);
        if (waits_for_answer(w)) {
            // A read goes on where its answer stopped.
            qp.reads_out -= w.asked;
            qp.read_bytes_out -= w.requested - w.received;
            w.asked = 0;
            w.requested = w.received;
        }
        const std::int32_t into = psn_distance(psn, w.first_psn);
        const std::uint32_t keep = waits_for_answer(w)   ? w.received / qp.mtu
                                   : i == at && into > 0 ? static_cast<std::uint32_t>(into)
                                                         : 0;
        if (w.sent > keep && lost == Lost::perhaps) add(counters.retransmitted, w.sent - keep);
        w.sent = std::min(w.sent, keep);
    }
    qp.sq_next = at;
    qp.sent_psn = psn;
}

void Engine::fail(Qp& qp, ibv_wc_status status) {
    if (qp.sq_head != qp.sq_tail) {
        SendWqe& w = qp.wqe(qp.sq_head);
        complete_send(qp, w, status);
        w.path.reset();
        if (qp.sq_next == qp.sq_head) ++qp.sq_next;
        ++qp.sq_head;
    }
    if (qp.type() == IBV_QPT_RC)
        to_error(qp);
    else
        to_send_error(qp);
}

void Engine::on_answer(Qp& qp, const Packet& packet, std::span<const std::uint8_t> payload) {
    if (qp.state() != IBV_QPS_RTS && qp.state() != IBV_QPS_SQD) return;
    if (qp.type() != IBV_QPT_RC || qp.sq_head == qp.sq_tail) return;
    // Only numbers that are on their way can be answered; anything else is old, or nonsense.
    if (psn_distance(packet.psn, qp.unacked_psn) < -1 || psn_distance(packet.psn, qp.next_psn) >= 0) return;
    const std::uint32_t before = (packet.psn - 1) & psn_mask;
    if (packet.op == Op::acknowledge) {
        const std::uint8_t kind = packet.syndrome >> 5, value = packet.syndrome & 0x1f;
        if (kind == 0) {
            acknowledge_until(qp, packet.psn);
        } else if (psn_distance(packet.psn, qp.unacked_psn) < 0) {
            return;
        } else if (kind == 1) {
            if (qp.rnr_until != 0) return;
            acknowledge_until(qp, before);
            if (qp.state() != IBV_QPS_RTS && qp.state() != IBV_QPS_SQD) return;
            if (qp.rnr_left == 0) {
                fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
                return;
            }
            if (qp.attr.rnr_retry != 7) --qp.rnr_left;
            qp.retry_at = 0;
            start_timer(qp, qp.rnr_until, now_ns() + rnr_units[value] * 10'000ull);
            resend(qp, packet.psn);
            return;
        } else if (kind == 3) {
            acknowledge_until(qp, before);
            if (static_cast<Nak>(value) == Nak::sequence) {
                if (qp.path->kind == Path::Kind::roce) roce->lost(qp);
                resend(qp, packet.psn);
            } else {
                fail(qp, status_of(static_cast<Nak>(value)));
                return;
            }
        }
    } else {
        // The answer to a read or an atomic acknowledges what came before it.
        acknowledge_until(qp, before);
        std::uint32_t at = qp.sq_head;
        const std::uint32_t end = qp.sq_next != qp.sq_tail && qp.wqe(qp.sq_next).begun ? qp.sq_next + 1 : qp.sq_next;
        for (; at != end; ++at) {
            const SendWqe& w = qp.wqe(at);
            if (waits_for_answer(w) && !w.responded) break;
        }
        if (at == end || qp.wqe(at).asked == 0) {
            run(qp);
            return;
        }
        SendWqe& w = qp.wqe(at);
        const std::span<const ibv_sge> sges{qp.sges_of(at), w.sges};
        if (!still_registered(sges, qp.pd, IBV_ACCESS_LOCAL_WRITE, w.checked)) {
            fail(qp, IBV_WC_LOC_PROT_ERR);
            return;
        }
        if (packet.op == Op::atomic_acknowledge) {
            if (!is_atomic(w) || packet.psn != w.first_psn) return;
            std::uint8_t original[8];
            std::memcpy(original, &packet.swap_or_add, 8);
            scatter(sges, 0, original);
            qp.read_bytes_out -= w.length;
        } else {
            if (!is_read(w)) return;
            const std::uint32_t expected = (w.first_psn + w.received / qp.mtu) & psn_mask;
            if (packet.psn != expected) {
                // A piece is missing: asked for again, once, whatever else of this answer still comes.
                if (psn_distance(packet.psn, expected) > 0 && qp.asked_again != expected) {
                    qp.asked_again = expected;
                    if (qp.path->kind == Path::Kind::roce) roce->lost(qp);
                    resend(qp, expected);
                    run(qp);
                }
                return;
            }
            qp.asked_again = Qp::no_psn;
            const std::uint32_t left = w.length - w.received;
            if (payload.size() != std::min(left, qp.mtu)) {
                fail(qp, IBV_WC_BAD_RESP_ERR);
                return;
            }
            scatter(sges, w.received, payload);
            w.received += static_cast<std::uint32_t>(payload.size());
            qp.read_bytes_out -= static_cast<std::uint32_t>(payload.size());
            if (w.received < w.length) {
                qp.unacked_psn = (packet.psn + 1) & psn_mask;
                if (qp.path->kind == Path::Kind::roce) roce->progressed(qp, 1);
                if (qp.retry_at != 0) qp.retry_at = retry_time(qp);
                if (w.received % chunk_of(qp) != 0) return;
                --w.asked;
                --qp.reads_out;
                run(qp);
                return;
            }
        }
        w.responded = true;
        --w.asked;
        --qp.reads_out;
        acknowledge_until(qp, packet.psn);
    }
    run(qp);
}

}  // namespace loom::hca
