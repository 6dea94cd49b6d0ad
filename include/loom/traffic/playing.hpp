// What everything that plays a schedule has to agree on: which message a receive takes, who begins first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "loom/traffic/schedule.hpp"

namespace loom::traffic {

[[nodiscard]] inline bool takes(const Op& receive, Rank from, std::uint32_t tag) {
    return (receive.peer == from || receive.peer == any_rank) && (receive.tag == tag || receive.tag == any_tag);
}
[[nodiscard]] inline bool takes_anything(const Op& op) {
    return op.kind == OpKind::receive && (op.peer == any_rank || op.tag == any_tag);
}

// Puts operations that become free at one moment into the order in which LogGOPSim begins them: rank by rank, sends
// before receives before the rest, those alike as they are. Few are sorted without memory of the heap.
template <class Ops, class RankOf>
void order_freed(Ops& freed, const Schedule& schedule, RankOf rank_of) {
    const auto order = [&](OpIndex op) {
        const OpKind kind = schedule.op(op).kind;
        return std::uint64_t{rank_of(op)} << 2 | (kind == OpKind::send ? 0u : kind == OpKind::receive ? 1u : 2u);
    };
    constexpr std::size_t few = 32;
    if (freed.size() > few) {
        const auto is_before = [&](OpIndex a, OpIndex b) { return order(a) < order(b); };
        if (!std::is_sorted(freed.begin(), freed.end(), is_before))
            std::stable_sort(freed.begin(), freed.end(), is_before);
        return;
    }
    for (std::size_t i = 1; i < freed.size(); ++i)
        for (std::size_t at = i; at > 0 && order(freed[at]) < order(freed[at - 1]); --at)
            std::swap(freed[at], freed[at - 1]);
}

// What is to be said of a schedule that does not end: a line for each operation in `waiting` (20 at most, and how many
// more) and how many messages no receive takes.
[[nodiscard]] std::vector<std::string> trouble_text(const Schedule& schedule, const std::vector<OpIndex>& waiting,
                                                    std::uint64_t untaken);

}  // namespace loom::traffic
