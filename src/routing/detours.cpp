#include "routing/detours.hpp"

#include <algorithm>
#include <utility>

namespace loom::routing {
namespace {

class Detours {
public:
    Detours(const Tree& tree, const Targets& targets)
        : tree_(tree),
          targets_(targets),
          pivot_hops_(tree.graph().switch_count(), none),
          has_end_ports_(tree.graph().switch_count(), false) {
        for (const Target& target : targets.all().first(targets.hosts())) has_end_ports_[target.sw] = true;
        const SwitchGraph& graph = tree.graph();
        for (const SwitchIndex start : tree.top_down()) {
            if (pivot_hops_[start] != none) continue;
            const SwitchIndex pivot = find_pivot(start);
            std::vector<SwitchIndex> queue{pivot};
            pivot_hops_[pivot] = 0;
            for (std::size_t head = 0; head < queue.size(); ++head)
                for (ChannelIndex c = graph.base()[queue[head]]; c < graph.base()[queue[head] + 1]; ++c)
                    if (const SwitchIndex other = graph.next(c); other != none && pivot_hops_[other] == none) {
                        pivot_hops_[other] = pivot_hops_[queue[head]] + 1;
                        queue.push_back(other);
                    }
        }
    }

    std::size_t fill(std::span<const FtreeRow::Filled> state, Tables& tables) const {
        std::size_t filled = 0;
        const auto hosts = targets_.all().first(targets_.hosts());
        const auto switches = targets_.all().subspan(targets_.hosts());
        for (bool changed = true; changed;) {
            changed = false;
            for (SwitchIndex s = 0; s < tables.switch_count(); ++s) {
                if (state[s] == FtreeRow::Filled::all) continue;
                const std::size_t now =
                    state[s] == FtreeRow::Filled::all_but_end_ports ? fill_row(s, tables, hosts, true) : 0;
                changed = fill_row(s, tables, switches, false) + now != 0 || changed;
                if (has_end_ports_[s]) filled += now;
            }
        }
        return filled;
    }

private:
    // The leaf with the most ways up in the piece of the fabric that `start` is in.
    SwitchIndex find_pivot(SwitchIndex start) {
        const SwitchGraph& graph = tree_.graph();
        seen_.assign(graph.switch_count(), false);
        std::vector<SwitchIndex> queue{start};
        seen_[start] = true;
        SwitchIndex best = start;
        const auto merit = [&](SwitchIndex s) { return std::pair(tree_.top() - tree_.level(s), tree_.up(s).size()); };
        for (std::size_t head = 0; head < queue.size(); ++head) {
            if (merit(queue[head]) > merit(best)) best = queue[head];
            for (ChannelIndex c = graph.base()[queue[head]]; c < graph.base()[queue[head] + 1]; ++c)
                if (const SwitchIndex other = graph.next(c); other != none && !seen_[other]) {
                    seen_[other] = true;
                    queue.push_back(other);
                }
        }
        return best;
    }

    std::size_t fill_row(SwitchIndex s, Tables& tables, std::span<const Target> targets, bool by_pivot) const {
        const auto row = tables.row(s);
        std::vector<Lid> missing;
        for (const Target& target : targets)
            if (row[target.lid.value] == no_route) missing.push_back(target.lid);
        if (missing.empty()) return 0;
        std::vector<Cable> ways(tree_.down(s).begin(), tree_.down(s).end());
        ways.insert(ways.end(), tree_.up(s).begin(), tree_.up(s).end());
        if (by_pivot)
            std::stable_sort(ways.begin(), ways.end(), [&](const Cable& a, const Cable& b) {
                return pivot_hops_[a.other] < pivot_hops_[b.other];
            });
        std::size_t filled = 0;
        for (const Cable& way : ways) {
            const auto next = std::as_const(tables).row(way.other);
            std::erase_if(missing, [&](Lid lid) {
                if (next[lid.value] == no_route) return false;
                row[lid.value] = way.port;
                ++filled;
                return true;
            });
            if (missing.empty()) break;
        }
        return filled;
    }

    const Tree& tree_;
    const Targets& targets_;
    std::vector<std::uint32_t> pivot_hops_;
    std::vector<bool> has_end_ports_, seen_;
};

}  // namespace

std::size_t fill_detours(const Tree& tree, const Targets& targets, std::span<const FtreeRow::Filled> filled,
                         Tables& tables) {
    return Detours(tree, targets).fill(filled, tables);
}

}  // namespace loom::routing
