// What answers do to the requests that they answer: completed, sent again, or failed with all behind them.
#include <algorithm>
#include <array>
#include <cstring>

#include "hca/engine.hpp"
#include "hca/protocol/receiving.hpp"
#include "hca/protocol/requests.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

namespace {

// Units of 10 us that each code of the receiver-not-ready timer stands for.
constexpr std::array<std::uint32_t, 32> rnr_units = {
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

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

}  // namespace

void Requester::on_answer(Qp& qp, const Packet& packet, std::span<const std::uint8_t> payload) {
    if (qp.state() != IBV_QPS_RTS && qp.state() != IBV_QPS_SQD) return;
    if (qp.type() != IBV_QPT_RC || qp.sq_head == qp.sq_tail) return;
    // Only numbers that are on their way can be answered; anything else is old, or nonsense.
    if (packet.psn - qp.unacked_psn < -1 || !packet.psn.before(qp.next_psn)) return;
    if (packet.op == Op::acknowledge ? take_acknowledgement(qp, packet) : take_data(qp, packet, payload)) run(qp);
}

bool Requester::take_acknowledgement(Qp& qp, const Packet& packet) {
    const std::uint8_t kind = packet.syndrome & syndrome_kind, value = packet.syndrome & 0x1f;
    if (kind == 0) {
        acknowledge_until(qp, packet.psn);
        return true;
    }
    if (packet.psn.before(qp.unacked_psn)) return false;
    const Psn before = packet.psn - 1;
    if (kind == syndrome_rnr) {
        if (qp.rnr_until != 0) return false;
        acknowledge_until(qp, before);
        if (qp.state() != IBV_QPS_RTS && qp.state() != IBV_QPS_SQD) return false;
        if (qp.rnr_left == 0) {
            fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
            return false;
        }
        if (qp.attr.rnr_retry != 7) --qp.rnr_left;
        qp.retry_at = 0;
        start_timer(qp, qp.rnr_until, now_ns() + rnr_units[value] * 10'000ull);
        resend(qp, packet.psn);
        return false;
    }
    if (kind != syndrome_nak) return true;
    acknowledge_until(qp, before);
    if (static_cast<Nak>(value) != Nak::sequence) {
        fail(qp, status_of(static_cast<Nak>(value)));
        return false;
    }
    qp.path->wire->lost(qp);
    resend(qp, packet.psn);
    return true;
}

// The answer to a read or an atomic, which acknowledges what came before it.
bool Requester::take_data(Qp& qp, const Packet& packet, std::span<const std::uint8_t> payload) {
    acknowledge_until(qp, packet.psn - 1);
    std::uint32_t at = qp.sq_head;
    const std::uint32_t end = qp.begun_end();
    for (; at != end; ++at) {
        const SendWqe& w = qp.wqe(at);
        if (waits_for_answer(w) && !w.responded) break;
    }
    if (at == end || qp.wqe(at).asked == 0) return true;
    SendWqe& w = qp.wqe(at);
    const std::span<const ibv_sge> sges{qp.sges_of(at), w.sges};
    if (!engine_.memory.still_registered(sges, qp.pd, IBV_ACCESS_LOCAL_WRITE, w.checked)) {
        fail(qp, IBV_WC_LOC_PROT_ERR);
        return false;
    }
    if (packet.op != Op::atomic_acknowledge) return is_read(w) && take_part(qp, w, sges, packet, payload);
    if (!is_atomic(w) || packet.psn != w.first_psn) return false;
    std::uint8_t original[8];
    std::memcpy(original, &packet.swap_or_add, 8);
    scatter(sges, 0, original);
    qp.read_bytes_out -= w.length;
    end_answer(qp, w, packet.psn);
    return true;
}

bool Requester::take_part(Qp& qp, SendWqe& w, std::span<const ibv_sge> sges, const Packet& packet,
                          std::span<const std::uint8_t> payload) {
    const Psn expected = w.first_psn + w.received / qp.mtu;
    if (packet.psn != expected) {
        // A piece is missing: asked for again, once, whatever else of this answer still comes.
        if (!packet.psn.after(expected) || qp.asked_again == expected) return false;
        qp.asked_again = expected;
        qp.path->wire->lost(qp);
        resend(qp, expected);
        return true;
    }
    qp.asked_again.reset();
    const std::uint32_t left = w.length - w.received;
    if (payload.size() != std::min(left, qp.mtu)) {
        fail(qp, IBV_WC_BAD_RESP_ERR);
        return false;
    }
    scatter(sges, w.received, payload);
    w.received += static_cast<std::uint32_t>(payload.size());
    qp.read_bytes_out -= static_cast<std::uint32_t>(payload.size());
    if (w.received == w.length) {
        end_answer(qp, w, packet.psn);
        return true;
    }
    qp.unacked_psn = packet.psn + 1;
    qp.path->wire->progressed(qp, 1);
    if (qp.retry_at != 0) qp.retry_at = qp.path->wire->retry_time(qp);
    if (w.received % qp.path->wire->read_chunk() != 0) return false;
    --w.asked;
    --qp.reads_out;
    return true;
}

void Requester::end_answer(Qp& qp, SendWqe& w, Psn psn) {
    w.responded = true;
    --w.asked;
    --qp.reads_out;
    acknowledge_until(qp, psn);
}

void Requester::acknowledge_until(Qp& qp, Psn psn) {
    bool moved = false;
    while (qp.sq_head != qp.sq_tail) {
        SendWqe& w = qp.wqe(qp.sq_head);
        if (!w.begun) break;
        const Psn last = w.first_psn + w.packets - 1;
        if (last.after(psn)) break;
        if (waits_for_answer(w) && !w.responded) {
            // Something later was acknowledged: the answer was lost on the way. It is asked for once more.
            const Psn missing = w.first_psn + w.received / qp.mtu;
            if (qp.sq_next != qp.sq_head && qp.asked_again != missing) {
                qp.asked_again = missing;
                qp.path->wire->lost(qp);
                resend(qp, missing);
            }
            break;
        }
        engine_.completions.complete_send(qp, w, IBV_WC_SUCCESS);
        if (qp.sq_next == qp.sq_head) ++qp.sq_next;
        ++qp.sq_head;
        moved = true;
    }
    if (qp.sq_head != qp.sq_tail) {
        // What is missing of an answer is not acknowledged by what comes behind it.
        const SendWqe& w = qp.wqe(qp.sq_head);
        const Psn answered = w.first_psn + w.received / qp.mtu - 1;
        if (w.begun && waits_for_answer(w) && !w.responded && psn.after(answered)) psn = answered;
    }
    if (const std::int32_t news = psn - qp.unacked_psn + 1; news > 0) {
        qp.unacked_psn = psn + 1;
        qp.rnr_until = 0;  // what was not received is, after all
        if (qp.sent_psn.before(qp.unacked_psn)) qp.sent_psn = qp.unacked_psn;
        if (Wire& wire = *qp.path->wire; wire.lossy()) {
            wire.progressed(qp, static_cast<std::uint32_t>(news));
            far_bytes_acknowledged_ += std::uint64_t{qp.mtu} * static_cast<std::uint32_t>(news);
        }
        moved = true;
    }
    if (!moved) return;
    if (qp.drain_event) look_if_drained(qp);
    qp.retries_left = qp.attr.retry_cnt;
    qp.rnr_left = qp.attr.rnr_retry;
    const bool outstanding = qp.sq_head != qp.sq_next || (qp.sq_next != qp.sq_tail && qp.wqe(qp.sq_next).sent != 0);
    qp.retry_at = outstanding && qp.attr.timeout != 0 ? qp.path->wire->retry_time(qp) : 0;
}

// Goes back to packet `psn`: it and what follows will be sent again.
void Requester::resend(Qp& qp, Psn psn, Lost lost) {
    PortCounters& counters = counters_of(*qp.context);
    std::uint32_t at = qp.sq_head;
    const std::uint32_t end = qp.begun_end();
    for (; at != end; ++at) {
        const SendWqe& w = qp.wqe(at);
        if (!(w.first_psn + w.packets - 1).before(psn)) break;
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
        const std::int32_t into = psn - w.first_psn;
        const std::uint32_t keep = waits_for_answer(w)   ? w.received / qp.mtu
                                   : i == at && into > 0 ? static_cast<std::uint32_t>(into)
                                                         : 0;
        if (w.sent > keep && lost == Lost::perhaps) add(counters.retransmitted, w.sent - keep);
        w.sent = std::min(w.sent, keep);
    }
    qp.sq_next = at;
    qp.sent_psn = psn;
}

void Requester::fail(Qp& qp, ibv_wc_status status) {
    if (qp.sq_head != qp.sq_tail) {
        SendWqe& w = qp.wqe(qp.sq_head);
        engine_.completions.complete_send(qp, w, status);
        w.path.reset();
        if (qp.sq_next == qp.sq_head) ++qp.sq_next;
        ++qp.sq_head;
    }
    if (qp.type() == IBV_QPT_RC) {
        engine_.queue_pairs.to_error(qp);
    } else {
        // UC and UD: only the send queue stops.
        qp.abi.qp_base.state = IBV_QPS_SQE;
        engine_.home.publish(qp);
        flush(qp);
    }
}

void Requester::flush(Qp& qp) {
    while (qp.sq_head != qp.sq_tail) {
        SendWqe& w = qp.wqe(qp.sq_head);
        engine_.completions.complete_send(qp, w, IBV_WC_WR_FLUSH_ERR);
        w.path.reset();
        ++qp.sq_head;
    }
    qp.sq_next = qp.sq_head;
    qp.reads_out = qp.read_bytes_out = 0;
    qp.retry_at = qp.rnr_until = 0;
}

void Requester::look_if_drained(Qp& qp) {
    if (!qp.drain_event || qp.state() != IBV_QPS_SQD || !qp.drained()) return;
    qp.drain_event = false;
    engine_.completions.async_event(*qp.context, IBV_EVENT_SQ_DRAINED, &qp.abi);
}

}  // namespace loom::hca
