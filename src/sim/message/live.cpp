#include "sim/message/live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "loom/base/error.hpp"
#include "sim/engines.hpp"

namespace loom::sim {

using model::per_byte;

namespace {

// No event is later, and nothing takes longer than a quarter of it, so that sums of a few do not run over.
constexpr Time longest{4'000'000'000'000'000'000};

}  // namespace

LiveMessageEngine::Turn::Turn(LiveMessageEngine& engine, std::uint32_t rank) : engine_(engine) {
    engine.sends_.clear();
    engine.takes_.clear();
    engine.works_.clear();
    engine.caller_ = rank;
}

LiveMessageEngine::LiveMessageEngine(std::uint32_t ranks, Programs& programs, const Options& options)
    : programs_(&programs),
      p_(options.message.parameters),
      most_bytes_(static_cast<std::uint64_t>(longest.ps / 4 / std::max({p_.G, p_.O, std::int64_t{1}}))),
      keep_flows_(options.message.flows) {
    if (p_.L.ps < 0 || p_.o.ps < 0 || p_.g.ps < 0 || p_.G < 0 || p_.O < 0)
        throw UsageError("parameters of LogGOPS must not be negative");
    if (std::max({p_.L, p_.o, p_.g}).ps > longest.ps / 8)
        throw UsageError("L, o and g must be below 5 days, so that times fit their numbers");
    if (options.message.handshake) throw UsageError("programs are not simulated with handshakes");
    ranks_.resize(ranks);
    ends_.resize(ranks, never);
    records_.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) put(Time{}, new_record(Kind::start, rank, 0), rank);
}

State LiveMessageEngine::advance(Time until) {
    if (caller_ != none) throw UsageError("a simulation cannot be advanced by what it calls");
    while (!queue_.empty()) {
        const Time time{queue_.next_time()};
        if (time > until) {
            now_ = std::max(now_, until);
            return State::running;
        }
        now_ = time;
        look_ahead();
        play(queue_.take());
    }
    for (const RankState& rank : ranks_) now_ = std::max(now_, rank.core);
    return ended_ == ranks_.size() ? State::finished : State::stuck;
}

// What an event touches lies all over memory, and waiting for it would take much of the time.
void LiveMessageEngine::look_ahead() const {
    constexpr std::size_t far = 12, near = 6;
    if (const Event* const event = queue_.peek(far)) {
        __builtin_prefetch(&records_[event->record], 1);
        __builtin_prefetch(&ranks_[event->rank], 1);
    }
    if (!queue_.is_new()) return;
    for (std::size_t i = 0; i < near; ++i)
        if (const Event* const event = queue_.peek(i)) __builtin_prefetch(&records_[event->record], 1);
}

void LiveMessageEngine::put(Time when, Index record, std::uint32_t rank) {
    if (when > longest) throw Error("the programs run longer than 46 days, which is all that can be simulated");
    queue_.push(when.ps, {++numbers_ << index_bits, record, rank});
}

LiveMessageEngine::Index LiveMessageEngine::new_record(Kind kind, std::uint32_t rank, Cookie cookie) {
    Index index = unused_;
    if (index != none) {
        unused_ = records_[index].next;
    } else {
        if (records_.size() >= none) throw Error("more than 4,294,967,294 messages and calls are under way at once");
        index = static_cast<Index>(records_.size());
        records_.emplace_back();
    }
    Record& record = records_[index];
    record.cookie = cookie;
    record.rank = rank;
    record.next = none;
    record.kind = kind;
    record.waits = false;
    return index;
}

void LiveMessageEngine::free_record(Index index) {
    records_[index].kind = Kind::unused;
    records_[index].next = unused_;
    unused_ = index;
}

void LiveMessageEngine::play(const Event& event) {
    switch (records_[event.record].kind) {
        case Kind::work:
            play_work(event);
            break;
        case Kind::send:
            play_send(event);
            break;
        case Kind::flight:
            return play_arrival(event);
        default:
            return play_calls(event);
    }
    put_wakes();
}

void LiveMessageEngine::play_calls(const Event& event) {
    const Turn turn(*this, event.rank);
    const Rank rank{event.rank};
    for (Index index = event.record; index != none;) {
        const Record call = records_[index];
        free_record(index);
        index = call.next;
        switch (call.kind) {
            case Kind::start:
                programs_->start(rank, now_);
                break;
            case Kind::sent:
                programs_->sent(rank, call.cookie, now_);
                break;
            case Kind::received:
                programs_->received(rank, call.cookie, now_);
                break;
            default:
                programs_->woken(rank, call.cookie, now_);
        }
    }
    play_begun(event.number);
}

// What the calls of an event with that number have begun.
void LiveMessageEngine::play_begun(std::uint64_t number) {
    const std::size_t count = sends_.size() + takes_.size() + works_.size();
    if (count == 0) return;
    const std::uint32_t rank = caller_;
    number = std::max(number, ranks_[rank].last + 1);
    if ((number + count) >> index_bits != number >> index_bits)
        throw Error("a rank begins more than 16,777,215 operations at one moment");
    ranks_[rank].last = number + count - 1;
    for (const Index index : sends_) {
        play_send({number++, index, rank});
        put_wakes();
    }
    for (const auto& [message, receive] : takes_) {
        ++number;
        match(message, receive);
        put_wakes();
    }
    for (const Index index : works_) {
        play_work({number++, index, rank});
        put_wakes();
    }
}

void LiveMessageEngine::play_work(const Event& event) {
    Record& work = records_[event.record];
    RankState& rank = ranks_[event.rank];
    Queue& queue = rank.waiting[for_work];
    const bool waited = work.waits;
    if (!claim(queue, rank.core, event)) return;
    rank.core = now_ + Time{static_cast<std::int64_t>(work.amount)};
    if (waited) call_next(queue, rank.core, event.rank);
    work.kind = Kind::woken;
    complete(event.record);
}

void LiveMessageEngine::play_send(const Event& event) {
    Record& message = records_[event.record];
    RankState& rank = ranks_[event.rank];
    Queue& queue = rank.waiting[for_send];
    const bool waited = message.waits;
    if (!claim(queue, std::max(rank.core, rank.out), event)) return;
    rank.core = now_ + p_.o + per_byte(p_.O, message.amount);
    rank.out = now_ + p_.g + per_byte(p_.G, message.amount);
    if (waited) call_next(queue, std::max(rank.core, rank.out), event.rank);
    if (keep_flows_) book_.begun(Rank{event.rank}, Rank{message.peer}, message.amount, now_);
    message.kind = Kind::flight;
    put(now_ + p_.o + p_.L, event.record, message.peer);
    if (!is_large(message)) complete(new_record(Kind::sent, event.rank, message.cookie));
}

void LiveMessageEngine::play_arrival(const Event& event) {
    Record& message = records_[event.record];
    RankState& rank = ranks_[event.rank];
    Queue& queue = rank.waiting[for_arrival];
    const bool waited = message.waits;
    if (!claim(queue, std::max(rank.core, rank.in), event)) return;
    rank.core = now_ + p_.o + per_byte(std::max(p_.O, p_.G), message.amount);
    rank.in = now_ + p_.g + per_byte(p_.G, message.amount);
    if (waited) call_next(queue, std::max(rank.core, rank.in), event.rank);
    delivered_ += message.amount;
    const Rank from{message.rank}, to{event.rank};
    if (keep_flows_) book_.arrived(from, to, message.amount, now_ + per_byte(p_.G, message.amount));

    const Turn turn(*this, event.rank);
    const auto receive = programs_->arrived(to, from, LiveMessage{event.record}, message.cookie, now_);
    if (receive) {
        match(event.record, *receive);
        put_wakes();
    } else {
        records_[event.record].kind = Kind::untaken;  // only now: arrived() answers, and does not take
        ++rank.untaken;
    }
    play_begun(event.number);
}

// The message's record becomes the call of its receive.
void LiveMessageEngine::match(Index index, Cookie receive) {
    const Record message = records_[index];
    if (is_large(message)) {
        RankState& sender = ranks_[message.rank];
        sender.core = std::max(sender.core, now_);
        sender.out = std::max(sender.out, now_);
        complete(new_record(Kind::sent, message.rank, message.cookie));
    }
    records_[index].kind = Kind::received;
    records_[index].cookie = receive;
    records_[index].rank = message.peer;
    complete(index);
}

// Whether an event may go on; otherwise it waits. What it waits for is free at `free`.
bool LiveMessageEngine::claim(Queue& queue, Time free, const Event& event) {
    Record& record = records_[event.record];
    if (record.waits) {
        assert(queue.head == event.record);
        if (free > now_) {
            queue_.push(free.ps, event);
            return false;
        }
        queue.head = record.next;
        record.next = none;
        record.waits = false;
        return true;
    }
    if (free <= now_ && queue.empty()) return true;
    record.waits = true;
    record.number = event.number;
    if (queue.empty()) {
        queue.head = event.record;
        queue_.push(free.ps, event);
    } else {
        assert(records_[queue.tail].number < event.number);
        records_[queue.tail].next = event.record;
    }
    queue.tail = event.record;
    return false;
}

void LiveMessageEngine::call_next(const Queue& queue, Time free, std::uint32_t rank) {
    if (queue.empty()) return;
    queue_.push(std::max(free, now_).ps, {records_[queue.head].number, queue.head, rank});
}

void LiveMessageEngine::complete(Index call) {
    completed_[completed_count_++] = call;
}

// At most two calls follow from an event: both ends of a message.
void LiveMessageEngine::put_wakes() {
    const unsigned count = std::exchange(completed_count_, 0);
    if (count == 0) return;
    Index first = completed_[0];
    const auto put_wake = [&](Index call) {
        const std::uint32_t rank = records_[call].rank;
        put(std::max(ranks_[rank].core, now_), call, rank);
    };
    if (count == 2) {
        Index second = completed_[1];
        if (records_[first].rank == records_[second].rank) {
            records_[first].next = second;
        } else {
            if (records_[second].rank < records_[first].rank) std::swap(first, second);
            put_wake(first);
            first = second;
        }
    }
    put_wake(first);
}

void LiveMessageEngine::check(Rank rank) const {
    if (rank.value != caller_) throw UsageError("operations are begun by their own rank, while its program is called");
    if (ranks_[caller_].ended) throw UsageError(fmt::format("rank {} has ended and begins something", rank.value));
}

void LiveMessageEngine::send(Rank from, Rank to, std::uint64_t bytes, Cookie send, std::uint8_t) {
    check(from);
    if (to.value >= ranks_.size())
        throw UsageError(fmt::format("rank {} sends to rank {} of {}", from.value, to.value, ranks_.size()));
    if (bytes > most_bytes_) throw Error(fmt::format("a message of {} bytes takes longer than 11 days", bytes));
    const Index index = new_record(Kind::send, from.value, send);
    records_[index].amount = bytes;
    records_[index].peer = to.value;
    sends_.push_back(index);
}

bool LiveMessageEngine::take(Rank rank, LiveMessage message, Cookie receive) {
    check(rank);
    if (message.value >= records_.size() || records_[message.value].kind != Kind::untaken ||
        records_[message.value].peer != rank.value)
        throw UsageError(fmt::format("rank {} takes a message that does not wait for it", rank.value));
    records_[message.value].kind = Kind::taken;
    --ranks_[rank.value].untaken;
    takes_.emplace_back(message.value, receive);
    return false;
}

bool LiveMessageEngine::work(Rank rank, Time duration, Cookie what) {
    check(rank);
    if (duration < Time{}) throw UsageError("work must not take less than no time");
    if (duration.ps > longest.ps / 4) throw Error("work of more than 11 days is not simulated");
    const Index index = new_record(Kind::work, rank.value, what);
    records_[index].amount = static_cast<std::uint64_t>(duration.ps);
    works_.push_back(index);
    return false;
}

void LiveMessageEngine::wake(Rank rank, Time at, Cookie what) {
    if (caller_ != none) check(rank);
    if (at < now_) throw UsageError("a rank cannot be woken in the past");
    put(at, new_record(Kind::woken, rank.value, what), rank.value);
}

void LiveMessageEngine::end(Rank rank) {
    check(rank);
    ranks_[rank.value].ended = true;
    ends_[rank.value] = now_;
    ++ended_;
}

std::vector<std::string> LiveMessageEngine::trouble() const {
    constexpr std::size_t most_lines = 20;
    std::vector<std::string> lines;
    if (!queue_.empty()) return lines;
    const std::size_t open = ranks_.size() - ended_;
    const std::size_t told = open <= most_lines ? open : most_lines - 1;
    for (std::uint32_t rank = 0; rank < ranks_.size() && lines.size() < told; ++rank) {
        if (ranks_[rank].ended) continue;
        const std::uint32_t untaken = ranks_[rank].untaken;
        lines.push_back(fmt::format("rank {} has not ended and waits for nothing that will come", rank));
        if (untaken > 0)
            lines.back() += fmt::format("; it has not taken {} message{}", untaken, untaken == 1 ? "" : "s");
    }
    if (open > told) lines.push_back(fmt::format("and {} more ranks", open - told));
    return lines;
}

std::unique_ptr<LiveSimulation> make_live_message_simulation(std::uint32_t ranks, Programs& programs,
                                                             const Options& options) {
    return std::make_unique<LiveMessageEngine>(ranks, programs, options);
}

}  // namespace loom::sim
