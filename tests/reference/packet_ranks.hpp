// Ranks that run a schedule, looked at with lists alone: what may begin, what a completion leads to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "loom/sim/options.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::reference {

class Ranks {
public:
    using OpIndex = traffic::OpIndex;

    Ranks(const traffic::Schedule& schedule, const sim::LocalCosts& costs) : schedule_(schedule), costs_(costs) {
        for (OpIndex op = 0; op < schedule.size(); ++op) waits_.push_back(schedule.waits_for(op));
        for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
            open_.push_back(schedule.ops(Rank{r}).size());
            ends_.push_back(open_[r] == 0 ? Time{} : never);
            for (OpIndex i = 0; i < schedule.ops(Rank{r}).size(); ++i) {
                rank_of_.push_back(r);
                const traffic::Op& op = schedule.ops(Rank{r})[i];
                if (op.kind != traffic::OpKind::send) continue;
                sim::Flow& flow = flows_[{r, op.peer.value}];
                flow.from = Rank{r};
                flow.to = op.peer;
                flow.bytes += op.amount;
            }
        }
    }

    std::function<void(OpIndex send, std::int64_t now)> begin_send;
    std::function<void(OpIndex op, std::int64_t at)> wake_at;

    [[nodiscard]] std::uint32_t rank(OpIndex op) const { return rank_of_[op]; }

    void start(std::uint32_t rank, std::int64_t now) {
        std::vector<OpIndex> ready;
        for (OpIndex i = 0; i < schedule_.ops(Rank{rank}).size(); ++i)
            if (schedule_.waits_for(schedule_.first(Rank{rank}) + i) == 0)
                ready.push_back(schedule_.first(Rank{rank}) + i);
        run(ready, now);
    }
    void done(OpIndex op, std::int64_t now) {
        std::vector<OpIndex> ready;
        complete(op, now, ready);
        run(ready, now);
    }
    void arrived(OpIndex send, std::int64_t now) {
        const std::uint32_t to = schedule_.op(send).peer.value;
        std::vector<OpIndex>& posted = posted_[to];
        const auto taker =
            std::find_if(posted.begin(), posted.end(), [&](OpIndex receive) { return matches(receive, send); });
        if (taker == posted.end()) {
            early_[to].push_back(send);
            return;
        }
        const OpIndex receive = *taker;
        posted.erase(taker);
        done(receive, now);
    }
    void delivered(OpIndex send, std::uint64_t bytes, std::int64_t now) {
        sim::Flow& flow = flows_.at({rank(send), schedule_.op(send).peer.value});
        flow.delivered += bytes;
        last_[{flow.from.value, flow.to.value}] = Time{now};
    }

    [[nodiscard]] std::vector<sim::Flow> flows() const {
        std::vector<sim::Flow> flows;
        for (auto [pair, flow] : flows_) {
            if (flow.delivered == flow.bytes && last_.contains(pair)) flow.ended = last_.at(pair);
            flows.push_back(flow);
        }
        return flows;
    }
    [[nodiscard]] const std::vector<Time>& ends() const { return ends_; }
    [[nodiscard]] bool finished() const {
        return std::all_of(open_.begin(), open_.end(), [](std::size_t open) { return open == 0; });
    }

private:
    [[nodiscard]] bool matches(OpIndex receive, OpIndex send) const {
        const traffic::Op& r = schedule_.op(receive);
        const traffic::Op& s = schedule_.op(send);
        return (r.peer == traffic::any_rank || r.peer.value == rank(send)) &&
               (r.tag == traffic::any_tag || r.tag == s.tag);
    }
    void complete(OpIndex op, std::int64_t now, std::vector<OpIndex>& ready) {
        if (--open_[rank(op)] == 0) ends_[rank(op)] = Time{now};
        for (const traffic::Successor& next : schedule_.successors(op))
            if (!next.on_start && --waits_[next.op] == 0) ready.push_back(next.op);
    }
    void run(std::vector<OpIndex> ready, std::int64_t now) {
        for (std::size_t i = 0; i < ready.size(); ++i) {
            const OpIndex index = ready[i];
            const traffic::Op& op = schedule_.op(index);
            for (const traffic::Successor& next : schedule_.successors(index))
                if (next.on_start && --waits_[next.op] == 0) ready.push_back(next.op);
            if (op.kind == traffic::OpKind::send) {
                sim::Flow& flow = flows_.at({rank(index), op.peer.value});
                flow.begun = std::min(flow.begun, Time{now});
                begin_send(index, now);
            } else if (op.kind == traffic::OpKind::receive) {
                std::vector<OpIndex>& early = early_[rank(index)];
                const auto message =
                    std::find_if(early.begin(), early.end(), [&](OpIndex send) { return matches(index, send); });
                if (message == early.end()) {
                    posted_[rank(index)].push_back(index);
                } else {
                    early.erase(message);
                    complete(index, now, ready);
                }
            } else {
                const auto amount = static_cast<std::int64_t>(op.amount);
                std::int64_t& free = core_free_[{rank(index), op.cpu}];
                free = std::max(free, now) + (op.kind == traffic::OpKind::compute ? amount
                                              : op.kind == traffic::OpKind::copy
                                                  ? costs_.step.ps + amount * costs_.copy
                                                  : costs_.step.ps + amount * costs_.reduce);
                if (free == now)
                    complete(index, now, ready);
                else
                    wake_at(index, free);
            }
        }
    }

    const traffic::Schedule& schedule_;
    sim::LocalCosts costs_;
    std::vector<std::uint32_t> waits_;
    std::vector<std::uint32_t> rank_of_;
    std::vector<std::size_t> open_;
    std::vector<Time> ends_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, sim::Flow> flows_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Time> last_;
    std::map<std::uint32_t, std::vector<OpIndex>> posted_;  // by rank
    std::map<std::uint32_t, std::vector<OpIndex>> early_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> core_free_;
};

}  // namespace loom::reference
