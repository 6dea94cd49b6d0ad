// A program that does one rank's part of a schedule through its transport, with real data: each operation begins when
// those before it are over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "conformance/kit.hpp"
#include "loom/base/clock.hpp"
#include "loom/traffic/schedule.hpp"
#include "loom/transport/transport.hpp"

namespace loom::twin {

// Of schedules of one core, without edges on starts and receives that take anything, in which what has one tag has one
// length. Throws when a message is not the one that the schedule says.
class SchedulePlayer {
public:
    // What ended, and when.
    struct Event {
        traffic::OpIndex op;
        Time at;
        friend bool operator==(const Event&, const Event&) = default;
    };

    SchedulePlayer(const traffic::Schedule& schedule, transport::Transport& transport)
        : schedule_(schedule),
          transport_(transport),
          rank_(transport.rank()),
          first_(schedule.first(rank_)),
          open_(schedule.ops(rank_).size()),
          steps_(open_) {
        for (traffic::OpIndex number = 0; number < steps_.size(); ++number) {
            Step& step = steps_[number];
            step.waits = schedule.waits_for(first_ + number);
            step.message.owner = this;
            step.message.index = number;
            step.message.finished = [](transport::Message& message) {
                SchedulePlayer& player = *static_cast<SchedulePlayer*>(message.owner);
                player.over(message.index);
                player.drain();
            };
        }
    }
    SchedulePlayer(const SchedulePlayer&) = delete;
    SchedulePlayer& operator=(const SchedulePlayer&) = delete;

    void play() {
        for (std::uint32_t number = 0; number < steps_.size(); ++number)
            if (steps_[number].waits == 0) ready_.push_back(number);
        drain();
        while (open_ != 0)
            if (!transport_.progress()) transport_.rest();
    }

    [[nodiscard]] const std::vector<Event>& trace() const { return trace_; }

private:
    struct Step {
        std::uint32_t waits = 0;
        std::uint64_t content = 0;
        transport::Message message;
        conformance::Bytes data;
    };
    using Channel = std::pair<std::uint32_t, std::uint32_t>;  // peer and tag

    [[nodiscard]] const traffic::Op& op(std::uint32_t number) const { return schedule_.op(first_ + number); }
    static std::uint64_t content_of(Rank from, Rank to, std::uint32_t tag, std::uint64_t number) {
        return ((std::uint64_t{from.value} << 16 | to.value) << 8 | tag) << 24 | number;
    }

    void drain() {
        for (std::size_t i = 0; i < ready_.size(); ++i) {
            const std::uint32_t number = ready_[i];
            if (begin(number)) over(number);
        }
        ready_.clear();
    }
    // True: over at once.
    [[nodiscard]] bool begin(std::uint32_t number) {
        const traffic::Op& what = op(number);
        Step& step = steps_[number];
        const transport::Tag tag{what.tag};
        switch (what.kind) {
            case traffic::OpKind::compute:
                return transport_.work(transport::LocalWork::compute, what.amount, step.message);
            case traffic::OpKind::copy:
                return transport_.work(transport::LocalWork::copy, what.amount, step.message);
            case traffic::OpKind::reduce:
                return transport_.work(transport::LocalWork::reduce, what.amount, step.message);
            case traffic::OpKind::send:
                step.content = content_of(rank_, what.peer, what.tag, sent_[{what.peer.value, what.tag}]++);
                step.data = conformance::content(step.content, what.amount);
                return transport_.send(what.peer, tag, step.data, step.message);
            case traffic::OpKind::receive:
                step.content = content_of(what.peer, rank_, what.tag, received_[{what.peer.value, what.tag}]++);
                step.data.resize(what.amount);
                return transport_.receive(what.peer, tag, step.data, step.message);
        }
        throw std::logic_error("no such operation");
    }
    void over(std::uint32_t number) {
        Step& step = steps_[number];
        trace_.push_back({first_ + number, now()});
        conformance::require(step.message.outcome == transport::Message::Outcome::done,
                             "operation " + std::to_string(number) + " did not end well");
        if (op(number).kind == traffic::OpKind::receive)
            conformance::require(step.data == conformance::content(step.content, op(number).amount),
                                 "operation " + std::to_string(number) + " received something else");
        std::fill(step.data.begin(), step.data.end(), std::byte{0xee});  // a sender may change its data now
        --open_;
        for (const traffic::Successor& next : schedule_.successors(first_ + number))
            if (--steps_[next.op - first_].waits == 0) ready_.push_back(next.op - first_);
    }

    const traffic::Schedule& schedule_;
    transport::Transport& transport_;
    Rank rank_;
    traffic::OpIndex first_;
    std::size_t open_;
    std::deque<Step> steps_;  // where they are they stay
    std::vector<std::uint32_t> ready_;
    std::map<Channel, std::uint64_t> sent_, received_;
    std::vector<Event> trace_;
};

}  // namespace loom::twin
