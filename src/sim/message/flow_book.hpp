// The account of every pair of ranks, when it is wanted.
#pragma once

#include <algorithm>
#include <vector>

#include "loom/sim/simulation.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::sim {

// 48 bytes a pair; a message costs a binary search among its sender's peers.
class FlowBook {
public:
    FlowBook() = default;
    explicit FlowBook(const traffic::Schedule& schedule) {
        first_.push_back(0);
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
            const std::size_t begin = flows_.size();
            for (const traffic::Op& op : schedule.ops(Rank{rank}))
                if (op.kind == traffic::OpKind::send)
                    flows_.push_back({Rank{rank}, op.peer, op.amount, 0, never, Time{}});
            const auto mine = flows_.begin() + static_cast<std::ptrdiff_t>(begin);
            std::sort(mine, flows_.end(), [](const Flow& a, const Flow& b) { return a.to < b.to; });
            auto last = mine;
            for (auto flow = mine; flow != flows_.end(); ++flow) {
                if (flow == mine) continue;
                if (flow->to == last->to)
                    last->bytes += flow->bytes;
                else
                    *++last = *flow;
            }
            if (mine != flows_.end()) flows_.erase(last + 1, flows_.end());
            first_.push_back(flows_.size());
        }
        open_.resize(flows_.size());
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
            for (const traffic::Op& op : schedule.ops(Rank{rank}))
                if (op.kind == traffic::OpKind::send) ++open_[find(Rank{rank}, op.peer)];
    }

    void begun(Rank from, Rank to, Time when) {
        Flow& flow = flows_[find(from, to)];
        flow.begun = std::min(flow.begun, when);
    }
    void arrived(Rank from, Rank to, std::uint64_t bytes, Time last_byte) {
        const std::size_t index = find(from, to);
        flows_[index].delivered += bytes;
        flows_[index].ended = std::max(flows_[index].ended, last_byte);
        --open_[index];
    }
    [[nodiscard]] std::vector<Flow> flows() const {
        std::vector<Flow> result = flows_;
        for (std::size_t i = 0; i < result.size(); ++i)
            if (open_[i] != 0) result[i].ended = never;
        return result;
    }

private:
    [[nodiscard]] std::size_t find(Rank from, Rank to) const {
        const auto begin = flows_.begin() + static_cast<std::ptrdiff_t>(first_[from.value]);
        const auto end = flows_.begin() + static_cast<std::ptrdiff_t>(first_[from.value + 1]);
        const auto flow = std::lower_bound(begin, end, to, [](const Flow& a, Rank b) { return a.to < b; });
        return static_cast<std::size_t>(flow - flows_.begin());
    }

    std::vector<std::size_t> first_;   // by rank, and the end
    std::vector<Flow> flows_;          // `ended`: of the last message so far
    std::vector<std::uint32_t> open_;  // messages that have not arrived
};

}  // namespace loom::sim
