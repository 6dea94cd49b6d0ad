// How long a queue pair waits for an answer or for room, and what happens then.
#include <algorithm>
#include <utility>

#include "hca/engine.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

// Until when the oldest packet may stay unanswered. RoCE looks earlier than the program's timeout, which only bounds
// how long it goes on: a lost packet then costs milliseconds.
std::uint64_t Requester::retry_time(Qp& qp) {
    const std::uint64_t whole = 4096ull << qp.attr.timeout;
    if (qp.path->kind != Path::Kind::roce) return coarse_now_ns() + whole;
    RoceFlow& flow = engine_.roce->flow(qp);
    flow.moved_at = now_ns();
    flow.heard = false;
    return flow.moved_at + std::min(whole, flow.probe_ns);
}

// What may be lost does not wait for ever for a process that is stopped: others are behind it in the queue.
bool Requester::waited_enough(Qp& qp) {
    constexpr std::uint64_t long_enough_ns = 1'000'000'000;
    const std::uint64_t now = coarse_now_ns();
    if (qp.waits_since == 0) qp.waits_since = now;
    return now - qp.waits_since > long_enough_ns;
}

// Programs that end together often have a message more under way than they wait for. An adapter would go on repeating
// it, and the error would come when nobody looks any more.
void Requester::give_up(Qp& qp) {
    constexpr std::uint64_t longest_ns = 500'000'000;
    const std::uint64_t repeating = (4096ull << qp.attr.timeout) * (qp.attr.retry_cnt + 1u);
    qp.retries_left = 0;
    start_timer(qp, qp.retry_at, now_ns() + (qp.attr.timeout == 0 ? longest_ns : std::min(repeating, longest_ns)));
    engine_.service.kick();
}

// Sends the last packet that is on its way once more. False: it is the only one, and nothing was heard of the other
// side, or there are some that ask for an answer of their own.
bool Requester::probe(Qp& qp, bool heard) {
    const std::uint32_t last = (qp.sent_psn - 1) & psn_mask;
    if (psn_distance(last, qp.unacked_psn) < (heard ? 0 : 1)) return false;
    const std::uint32_t end = qp.sq_next != qp.sq_tail && qp.wqe(qp.sq_next).begun ? qp.sq_next + 1 : qp.sq_next;
    for (std::uint32_t at = qp.sq_head; at != end; ++at)
        if (const ibv_wr_opcode op = qp.wqe(at).opcode;
            op == IBV_WR_RDMA_READ || op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD)
            return false;
    RoceFlow& flow = engine_.roce->flow(qp);
    flow.window.repeated(last);
    flow.probed_psn = last;
    resend(qp, last);
    run(qp);
    return true;
}

// The same for what nobody was asked about yet. False: there is no such packet under way.
bool Requester::ask_if_nobody_did(Qp& qp) {
    if (qp.path == nullptr || qp.path->kind != Path::Kind::roce || qp.type() != IBV_QPT_RC) return false;
    RoceFlow& flow = engine_.roce->flow(qp);
    if (flow.asked || psn_distance(qp.sent_psn, qp.unacked_psn) <= 0) return false;
    flow.must_ask = true;
    resend(qp, (qp.sent_psn - 1) & psn_mask, Lost::no);
    run(qp);
    flow.must_ask = false;
    return true;
}

void Requester::timed_out(Qp& qp, std::uint64_t now) {
    constexpr std::uint32_t few_deferred = 2, most_deferred = 16;  // before and after something was sent again
    qp.retry_at = 0;
    qp.asked_again = Qp::no_psn;
    if ((qp.state() != IBV_QPS_RTS && qp.state() != IBV_QPS_SQD) || qp.sq_head == qp.sq_tail) return;
    const Path& path = *qp.path;
    const std::uint64_t whole = 4096ull << qp.attr.timeout;
    std::uint64_t again = now + whole;
    if (path.kind == Path::Kind::local && path.peer != nullptr && path.peer->state != Peer::State::dead &&
        (path.peer->state == Peer::State::connecting ||
         path.peer->in->consumed.load(std::memory_order_acquire) < qp.wire_position)) {
        start_timer(qp, qp.retry_at, again);  // nothing is lost: the other has not come to it yet
        return;
    }
    if (ask_if_nobody_did(qp)) {
        start_timer(qp, qp.retry_at, retry_time(qp));
        return;
    }
    PortCounters& counters = counters_of(*qp.context);
    bool given_up = qp.retries_left == 0;
    if (path.kind == Path::Kind::roce) {
        RoceFlow& flow = engine_.roce->flow(qp);
        // Both the time is over and it was tried as often as asked for: a process that was not let run has only lost
        // time.
        given_up = given_up && now >= flow.moved_at + whole * (qp.attr.retry_cnt + 1);
        const bool first = !flow.probed;
        // Answers that only wait somewhere are no loss. The last packet once more asks what has come: it is
        // acknowledged, or refused by number. All of them would lengthen the very queue they wait in. And where data
        // comes the other way, the answers may be behind it.
        const bool heard = std::exchange(flow.heard, false);
        const bool probes = !given_up && first && probe(qp, heard);
        const bool defers = !given_up && !probes && heard && flow.deferred < (first ? few_deferred : most_deferred);
        if (!defers) flow.probed = true;
        if (probes) add(counters.timeouts);
        if (defers) ++flow.deferred;
        if (probes || defers) {
            start_timer(qp, qp.retry_at, now + std::min(whole, flow.probe_ns));
            return;
        }
        flow.probed_psn = qp.unacked_psn;
        flow.probe_ns = std::min(flow.probe_ns * 2, whole);
        again = now + std::min(whole, flow.probe_ns);
        engine_.roce->lost(qp);
    }
    add(counters.timeouts);
    if (given_up) {
        fail(qp, IBV_WC_RETRY_EXC_ERR);
        return;
    }
    if (qp.retries_left != 0) --qp.retries_left;
    start_timer(qp, qp.retry_at, again);
    resend(qp, qp.unacked_psn);
    run(qp);
}

void Requester::start_timer(Qp& qp, std::uint64_t& field, std::uint64_t at) {
    field = at;
    if (!qp.listed_timer) {
        qp.listed_timer = true;
        timed_.push_back(&qp);
    }
    // On the lossless wire nothing is resent: a later look does. (Without other processes there would be none.)
    if (&field == &qp.rnr_until || qp.path->kind == Path::Kind::roce || engine_.peers.up().size() == 1)
        engine_.service.kick_by(at);
}

void Requester::run_timers(std::uint64_t now) {
    for (std::size_t i = 0; i < timed_.size();) {
        Qp& qp = *timed_[i];
        if (qp.rnr_until != 0 && now >= qp.rnr_until) {
            qp.rnr_until = 0;
            run(qp);
        }
        if (qp.retry_at != 0 && now >= qp.retry_at) timed_out(qp, now);
        if (qp.rnr_until == 0 && qp.retry_at == 0 && i < timed_.size() && timed_[i] == &qp) {
            qp.listed_timer = false;
            timed_[i] = timed_.back();
            timed_.pop_back();
        } else {
            ++i;
        }
    }
}

void Requester::look_at_timers() {
    if (!timed_.empty() && (++since_timers_ & 63) == 0) run_timers(now_ns());
}

std::uint64_t Requester::next_deadline() const {
    std::uint64_t at = 0;
    for (const Qp* qp : timed_)
        for (const std::uint64_t candidate : {qp->rnr_until, qp->retry_at})
            if (candidate != 0 && (at == 0 || candidate < at)) at = candidate;
    return at;
}

void Requester::forget(Qp& qp) {
    std::erase(timed_, &qp);
    qp.listed_timer = false;
}

}  // namespace loom::hca
