#include "routing/reach.hpp"

#include <algorithm>
#include <ranges>

namespace loom::routing {

Reach::Reach(const Tree& tree, Direction direction)
    : first_(tree.graph().switch_count(), 0), count_(tree.graph().switch_count(), 0) {
    std::vector<std::uint32_t> position(tree.graph().switch_count(), none);
    const auto add = [&](SwitchIndex s) {
        first_[s] = all_.size();
        const auto meet = [&](SwitchIndex x, std::uint32_t hops) {
            if (position[x] == none) {
                position[x] = static_cast<std::uint32_t>(all_.size() - first_[s]);
                all_.push_back({x, hops});
            } else {
                Reached& known = all_[first_[s] + position[x]];
                known.hops = std::min(known.hops, hops);
            }
        };
        for (const Cable& cable : direction == Direction::up ? tree.up(s) : tree.down(s)) {
            if (cable.number != 0) continue;
            meet(cable.other, 1);
            for (std::size_t i = first_[cable.other]; i < first_[cable.other] + count_[cable.other]; ++i) {
                const Reached beyond = all_[i];  // a copy: meet may move the array
                meet(beyond.sw, beyond.hops + 1);
            }
        }
        count_[s] = static_cast<std::uint32_t>(all_.size() - first_[s]);
        for (const Reached& r : of(s)) position[r.sw] = none;
    };
    if (direction == Direction::up)
        for (const SwitchIndex s : tree.top_down()) add(s);
    else
        for (const SwitchIndex s : tree.top_down() | std::views::reverse) add(s);
}

bool every_root_covers_every_leaf(const Tree& tree, const Reach& below) {
    std::size_t leaves = 0;
    for (SwitchIndex s = 0; s < tree.graph().switch_count(); ++s) leaves += tree.level(s) == 0;
    for (SwitchIndex s = 0; s < tree.graph().switch_count(); ++s) {
        if (!tree.up(s).empty() || tree.level(s) == 0) continue;
        const auto covered = below.of(s);
        if (static_cast<std::size_t>(std::count_if(covered.begin(), covered.end(),
                                                   [&](const Reached& r) { return tree.level(r.sw) == 0; })) != leaves)
            return false;
    }
    return true;
}

void up_down_hops(const Tree& tree, const Reach& above, SwitchIndex to, std::span<std::uint8_t> hops) {
    std::fill(hops.begin(), hops.end(), unreachable);
    hops[to] = 0;
    for (const Reached& ancestor : above.of(to))
        hops[ancestor.sw] = static_cast<std::uint8_t>(std::min<std::uint32_t>(ancestor.hops, unreachable - 1));
    for (const SwitchIndex s : tree.top_down()) {
        unsigned best = hops[s];
        if (best != unreachable) continue;  // it can go down: the only way that never turns up again
        for (const Cable& cable : tree.up(s)) best = std::min(best, hops[cable.other] + 1u);
        hops[s] = static_cast<std::uint8_t>(std::min<unsigned>(best, unreachable));
    }
}

}  // namespace loom::routing
