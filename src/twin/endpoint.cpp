#include "twin/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "loom/base/table.hpp"
#include "twin/job.hpp"

namespace loom::twin {

using transport::LocalWork;
using transport::Message;
using transport::RemoteMemory;
using transport::Tag;

namespace {

constexpr std::align_val_t alignment{64};

Message::Outcome outcome_of(const Message& receive, std::uint64_t bytes) {
    return receive.bytes == bytes ? Message::Outcome::done : Message::Outcome::mismatched;
}

}  // namespace

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
    const std::int64_t each = kind == LocalWork::compute ? 1 : kind == LocalWork::copy ? costs.copy : costs.reduce;
    const Time duration{static_cast<std::int64_t>(amount) * each};
    looked_ = false;
    message.outcome = Message::Outcome::done;
    if (job_.simulation().work(me_, duration, reinterpret_cast<sim::Cookie>(&message))) return true;
    const Span::Kind span = kind == LocalWork::copy     ? Span::Kind::copy
                            : kind == LocalWork::reduce ? Span::Kind::reduce
                                                        : Span::Kind::compute;
    account_.work_begins(span, duration, kind == LocalWork::compute ? 0 : amount);
    return false;
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

// ---- messages

Outgoing& Endpoint::new_outgoing(Outgoing::Kind kind) {
    if (free_ == nullptr) {
        all_outgoing_.push_back(std::make_unique<Outgoing>());
        free_ = all_outgoing_.back().get();
        free_->next = nullptr;
    }
    Outgoing& outgoing = *free_;
    free_ = outgoing.next;
    outgoing.next = nullptr;
    outgoing.kind = kind;
    outgoing.from = me_;
    outgoing.sent = outgoing.arrived = outgoing.delivered = outgoing.waits_for_answer = outgoing.notifies = false;
    outgoing.dropped.store(false, std::memory_order_relaxed);
    outgoing.message = nullptr;
    outgoing.answered = nullptr;
    outgoing.data = nullptr;
    outgoing.bytes = 0;
    return outgoing;
}

void Endpoint::let_go(Outgoing& outgoing) {
    outgoing.message = nullptr;
    outgoing.kept.reset();
    outgoing.next = free_;
    free_ = &outgoing;
}

bool Endpoint::post(Rank to, Outgoing& outgoing, std::span<const std::byte> data, Message& message) {
    if (stopping_) throw Stopped("the job was stopped");
    message.outcome = Message::Outcome::pending;
    message.peer = to;
    message.tag = outgoing.tag;
    message.bytes = data.size();
    message.data = reinterpret_cast<std::byte*>(&outgoing);
    outgoing.to = to;
    outgoing.message = &message;
    outgoing.data = data.data();
    outgoing.bytes = data.size();
    outgoing.begun = now_;
    sends_.push(message);
    ++times_.messages;
    times_.bytes += data.size();
    looked_ = false;
    hand_over(outgoing);
    return false;
}

void Endpoint::hand_over(Outgoing& outgoing) {
    if (disturbance_ != nullptr)
        if (const auto due = disturbance_->hold(outgoing, outgoing.to, now_))
            return job_.simulation().wake(me_, *due, held_is_due);
    job_.simulation().send(me_, outgoing.to, outgoing.bytes, reinterpret_cast<sim::Cookie>(&outgoing));
}

void Endpoint::hand_over_held(Time due) {
    if (disturbance_ == nullptr) return;
    while (Outgoing* const each = disturbance_->release(due))
        job_.simulation().send(me_, each->to, each->bytes, reinterpret_cast<sim::Cookie>(each));
}

bool Endpoint::send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    const Inside inside(*this);
    if (job_.is_lost(to)) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    Outgoing& outgoing = new_outgoing(Outgoing::Kind::message);
    outgoing.tag = tag;
    if (messages_overtake()) outgoing.number = order_.number(to);
    return post(to, outgoing, data, message);
}

bool Endpoint::receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) {
    const Inside inside(*this);
    if (stopping_) throw Stopped("the job was stopped");
    looked_ = false;
    message.peer = from;
    message.tag = tag;
    message.data = into.data();
    message.bytes = into.size();
    message.outcome = Message::Outcome::pending;
    if (Early* found = early_.take(from, tag)) {
        const std::unique_ptr<Early> early(found);
        take_early(*early, message);
        if (job_.simulation().take(me_, early->name, reinterpret_cast<sim::Cookie>(&message))) return true;
        ++open_receives_;
        return false;
    }
    if (job_.is_lost(from)) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    receives_.push(message);
    ++open_receives_;
    return false;
}

void Endpoint::take_early(Early& early, Message& receive) {
    receive.outcome = outcome_of(receive, early.bytes);
    if (early.held == nullptr) {
        (early.counted_by_sender ? kept_for(early.peer) : early_bytes_[early.peer.value]) -= early.bytes;
        if (receive.outcome == Message::Outcome::done) memory_.write(receive.data, {early.data.get(), early.bytes});
        return;
    }
    if (early.held->dropped.load(std::memory_order_relaxed))
        receive.outcome = Message::Outcome::lost;
    else if (receive.outcome == Message::Outcome::done)
        bring(*early.held, receive.data);
    answer(*early.held);
}

// Nobody takes a message at a rank that has ended, and none whose data went with its sender.
std::optional<sim::Cookie> Endpoint::arrived(Rank from, sim::LiveMessage name, sim::Cookie send, Time now) {
    Outgoing& outgoing = *reinterpret_cast<Outgoing*>(send);
    now_ = now;
    outgoing.arrived = true;
    if (events_ != nullptr && outgoing.kind != Outgoing::Kind::answer)
        events_->add({outgoing.from, me_, outgoing.begun, now, outgoing.bytes, outgoing.tag});
    if (outgoing.kind != Outgoing::Kind::message) {
        if (outgoing.kind == Outgoing::Kind::put) write(outgoing);
        return send | is_put;
    }
    if (!messages_overtake()) return take_in_turn(outgoing, name);
    if (!order_.is_due(from, outgoing.number)) {
        hold_back(outgoing, name);
        return {};
    }
    const std::optional<sim::Cookie> takes = take_in_turn(outgoing, name);
    if (deliver_late(from) && (!takes || *takes == nobody)) wake_if_resting(now);
    return takes;
}

std::optional<sim::Cookie> Endpoint::take_in_turn(Outgoing& outgoing, sim::LiveMessage name) {
    std::optional<sim::Cookie> takes = nobody;
    if (!outgoing.dropped.load(std::memory_order_relaxed) && !over_) {
        if (Message* receive = receives_.take(outgoing.from, outgoing.tag)) {
            receive->outcome = outcome_of(*receive, outgoing.bytes);
            if (receive->outcome == Message::Outcome::done) bring(outgoing, receive->data);
            if (outgoing.kept != nullptr) kept_for(outgoing.from) -= outgoing.bytes;
            takes = reinterpret_cast<sim::Cookie>(receive);
        } else {
            if (keep_early(outgoing, name)) return {};
            takes.reset();
        }
    }
    if (outgoing.waits_for_answer)
        answer(outgoing);
    else
        was_delivered(outgoing);
    return takes;
}

// Packets that find their own ways: at the packet level alone, so what we have we can take at once.
bool Endpoint::messages_overtake() const {
    return job_.options().level == sim::Level::packet &&
           job_.options().simulation.packet.paths == sim::PathChoice::adaptive;
}

// The sender hears that it is here, so its data is copied; how much of that there can be the network bounds.
void Endpoint::hold_back(Outgoing& outgoing, sim::LiveMessage name) {
    std::unique_ptr<Early> early;
    if (!outgoing.dropped.load(std::memory_order_relaxed)) {
        early = std::make_unique<Early>();
        early->peer = outgoing.from;
        early->tag = outgoing.tag;
        early->bytes = outgoing.bytes;
        early->name = name;
        early->data = std::make_unique_for_overwrite<std::byte[]>(outgoing.bytes);
        bring_here(outgoing, early->data.get());
    }
    order_.hold(outgoing.from, outgoing.number, std::move(early));
    was_delivered(outgoing);
}

// Those that waited for one before them. True: a receive has one.
bool Endpoint::deliver_late(Rank from) {
    bool any = false;
    order_.pass(from, [&](std::unique_ptr<Early> early) {
        if (over_) return;
        early_bytes_[from.value] += early->bytes;
        Message* const receive = receives_.take(from, early->tag);
        if (receive == nullptr) return early_.push(*early.release());
        take_early(*early, *receive);
        if (job_.simulation().take(me_, early->name, reinterpret_cast<sim::Cookie>(receive)))
            finish(*receive, receive->outcome);
        any = true;
    });
    return any;
}

// What exceeds the bound stays with its sender, which hears of it when it is taken. True then.
bool Endpoint::keep_early(Outgoing& outgoing, sim::LiveMessage name) {
    auto early = std::make_unique<Early>();
    early->peer = outgoing.from;
    early->tag = outgoing.tag;
    early->bytes = outgoing.bytes;
    early->name = name;
    std::uint64_t& kept = early_bytes_[outgoing.from.value];
    const bool stays = outgoing.waits_for_answer ||
                       (outgoing.bytes != 0 && !outgoing.sent && kept + outgoing.bytes > job_.options().early_bytes);
    if (stays) {
        outgoing.waits_for_answer = true;
        early->held = &outgoing;
    } else if (outgoing.bytes != 0) {
        early->counted_by_sender = outgoing.kept != nullptr;
        if (!early->counted_by_sender) kept += outgoing.bytes;
        early->data = std::make_unique_for_overwrite<std::byte[]>(outgoing.bytes);
        bring_here(outgoing, early->data.get());
    }
    early_.push(*early.release());
    return stays;
}

// Only the message level keeps anything for a sender, and has one thread.
std::uint64_t& Endpoint::kept_for(Rank sender) {
    return job_.endpoint(sender).kept_bytes_[me_.value];
}

// Its sender may go on.
void Endpoint::answer(Outgoing& outgoing) {
    Outgoing& back = new_outgoing(Outgoing::Kind::answer);
    back.answered = &outgoing;
    back.to = outgoing.from;
    hand_over(back);
}

void Endpoint::bring_here(const Outgoing& outgoing, std::byte* to) {
    if (outgoing.kept != nullptr)
        std::memcpy(to, outgoing.kept.get(), outgoing.bytes);
    else
        job_.endpoint(outgoing.from).memory_.read(outgoing.data, {to, outgoing.bytes});
}

void Endpoint::bring(const Outgoing& outgoing, std::byte* to) {
    if (outgoing.kept != nullptr)
        memory_.write(to, {outgoing.kept.get(), outgoing.bytes});
    else
        copy(job_.endpoint(outgoing.from).memory_, outgoing.data, memory_, to, outgoing.bytes);
}

// By the receiver. At the packet and flow level the sender hears of it later, and lets go then.
void Endpoint::was_delivered(Outgoing& outgoing) {
    outgoing.delivered = true;
    if (outgoing.sent) job_.endpoint(outgoing.from).let_go(outgoing);
}

void Endpoint::received(sim::Cookie receive, Time now) {
    now_ = now;
    if (receive == nobody) return;
    if ((receive & is_put) == 0) {
        Message& message = *reinterpret_cast<Message*>(receive);
        --open_receives_;
        ended_by(message.peer, message.bytes, message.tag);
        finish(message, message.outcome);
        return wake_if_resting(now);
    }
    Outgoing& outgoing = *reinterpret_cast<Outgoing*>(receive & ~is_put);
    if (outgoing.kind == Outgoing::Kind::answer) {
        if (Message* message = outgoing.answered->message) {
            ended_by(message->peer, message->bytes, message->tag);
            finish_send(*message, Message::Outcome::done);
        }
        let_go(*outgoing.answered);
    } else if (outgoing.notifies) {
        ended_by(outgoing.from, outgoing.bytes, outgoing.tag);
        notifications_.push_back({outgoing.from, outgoing.value});
        news_ = true;
    }
    if (outgoing.waits_for_answer)
        answer(outgoing);
    else
        was_delivered(outgoing);
    wake_if_resting(now);
}

void Endpoint::sent(sim::Cookie send, Time now) {
    now_ = now;
    Outgoing& outgoing = *reinterpret_cast<Outgoing*>(send);
    outgoing.sent = true;
    if (!outgoing.arrived && outgoing.bytes != 0 && outgoing.message != nullptr) keep(outgoing);
    if (outgoing.waits_for_answer) return;
    if (Message* message = outgoing.message) {
        ended_by(message->peer, message->bytes, message->tag);
        finish_send(*message, Message::Outcome::done);
    }
    if (outgoing.delivered) let_go(outgoing);
    wake_if_resting(now);
}

// The message level: the adapter has the data before the other rank does. What exceeds the bound stays ours.
void Endpoint::keep(Outgoing& outgoing) {
    std::uint64_t& kept = kept_bytes_[outgoing.to.value];
    if (kept + outgoing.bytes > job_.options().early_bytes) outgoing.waits_for_answer = true;
    if (outgoing.waits_for_answer) return;
    kept += outgoing.bytes;
    outgoing.kept = std::make_unique_for_overwrite<std::byte[]>(outgoing.bytes);
    memory_.read(outgoing.data, {outgoing.kept.get(), outgoing.bytes});
}

void Endpoint::finish_send(Message& message, Message::Outcome outcome) {
    sends_.remove(message);
    finish(message, outcome);
}

void Endpoint::hear_of_losses() {
    news_ = true;
    receives_.take_if([&](const Message& each) { return job_.is_lost(each.peer); },
                      [&](Message& each) {
                          --open_receives_;
                          finish(each, Message::Outcome::lost);
                      });
    for (Message* each = sends_.front(); each != nullptr;) {
        Message& message = *each;
        each = each->next;
        if (!job_.is_lost(message.peer)) continue;
        give_up(*reinterpret_cast<Outgoing*>(message.data));
        finish_send(message, Message::Outcome::lost);
    }
}

// The program may change the data from now on.
void Endpoint::give_up(Outgoing& outgoing) {
    outgoing.message = nullptr;
    if (!outgoing.sent) outgoing.dropped = true;
}

// What the body leaves behind may have lain on its stack: it is not looked at any more.
void Endpoint::leave() {
    times_.end = stopping_ ? never : now_;
    if (!stopping_) account_.close(now_);
    over_ = true;
    for (const auto& each : all_outgoing_)
        if (each->message != nullptr) give_up(*each);
    sends_ = {};
    receives_.clear();
    finished_.clear();
    exposed_.clear();
}

std::optional<Rank> Endpoint::lost() const {
    return job_.first_lost();
}

std::string_view Endpoint::lost_why() const {
    return job_.first_lost_why();
}

bool Endpoint::is_lost(Rank who) const {
    return job_.is_lost(who);
}

// ---- puts

// An RDMA write is over when the target's adapter has acknowledged it, which the message level does not play: there the
// target answers with a message of no bytes.
bool Endpoint::puts_are_answered() const {
    return job_.options().level == sim::Level::message;
}

RemoteMemory Endpoint::expose(std::span<std::byte> memory) {
    const std::uint64_t key = next_key_++;
    exposed_.emplace(key, memory);
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), key};
}

void Endpoint::unexpose(const RemoteMemory& memory) {
    exposed_.erase(memory.key);
}

bool Endpoint::start_put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                         std::optional<std::uint32_t> value, Message& message) {
    const Inside inside(*this);
    if (offset > where.bytes || data.size() > where.bytes - offset)
        throw UsageError(fmt::format("a put of {} bytes at {} goes beyond the {} bytes that rank {} exposed",
                                     data.size(), offset, where.bytes, to.value));
    if (job_.is_lost(to)) {
        message.outcome = Message::Outcome::lost;
        return true;
    }
    Outgoing& outgoing = new_outgoing(Outgoing::Kind::put);
    outgoing.key = where.key;
    outgoing.offset = offset;
    outgoing.notifies = value.has_value();
    outgoing.value = value.value_or(0);
    outgoing.waits_for_answer = puts_are_answered();
    return post(to, outgoing, data, message);
}

bool Endpoint::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                   Message& message) {
    return start_put(to, where, offset, data, {}, message);
}

bool Endpoint::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                          std::uint32_t value, Message& message) {
    return start_put(to, where, offset, data, value, message);
}

void Endpoint::write(const Outgoing& put) {
    if (over_ || put.dropped.load(std::memory_order_relaxed)) return;
    const auto found = exposed_.find(put.key);
    if (found == exposed_.end() || put.offset > found->second.size() || put.bytes > found->second.size() - put.offset)
        throw Error(fmt::format("rank {} put {} bytes into memory that rank {} does not expose (any more)",
                                put.from.value, put.bytes, me_.value));
    bring(put, found->second.data() + put.offset);
}

std::optional<transport::Notification> Endpoint::next_notification() {
    const Inside inside(*this);
    if (notifications_.empty()) return {};
    if (disturbance_ != nullptr) return disturbance_->next(notifications_);
    const transport::Notification first = notifications_.front();
    notifications_.pop_front();
    return first;
}

std::span<std::byte> Endpoint::allocate(std::size_t bytes) {
    auto* const memory = static_cast<std::byte*>(::operator new[](std::max<std::size_t>(bytes, 1), alignment));
    allocated_.emplace(memory, std::unique_ptr<std::byte[], Free>(memory));
    return {memory, bytes};
}

void Endpoint::release(std::span<std::byte> memory) {
    allocated_.erase(memory.data());
}

void Endpoint::Free::operator()(std::byte* memory) const {
    ::operator delete[](memory, alignment);
}

// ---- in words

Endpoint::Awaited Endpoint::awaited() const {
    Awaited result;
    if (over_) return result;
    std::vector<const Message*> receives;
    receives_.visit([&](const Message& each) { receives.push_back(&each); });
    std::sort(receives.begin(), receives.end(), [](const Message* a, const Message* b) {
        return a->peer != b->peer ? a->peer < b->peer : a->tag < b->tag;
    });
    for (const Message* each : receives) result.ranks.push_back(each->peer);
    std::size_t sends = 0;
    for (const Message* each = sends_.front(); each != nullptr; each = each->next, ++sends)
        result.ranks.push_back(each->peer);
    const Message* const first = !receives.empty() ? receives.front() : sends_.front();
    if (first == nullptr) {
        result.text = "waits for a notification, or for nothing that could come";
        return result;
    }
    result.bytes = first->bytes;
    result.tag = first->tag;
    Tag tag = first->tag;
    std::string where;
    if (const OpenOperations::Open* const open = operations_.of(tag)) {
        tag.value -= open->operation.first.value;
        if (!open->what.empty()) where += " in " + open->what;
        if (open->operation.group != 0) where += fmt::format(" on communicator {}", open->operation.group);
    }
    const std::string what = fmt::format("message of {}", counted(first->bytes, "byte", "bytes"));
    result.text =
        !receives.empty()
            ? fmt::format("waits{} for a {} from rank {}, tag {:#x}", where, what, first->peer.value, tag.value)
            : fmt::format("waits{} until rank {} takes a {}, tag {:#x}", where, first->peer.value, what, tag.value);
    const std::size_t others = receives.size() + sends;
    if (others > 1) result.text += fmt::format(", and for {} more", others - 1);
    return result;
}

}  // namespace loom::twin
