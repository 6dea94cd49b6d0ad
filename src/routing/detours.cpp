#include "routing/detours.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace loom::routing {
namespace {

using Filled = FtreeRow::Filled;

class Detours {
public:
    Detours(const Tree& tree, const Targets& targets)
        : tree_(tree), targets_(targets), has_end_ports_(tree.graph().switch_count(), false) {
        for (const Target& target : targets.all().first(targets.hosts())) has_end_ports_[target.sw] = true;
    }

    std::size_t fill(const Reach& above, std::span<const Filled> state, Tables& tables) {
        std::size_t filled = 0;
        if (std::find(state.begin(), state.end(), Filled::all_but_end_ports) != state.end()) {
            find_pivots(above);
            filled = fill_by_pivot(state, tables);
        }
        const auto hosts = targets_.all().first(targets_.hosts());
        const auto switches = targets_.all().subspan(targets_.hosts());
        for (bool changed = true; changed;) {
            changed = false;
            for (SwitchIndex s = 0; s < tables.switch_count(); ++s) {
                if (state[s] == Filled::all) continue;
                const std::size_t now =
                    state[s] == Filled::all_but_end_ports ? fill_by_neighbours(s, tables, hosts) : 0;
                changed = fill_by_neighbours(s, tables, switches) + now != 0 || changed;
                if (has_end_ports_[s]) filled += now;
            }
        }
        return filled;
    }

private:
    // The way towards the pivot of its part of the fabric, for every switch that has one.
    struct Step {
        SwitchIndex next = none;
        std::uint8_t port = 0;
        std::uint8_t hops = unreachable;
    };

    // The pivot is the leaf that most switches can reach; what cannot reach it has another.
    void find_pivots(const Reach& above) {
        const std::uint32_t count = tree_.graph().switch_count();
        step_.assign(count, {});
        std::vector<std::uint8_t> hops(count), best_hops(count);
        for (std::size_t left = count; left != 0;) {
            SwitchIndex pivot = none;
            std::tuple<std::size_t, std::size_t> most{0, 0};
            for (SwitchIndex s = 0; s < count; ++s) {
                if (tree_.level(s) != 0) continue;
                up_down_hops(tree_, above, s, hops);
                std::size_t reached = 0;
                for (SwitchIndex from = 0; from < count; ++from)
                    reached += hops[from] != unreachable && step_[from].hops == unreachable;
                if (std::tuple(reached, tree_.up(s).size()) > most) {
                    most = {reached, tree_.up(s).size()};
                    pivot = s;
                    best_hops = hops;
                }
            }
            if (std::get<0>(most) == 0) return;
            left -= std::get<0>(most);
            lead_to(pivot, best_hops, above);
        }
    }

    void lead_to(SwitchIndex pivot, std::span<const std::uint8_t> hops, const Reach& above) {
        std::vector<bool> is_above(step_.size(), false);
        for (const Reached& ancestor : above.of(pivot)) is_above[ancestor.sw] = true;
        for (SwitchIndex s = 0; s < step_.size(); ++s) {
            if (hops[s] == unreachable || step_[s].hops != unreachable) continue;
            step_[s].hops = hops[s];
            for (const Cable& cable : is_above[s] ? tree_.down(s) : tree_.up(s))
                if (hops[cable.other] + 1 == hops[s] && step_[s].next == none) {
                    step_[s].next = cable.other;
                    step_[s].port = cable.port;
                }
        }
    }

    std::size_t fill_by_pivot(std::span<const Filled> state, Tables& tables) const {
        std::vector<SwitchIndex> nearest_first;
        for (SwitchIndex s = 0; s < tables.switch_count(); ++s)
            if (state[s] == Filled::all_but_end_ports && step_[s].next != none) nearest_first.push_back(s);
        std::stable_sort(nearest_first.begin(), nearest_first.end(),
                         [&](SwitchIndex a, SwitchIndex b) { return step_[a].hops < step_[b].hops; });
        std::size_t filled = 0;
        for (const SwitchIndex s : nearest_first) {
            const auto row = tables.row(s);
            const auto next = std::as_const(tables).row(step_[s].next);
            for (const Target& target : targets_.all().first(targets_.hosts())) {
                if (row[target.lid.value] != no_route || next[target.lid.value] == no_route) continue;
                row[target.lid.value] = step_[s].port;
                filled += has_end_ports_[s];
            }
        }
        return filled;
    }

    // Children first: they are nearer to where everything is.
    std::size_t fill_by_neighbours(SwitchIndex s, Tables& tables, std::span<const Target> targets) const {
        const auto row = tables.row(s);
        std::vector<Lid> missing;
        for (const Target& target : targets)
            if (row[target.lid.value] == no_route) missing.push_back(target.lid);
        std::size_t filled = 0;
        for (const auto& ways : {tree_.down(s), tree_.up(s)})
            for (const Cable& way : ways) {
                if (missing.empty()) return filled;
                const auto next = std::as_const(tables).row(way.other);
                std::erase_if(missing, [&](Lid lid) {
                    if (next[lid.value] == no_route) return false;
                    row[lid.value] = way.port;
                    ++filled;
                    return true;
                });
            }
        return filled;
    }

    const Tree& tree_;
    const Targets& targets_;
    std::vector<Step> step_;
    std::vector<bool> has_end_ports_;
};

}  // namespace

std::size_t fill_detours(const Tree& tree, const Targets& targets, const Reach& above, std::span<const Filled> filled,
                         Tables& tables) {
    if (std::all_of(filled.begin(), filled.end(), [](Filled f) { return f == Filled::all; })) return 0;
    return Detours(tree, targets).fill(above, filled, tables);
}

}  // namespace loom::routing
