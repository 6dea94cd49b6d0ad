// Of Endpoint: messages from their send to their receive, and what becomes of them when a rank is lost.
#include "twin/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "twin/job.hpp"

namespace loom::twin {

using transport::Message;
using transport::Tag;

namespace {

Message::Outcome outcome_of(const Message& receive, std::uint64_t bytes) {
    return receive.bytes == bytes ? Message::Outcome::done : Message::Outcome::mismatched;
}

}  // namespace

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
    outgoing.refused = false;
    outgoing.into = {};
    outgoing.atomic.reset();
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
    if (outgoing.kind == Outgoing::Kind::fetch) read(outgoing, back);
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
            if (outgoing.kept != nullptr)
                memory_.write(outgoing.answered->into.data(), {outgoing.kept.get(), outgoing.bytes});
            finish_send(*message, outgoing.refused ? Message::Outcome::lost : Message::Outcome::done);
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

}  // namespace loom::twin
