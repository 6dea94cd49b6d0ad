// A schedule as programs that run: each rank begins its operations through the live interface when those before them
// are over.
#pragma once

#include <deque>
#include <map>
#include <stdexcept>
#include <vector>

#include "loom/sim/live.hpp"

namespace loom::sim {

// Schedules of one core, without edges on starts and without receives that take anything. An operation's cookie is its
// index. Calls about different ranks may come from different threads.
class ScheduledPrograms final : public Programs {
public:
    ScheduledPrograms(const traffic::Schedule& schedule, const LocalCosts& costs)
        : schedule_(schedule), costs_(costs), ranks_(schedule.ranks()) {
        for (std::size_t i = 0; i < schedule.size(); ++i)
            waits_.push_back(schedule.waits_for(static_cast<traffic::OpIndex>(i)));
        for (std::uint32_t r = 0; r < ranks_.size(); ++r) ranks_[r].open = schedule.ops(Rank{r}).size();
    }
    void play_on(LiveSimulation& simulation) { simulation_ = &simulation; }

    void start(Rank rank, Time) override {
        const traffic::OpIndex first = schedule_.first(rank);
        for (traffic::OpIndex op = first; op < first + schedule_.ops(rank).size(); ++op)
            if (schedule_.waits_for(op) == 0) state(rank).ready.push_back(op);
        drain(rank);
    }
    void sent(Rank rank, Cookie send, Time) override { over(rank, send); }
    std::optional<Cookie> arrived(Rank rank, Rank from, LiveMessage message, Cookie send, Time) override {
        Channel& channel = state(rank).channels[{from.value, op(send).tag}];
        if (channel.posted.empty()) {
            channel.early.push_back(message);
            return {};
        }
        const Cookie receive = channel.posted.front();
        channel.posted.pop_front();
        return receive;
    }
    void received(Rank rank, Cookie receive, Time) override { over(rank, receive); }
    void woken(Rank rank, Cookie what, Time) override { over(rank, what); }

private:
    struct Channel {
        std::deque<Cookie> posted;
        std::deque<LiveMessage> early;
    };
    struct State {
        std::vector<traffic::OpIndex> ready;
        std::map<std::pair<std::uint32_t, std::uint32_t>, Channel> channels;
        std::size_t open = 0;
    };
    [[nodiscard]] State& state(Rank rank) { return ranks_[rank.value]; }
    [[nodiscard]] const traffic::Op& op(Cookie cookie) const {
        return schedule_.op(static_cast<traffic::OpIndex>(cookie));
    }

    void over(Rank rank, Cookie cookie) {
        complete(rank, static_cast<traffic::OpIndex>(cookie));
        drain(rank);
    }
    void complete(Rank rank, traffic::OpIndex index) {
        --state(rank).open;
        for (const traffic::Successor& next : schedule_.successors(index))
            if (--waits_[next.op] == 0) state(rank).ready.push_back(next.op);
    }
    void drain(Rank rank) {
        std::vector<traffic::OpIndex>& ready = state(rank).ready;
        for (std::size_t i = 0; i < ready.size(); ++i)
            if (begin(rank, ready[i])) complete(rank, ready[i]);
        ready.clear();
        if (state(rank).open == 0) simulation_->end(rank);
    }
    // True: over at once.
    [[nodiscard]] bool begin(Rank rank, traffic::OpIndex index) {
        const traffic::Op& what = op(index);
        const auto amount = static_cast<std::int64_t>(what.amount);
        switch (what.kind) {
            case traffic::OpKind::compute:
                return simulation_->work(rank, Time{amount}, index);
            case traffic::OpKind::copy:
                return simulation_->work(rank, costs_.step + Time{amount * costs_.copy}, index);
            case traffic::OpKind::reduce:
                return simulation_->work(rank, costs_.step + Time{amount * costs_.reduce}, index);
            case traffic::OpKind::receive: {
                Channel& channel = state(rank).channels[{what.peer.value, what.tag}];
                if (channel.early.empty()) {
                    channel.posted.push_back(index);
                    return false;
                }
                const LiveMessage message = channel.early.front();
                channel.early.pop_front();
                return simulation_->take(rank, message, index);
            }
            case traffic::OpKind::send:
                simulation_->send(rank, what.peer, what.amount, index, what.sl);
                return false;
        }
        throw std::logic_error("no such operation");
    }

    const traffic::Schedule& schedule_;
    LocalCosts costs_;
    LiveSimulation* simulation_ = nullptr;
    std::vector<std::uint32_t> waits_;  // by operation: edges still open
    std::vector<State> ranks_;
};

// The schedule on one core a rank, without edges on starts; a receive that takes anything becomes a short computation.
inline traffic::Schedule only_what_runs(const traffic::Schedule& schedule) {
    traffic::ScheduleBuilder builder(schedule.ranks());
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
        const traffic::OpIndex first = schedule.first(Rank{r});
        for (traffic::Op op : schedule.ops(Rank{r})) {
            op.cpu = op.nic = 0;
            if (op.kind == traffic::OpKind::receive && (op.peer == traffic::any_rank || op.tag == traffic::any_tag))
                op = {.amount = 777, .peer = {}, .kind = traffic::OpKind::compute};
            builder.add(Rank{r}, op);
        }
        for (std::uint32_t i = 0; i < schedule.ops(Rank{r}).size(); ++i)
            for (const traffic::Successor& next : schedule.successors(first + i))
                if (!next.on_start) builder.require(Rank{r}, next.op - first, i);
    }
    return builder.build();
}

}  // namespace loom::sim
