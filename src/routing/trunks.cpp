#include "routing/trunks.hpp"

#include <algorithm>
#include <tuple>

namespace loom::routing {

Trunks::Trunks(const Tree& tree, const Targets& targets) {
    const std::span<const Target> all = targets.all();
    const SwitchGraph& graph = tree.graph();
    std::vector<unsigned> height(graph.switch_count());  // the highest level that can be reached going up
    for (const SwitchIndex s : tree.top_down()) {
        height[s] = tree.level(s);
        for (const Cable& cable : tree.up(s)) height[s] = std::max(height[s], height[cable.other]);
    }
    std::vector<SwitchIndex> at(all.size());
    std::vector<std::uint64_t> divisor(all.size(), 1);
    for (std::size_t i = 0; i < all.size(); ++i) at[i] = all[i].sw;
    std::vector<std::uint32_t> channel_use(graph.channel_count(), 0), switch_use(graph.switch_count(), 0);
    std::vector<std::uint32_t> waiting;

    const SwitchIndex ended = graph.switch_count();
    for (bool climbing = true; climbing;) {
        climbing = false;
        Step step{std::vector<SwitchIndex>(all.size(), ended), std::vector<std::uint8_t>(all.size(), 0),
                  std::vector<std::uint8_t>(all.size(), 0)};
        const auto take = [&](std::size_t i, std::uint32_t position, unsigned slot) {
            const Cable& cable = tree.up(at[i])[position];
            step.sw[i] = cable.other;
            step.port[i] = cable.other_port;
            step.slot[i] = static_cast<std::uint8_t>(slot);
            if (i < targets.hosts()) {  // switches get little traffic: they do not count
                ++channel_use[graph.channel(cable.other, cable.other_port)];
                ++switch_use[cable.other];
            }
            climbing = true;
        };
        waiting.clear();
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (at[i] == ended || tree.up(at[i]).empty()) continue;
            const unsigned slots = tree.slot_count(at[i]);
            const unsigned slot = slots == 0 ? 0 : static_cast<unsigned>(all[i].index / divisor[i] % slots);
            const std::uint32_t position = slots == 0 ? none : tree.cable_in_slot(at[i], slot);
            const bool natural = position != none && height[tree.up(at[i])[position].other] == height[at[i]];
            if (natural && (i < targets.ranked() || i >= targets.hosts()))
                take(i, position, slot);
            else
                waiting.push_back(static_cast<std::uint32_t>(i));
        }
        for (const std::uint32_t i : waiting) {
            const auto cables = tree.up(at[i]);
            const unsigned slots = tree.slot_count(at[i]);
            const unsigned slot = slots == 0 ? 0 : static_cast<unsigned>(all[i].index / divisor[i] % slots);
            std::size_t best = 0;
            auto best_cost = std::tuple<unsigned, std::uint32_t, std::uint32_t, std::size_t>(~0u, 0, 0, 0);
            for (std::size_t k = 0; k < cables.size(); ++k) {
                const Cable& cable = cables[k];
                const auto cost = std::tuple(
                    height[at[i]] - height[cable.other], channel_use[graph.channel(cable.other, cable.other_port)],
                    switch_use[cable.other], (k + cables.size() - slot % cables.size()) % cables.size());
                if (cost < best_cost) {
                    best_cost = cost;
                    best = k;
                }
            }
            unsigned taken = 0;  // the slot of the cable taken, so that others can join in over theirs
            while (taken < slots && tree.cable_in_slot(at[i], taken) != best) ++taken;
            take(i, static_cast<std::uint32_t>(best), taken < slots ? taken : slot);
            displaced_ += i < targets.ranked();
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (at[i] != ended && divisor[i] <= 0xffffffffu) divisor[i] *= std::max(1u, tree.parent_count(at[i]));
            at[i] = step.sw[i];
        }
        if (climbing) steps_.push_back(std::move(step));
    }

    worst_share_.assign(tree.top(), 0);
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const Cable& cable : tree.up(s))
            if (tree.level(s) < tree.top())
                worst_share_[tree.level(s)] =
                    std::max(worst_share_[tree.level(s)], channel_use[graph.channel(cable.other, cable.other_port)]);
}

}  // namespace loom::routing
