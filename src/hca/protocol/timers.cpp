// How long a queue pair waits for an answer or for room, and what happens then.
#include <algorithm>
#include <utility>

#include "hca/engine.hpp"
#include "hca/service/clock.hpp"

namespace loom::hca {

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

bool Requester::ask_if_nobody_did(Qp& qp) {
    if (qp.path == nullptr || !qp.path->wire->unasked(qp)) return false;
    qp.ask_now = true;
    resend(qp, qp.sent_psn - 1, Lost::no);
    run(qp);
    qp.ask_now = false;
    return true;
}

void Requester::timed_out(Qp& qp, std::uint64_t now) {
    qp.retry_at = 0;
    qp.asked_again.reset();
    if ((qp.state() != IBV_QPS_RTS && qp.state() != IBV_QPS_SQD) || qp.sq_head == qp.sq_tail) return;
    PortCounters& counters = counters_of(*qp.context);
    const Overdue overdue = qp.path->wire->overdue(qp, now);
    switch (overdue.verdict) {
        case Overdue::Verdict::wait:
            start_timer(qp, qp.retry_at, overdue.next);
            break;
        case Overdue::Verdict::ask:
            ask_if_nobody_did(qp);
            start_timer(qp, qp.retry_at, qp.path->wire->retry_time(qp));
            break;
        case Overdue::Verdict::probe:
            resend(qp, qp.sent_psn - 1);
            run(qp);
            add(counters.timeouts);
            start_timer(qp, qp.retry_at, overdue.next);
            break;
        case Overdue::Verdict::resend:
            add(counters.timeouts);
            if (qp.retries_left != 0) --qp.retries_left;
            start_timer(qp, qp.retry_at, overdue.next);
            resend(qp, qp.unacked_psn);
            run(qp);
            break;
        case Overdue::Verdict::give_up:
            add(counters.timeouts);
            fail(qp, IBV_WC_RETRY_EXC_ERR);
            break;
    }
}

void Requester::restart_timer(Qp& qp) {
    if (qp.retry_at != 0) qp.retry_at = qp.path->wire->retry_time(qp);
}

void Requester::start_timer(Qp& qp, std::uint64_t& field, std::uint64_t at) {
    field = at;
    if (!qp.listed_timer) {
        qp.listed_timer = true;
        timed_.push_back(&qp);
    }
    // On the lossless wire nothing is resent: a later look does. (Without other processes there would be none.)
    if (&field == &qp.rnr_until || qp.path->wire->lossy() || engine_.peers.up().size() == 1)
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
