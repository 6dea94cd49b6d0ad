#include "fabric/tree_order.hpp"

#include <algorithm>
#include <map>

#include "loom/base/overlap.hpp"
#include "loom/fabric/levels.hpp"

namespace loom::fabric {
namespace {

// A subtree while the tree is put together from the leaves upwards.
struct Subtree {
    std::vector<NodeId> leaves;
    std::vector<std::uint32_t> tops;  // its switches of the level reached so far
};

}  // namespace

std::vector<NodeId> tree_leaf_order(const Fabric& fabric, const std::vector<std::uint8_t>& level, std::uint8_t top) {
    std::vector<Subtree> subtrees;
    for (std::uint32_t i = 0; i < level.size(); ++i)
        if (level[i] == 0) subtrees.push_back({{NodeId{i}}, {i}});

    for (unsigned l = 0; l < top; ++l) {
        // What each subtree is hung up on: the switches of the next level, each once.
        std::vector<std::vector<std::uint32_t>> parents(subtrees.size());
        for (std::size_t t = 0; t < subtrees.size(); ++t) {
            for (const std::uint32_t s : subtrees[t].tops)
                for (const Port& port : fabric.ports(NodeId{s}))
                    if (port.connected())
                        if (const std::uint32_t peer = fabric.port(port.peer).node.value; level[peer] == l + 1)
                            parents[t].push_back(peer);
            std::sort(parents[t].begin(), parents[t].end());
            parents[t].erase(std::unique(parents[t].begin(), parents[t].end()), parents[t].end());
        }
        const std::vector<std::uint32_t> group = group_by_overlap(parents, static_cast<std::uint32_t>(level.size()));

        std::vector<Subtree> joined(subtrees.empty() ? 0 : *std::max_element(group.begin(), group.end()) + 1);
        // A parent belongs to the subtree it has most children in.
        std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> children;
        for (std::size_t t = 0; t < subtrees.size(); ++t) {
            auto& leaves = joined[group[t]].leaves;
            leaves.insert(leaves.end(), subtrees[t].leaves.begin(), subtrees[t].leaves.end());
            for (const std::uint32_t parent : parents[t]) ++children[parent][group[t]];
        }
        for (const auto& [parent, by_group] : children) {
            const auto most = std::max_element(by_group.begin(), by_group.end(),
                                               [](const auto& a, const auto& b) { return a.second < b.second; });
            joined[most->first].tops.push_back(parent);
        }
        subtrees = std::move(joined);
    }

    std::vector<NodeId> order;
    for (const Subtree& t : subtrees) order.insert(order.end(), t.leaves.begin(), t.leaves.end());
    return order;
}

}  // namespace loom::fabric
