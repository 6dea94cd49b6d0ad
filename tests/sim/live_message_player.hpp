// Plays a schedule through the interface for programs that run: each rank begins the operations whose turn has come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "loom/sim/live.hpp"
#include "loom/traffic/playing.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::sim {

// Edges for the start of an operation are not known here, nor are several cores and adapters.
class MessagePrograms : public Programs {
public:
    MessagePrograms(const traffic::Schedule& schedule, const LocalCosts& local)
        : schedule_(schedule),
          local_(local),
          waits_(schedule.size()),
          told_(schedule.size(), never),
          ranks_(schedule.ranks()) {
        for (traffic::OpIndex op = 0; op < schedule.size(); ++op) waits_[op] = schedule.waits_for(op);
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
            ranks_[rank].open = schedule.ops(Rank{rank}).size();
    }
    void play_on(LiveSimulation& simulation) { simulation_ = &simulation; }
    // When the completion of each operation was told.
    [[nodiscard]] const std::vector<Time>& told() const { return told_; }

    void start(Rank rank, Time) override {
        const traffic::OpIndex first = schedule_.first(rank);
        const auto count = static_cast<traffic::OpIndex>(schedule_.ops(rank).size());
        for (traffic::OpIndex op = first; op < first + count; ++op)
            if (waits_[op] == 0) begin(rank, op);
        if (count == 0) simulation_->end(rank);
    }
    void sent(Rank rank, Cookie op, Time now) override { complete(rank, op, now); }
    void received(Rank rank, Cookie op, Time now) override { complete(rank, op, now); }
    void woken(Rank rank, Cookie op, Time now) override { complete(rank, op, now); }
    std::optional<Cookie> arrived(Rank rank, Rank from, LiveMessage message, Cookie send, Time) override {
        const std::uint32_t tag = schedule_.op(static_cast<traffic::OpIndex>(send)).tag;
        auto& posted = ranks_[rank.value].posted;
        const auto found = std::find_if(posted.begin(), posted.end(),
                                        [&](auto receive) { return takes(schedule_.op(receive), from, tag); });
        if (found == posted.end()) {
            ranks_[rank.value].unexpected.push_back({from, tag, message});
            return std::nullopt;
        }
        const Cookie receive = *found;
        posted.erase(found);
        return receive;
    }

private:
    struct Unexpected {
        Rank from;
        std::uint32_t tag;
        LiveMessage message;
    };
    struct RankState {
        std::size_t open = 0;
        std::vector<traffic::OpIndex> posted;
        std::vector<Unexpected> unexpected;
    };

    void begin(Rank rank, traffic::OpIndex index) {
        const traffic::Op& op = schedule_.op(index);
        const auto amount = static_cast<std::int64_t>(op.amount);
        switch (op.kind) {
            case traffic::OpKind::send:
                return simulation_->send(rank, op.peer, op.amount, index, op.sl);
            case traffic::OpKind::receive:
                return begin_receive(rank, index);
            case traffic::OpKind::compute:
                return begin_work(rank, Time{amount}, index);
            case traffic::OpKind::copy:
                return begin_work(rank, local_.step + Time{amount * local_.copy}, index);
            case traffic::OpKind::reduce:
                return begin_work(rank, local_.step + Time{amount * local_.reduce}, index);
        }
    }
    void begin_work(Rank rank, Time duration, traffic::OpIndex index) {
        if (simulation_->work(rank, duration, index)) complete(rank, index, simulation_->now());
    }
    void begin_receive(Rank rank, traffic::OpIndex index) {
        RankState& state = ranks_[rank.value];
        const auto found = std::find_if(state.unexpected.begin(), state.unexpected.end(), [&](const Unexpected& each) {
            return takes(schedule_.op(index), each.from, each.tag);
        });
        if (found == state.unexpected.end()) return state.posted.push_back(index);
        const LiveMessage message = found->message;
        state.unexpected.erase(found);
        if (simulation_->take(rank, message, index)) complete(rank, index, simulation_->now());
    }
    void complete(Rank rank, Cookie cookie, Time now) {
        const auto index = static_cast<traffic::OpIndex>(cookie);
        told_[index] = now;
        for (const traffic::Successor& next : schedule_.successors(index))
            if (--waits_[next.op] == 0) begin(rank, next.op);
        if (--ranks_[rank.value].open == 0) simulation_->end(rank);
    }

    const traffic::Schedule& schedule_;
    LocalCosts local_;
    LiveSimulation* simulation_ = nullptr;
    std::vector<std::uint32_t> waits_;
    std::vector<Time> told_;
    std::vector<RankState> ranks_;
};

}  // namespace loom::sim
