#include "twin/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "twin/job.hpp"

namespace loom::twin {

using transport::LocalWork;
using transport::Message;
using transport::Tag;

Endpoint::Endpoint(Job& job, Rank me, std::function<void()> body)
    : job_(job),
      me_(me),
      computation_(job.options().computing, job.slowness(me), job.options().simulation.seed, me),
      events_(job.options().timeline_events == 0 ? nullptr : std::make_unique<Events>(job.events_of_each())),
      account_(events_.get()),
      fibre_(job.options().stack_bytes, [this, body = std::move(body)] {
          if (!stopping_) body();
          leave();
      }) {
    if (const std::uint64_t seed = job.options().disturb; seed != 0)
        disturbance_ = std::make_unique<Disturbance>(seed, job.options().longest_delay, me);
}

Endpoint::~Endpoint() {
    early_.take_if([](const Early&) { return true; }, [](Early& each) { delete &each; });
}

std::string Endpoint::description() const {
    return fmt::format("simulated at the {} level", sim::to_string(job_.options().level));
}

std::uint32_t Endpoint::size() const {
    return job_.ranks();
}

std::span<const std::uint32_t> Endpoint::hosts() const {
    return job_.hosts();
}

// ---- the fibre and the simulation take turns

void Endpoint::resume(Time now) {
    now_ = now;
    looked_ = false;
    state_ = State::runs;
    Clock* const before = swap_clock(this);
    if (computation_.measures()) computation_.start();
    fibre_.resume();
    swap_clock(before);
    if (!fibre_.ended()) return;
    hand_over_held(never);
    job_.simulation().end(me_);
}

// What the program has computed since our last function takes its time now. Not in what progress() calls, which is the
// library's.
void Endpoint::enter() {
    if (inside_++ == 0 && !stopping_) keep_busy(computation_.measured());
}

void Endpoint::wait(State how) {
    if (stopping_) throw Stopped("the job was stopped");
    state_ = how;
    if (how == State::rests) {
        rests_since_ = now_;
        reason_ = reason_to_rest();
    }
    fibre_.yield();
    if (stopping_) throw Stopped("the job was stopped");
    if (how == State::rests) {
        name_reason(reason_);
        account_.rested(rests_since_, now_, std::move(reason_));
    }
    account_.settle(now_);
}

// ---- where the time goes

Account::Reason Endpoint::reason_to_rest() const {
    Account::Reason reason;
    if (open_receives_ == 0 && sends_.front() != nullptr) reason.kind = Span::Kind::send;
    return reason;
}

void Endpoint::ended_by(Rank peer, std::uint64_t bytes, Tag tag) {
    if (state_ != State::rests || reason_.peer != no_peer) return;
    reason_.peer = peer;
    reason_.bytes = bytes;
    reason_.tag = tag;
}

void Endpoint::name_reason(Account::Reason& reason) const {
    if (events_ == nullptr || reason.peer == no_peer) return;
    const OpenOperations::Open* const open = operations_.of(reason.tag);
    if (open == nullptr) return;
    reason.tag.value -= open->operation.first.value;
    reason.name = open->what;
    reason.group = open->operation.group;
}

void Endpoint::operation_begins(const transport::OperationName& operation) {
    operations_.begin(operation, now_);
}

void Endpoint::operation_ends(Tag first) {
    const OpenOperations::Open open = operations_.end(first);
    if (events_ == nullptr || open.what.empty()) return;
    events_->add({.kind = Span::Kind::operation,
                  .begin = open.begin,
                  .end = now_,
                  .bytes = open.operation.bytes,
                  .group = open.operation.group},
                 open.what);
}

RankTimes Endpoint::times(Time now) {
    now = std::max(now, now_);
    if (!over_) {
        if (state_ == State::rests) {
            const Awaited first = awaited();
            Account::Reason reason = reason_to_rest();
            if (!first.ranks.empty()) {
                reason.peer = first.ranks.front();
                reason.bytes = first.bytes;
                reason.tag = first.tag;
            }
            name_reason(reason);
            account_.rested(rests_since_, now, std::move(reason));
        }
        account_.close(now);
    }
    RankTimes result = times_;
    result.computing = account_.computing();
    result.waiting = account_.waiting();
    result.sending = account_.sending();
    const Time until = result.end == never ? now : result.end;
    result.other = until - result.computing - result.waiting - result.sending;
    return result;
}

void Endpoint::stop() {
    if (fibre_.ended()) return;
    stopping_ = true;
    Clock* const before = swap_clock(this);
    fibre_.resume();
    swap_clock(before);
}

void Endpoint::die(Time now) {
    if (over_) return;
    times_.killed = stopping_ = true;
    job_.lose(me_, now, {});
    resume(now);
}

void Endpoint::wake_if_resting(Time now) {
    if (state_ == State::rests) resume(now);
}

void Endpoint::start(Time now) {
    if (!over_) resume(now);
}

// Where a notification lies that nobody takes now, the next look in vain takes time, or a loop would stop it.
void Endpoint::rest() {
    const Inside inside(*this);
    looked_ = false;
    if (!news_) wait(State::rests);
    news_ = false;
}

void Endpoint::compute(Time duration) {
    const Inside inside(*this);
    keep_busy(computation_.declared(duration));
}

void Endpoint::keep_busy(Time duration) {
    if (disturbance_ != nullptr) duration = disturbance_->computation(duration);
    if (duration <= Time{}) return;
    if (job_.simulation().work(me_, duration, timer(++timers_))) return;
    computes_ = true;
    account_.work_begins(Span::Kind::compute, duration, 0);
    wait(State::sleeps);
}

bool Endpoint::work(LocalWork kind, std::uint64_t amount, Message& message) {
    const Inside inside(*this);
    if (stopping_) throw Stopped("the job was stopped");
    const sim::LocalCosts& costs = job_.options().simulation.local;
    Time duration{static_cast<std::int64_t>(amount)};
    if (kind != LocalWork::compute)
        duration = costs.step + duration * (kind == LocalWork::copy ? costs.copy : costs.reduce);
    looked_ = false;
    message.outcome = Message::Outcome::done;
    if (job_.simulation().work(me_, duration, reinterpret_cast<sim::Cookie>(&message))) return true;
    const Span::Kind span = kind == LocalWork::copy     ? Span::Kind::copy
                            : kind == LocalWork::reduce ? Span::Kind::reduce
                                                        : Span::Kind::compute;
    account_.work_begins(span, duration, kind == LocalWork::compute ? 0 : amount);
    return false;
}

void Endpoint::note(std::string_view key, std::string_view text) {
    job_.notes().add(key, text);
}

std::optional<std::string> Endpoint::recall(std::string_view key) {
    return job_.notes().find(key);
}

std::optional<std::string> Endpoint::parameters_text() const {
    return job_.parameters();
}

void Endpoint::sleep_until(Time when) {
    const Inside inside(*this);
    if (when <= now_) return;
    job_.simulation().wake(me_, when, timer(++timers_));
    wait(State::sleeps);
}

// For progress threads: as long as nothing comes.
void Endpoint::sleep(std::chrono::microseconds most) {
    const Inside inside(*this);
    if (!news_) {
        job_.simulation().wake(me_, now_ + microseconds(most.count()), timer(++timers_));
        wait(State::rests);
    }
    news_ = false;
}

void Endpoint::woken(sim::Cookie what, Time now) {
    if (what == death) return die(now);
    if (what == nothing) return;
    if (what == news_of_losses) {
        if (state_ == State::rests) now_ = now;
        hear_of_losses();
        return wake_if_resting(now);
    }
    if (what == held_is_due) return hand_over_held(now);
    if (what == something_came) {
        news_ = true;
        if (ends_with_any_) wake_if_resting(now);
        return;
    }
    if ((what & 1) == 0) {  // work that nobody waits for on the spot
        now_ = now;
        account_.work_ended(now);
        finish(*reinterpret_cast<Message*>(what), Message::Outcome::done);
        return wake_if_resting(now);
    }
    if (what != timer(timers_) || state_ == State::runs) return;
    if (std::exchange(computes_, false)) account_.work_ended(now);
    resume(now);
}

// A program that reads nothing but the clock waits for a time: so time must pass.
Time Endpoint::now() {
    constexpr std::uint32_t free_reads = 1000;
    const Inside inside(*this);
    if (state_ == State::runs && ++reads_ > free_reads) sleep_until(now_ + job_.options().look);
    return now_;
}

bool Endpoint::progress() {
    const Inside inside(*this);
    if (finished_.empty()) {
        if (looked_) sleep_until(now_ + job_.options().look);
        looked_ = true;
        if (finished_.empty()) return false;
    }
    looked_ = false;
    say_what_finished();
    return true;
}

// What that starts may finish others, which are said in the next round.
void Endpoint::say_what_finished() {
    std::vector<Message*> now;
    if (disturbance_ != nullptr)
        now = disturbance_->next(finished_);
    else
        now.swap(finished_);
    for (Message* each : now) each->finished(*each);
}

void Endpoint::finish(Message& message, Message::Outcome outcome) {
    message.outcome = outcome;
    finished_.push_back(&message);
    news_ = true;
}

}  // namespace loom::twin
