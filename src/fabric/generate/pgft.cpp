#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "fabric/generate/common.hpp"
#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::fabric {

namespace {

using namespace generate;

// Port of cable `cable` to the `digit`-th of `fanout` neighbours, counted from 1.
std::size_t port_of(ParallelOrder order, std::size_t fanout, std::size_t parallel, std::size_t digit,
                    std::size_t cable) {
    return 1 + (order == ParallelOrder::adjacent ? digit * parallel + cable : cable * fanout + digit);
}

std::vector<unsigned> checked_parallel(const Pgft& p) {
    const std::size_t levels = p.children.size();
    if (levels == 0 || p.parents.size() != levels)
        throw UsageError(
            fmt::format("a fat tree needs as many parents as children, got {} and {}", p.parents.size(), levels));
    auto parallel = p.parallel.empty() ? std::vector<unsigned>(levels, 1) : p.parallel;
    if (parallel.size() != levels)
        throw UsageError(
            fmt::format("a fat tree of {} levels needs as many parallel cables, got {}", levels, parallel.size()));
    for (std::size_t i = 0; i < levels; ++i) {
        require(fmt::format("the children of level {}", i + 1), p.children[i]);
        require(fmt::format("the parents of level {}", i), p.parents[i]);
        require(fmt::format("the parallel cables below level {}", i + 1), parallel[i]);
    }
    if (p.hosts_per_leaf > p.children[0])
        throw UsageError(
            fmt::format("a leaf has places for {} hosts, got {} hosts a leaf", p.children[0], p.hosts_per_leaf));
    return parallel;
}

}  // namespace

Fabric pgft(const Pgft& p) {
    const std::vector<unsigned> parallel = checked_parallel(p);
    const std::size_t height = p.children.size();

    // Level i holds subtrees[i] subtrees of width[i] top nodes each.
    std::vector<std::size_t> width(height + 1, 1), subtrees(height + 1, 1);
    for (std::size_t i = 1; i <= height; ++i) width[i] = times(width[i - 1], p.parents[i - 1]);
    for (std::size_t i = height; i > 0; --i) subtrees[i - 1] = times(subtrees[i], p.children[i - 1]);
    for (std::size_t i = 0; i <= height; ++i) (void)times(width[i], subtrees[i]);

    Fabric fabric;
    fabric.title = fmt::format("PGFT({}; {}; {}; {})", height, fmt::join(p.children, ","), fmt::join(p.parents, ","),
                               fmt::join(parallel, ","));
    std::vector<std::uint32_t> first(height + 1);
    for (std::size_t i = 1; i <= height; ++i) {
        const std::size_t down = times(p.children[i - 1], parallel[i - 1]);
        const std::size_t up = i == height ? 0 : times(p.parents[i], parallel[i]);
        const auto ports = switch_ports(fmt::format("level {} of the tree", i), down + up, p.radix);
        first[i] = add_nodes(fabric, NodeKind::switch_, width[i] * subtrees[i], ports, fmt::format("L{}-", i - 1));
    }

    const std::size_t per_leaf = p.hosts_per_leaf == 0 ? p.children[0] : p.hosts_per_leaf;
    std::size_t hosts = subtrees[1] * per_leaf;
    if (p.hosts > hosts) throw UsageError(fmt::format("the tree has places for {} hosts, got {}", hosts, p.hosts));
    if (p.hosts != 0) hosts = p.hosts;
    const auto adapter_ports = switch_ports("a host", times(p.parents[0], parallel[0]), 0);
    first[0] = add_nodes(fabric, NodeKind::host, hosts, adapter_ports, "host");

    for (std::size_t level = 1; level <= height; ++level) {
        const std::size_t children = p.children[level - 1], parents = p.parents[level - 1],
                          cables = parallel[level - 1];
        const std::size_t below_down = level == 1 ? 0 : std::size_t{p.children[level - 2]} * parallel[level - 2];
        for (std::size_t subtree = 0; subtree < subtrees[level]; ++subtree)
            for (std::size_t child = 0; child < children; ++child)
                for (std::size_t place = 0; place < width[level - 1]; ++place) {
                    std::size_t below = (subtree * children + child) * width[level - 1] + place;
                    if (level == 1) {
                        below = subtree * per_leaf + child;
                        if (child >= per_leaf || below >= hosts) continue;
                    }
                    const NodeId low{static_cast<std::uint32_t>(first[level - 1] + below)};
                    for (std::size_t parent = 0; parent < parents; ++parent) {
                        const std::size_t above = subtree * width[level] + parent * width[level - 1] + place;
                        const NodeId high{static_cast<std::uint32_t>(first[level] + above)};
                        for (std::size_t cable = 0; cable < cables; ++cable)
                            fabric.connect(
                                low, port_number(below_down + port_of(p.up_order, parents, cables, parent, cable)),
                                high, port_number(port_of(p.down_order, children, cables, child, cable)), p.rate);
                    }
                }
    }
    return fabric;
}

Pgft kary_tree(unsigned k, unsigned n) {
    require("k of a k-ary-n-tree", k, 127);
    require("n of a k-ary-n-tree", n, 22);
    Pgft tree{.children = std::vector<unsigned>(n, k), .parents = std::vector<unsigned>(n, k)};
    tree.parents[0] = 1;
    return tree;
}

Pgft merge_roots(Pgft tree, unsigned merge) {
    tree.parallel = checked_parallel(tree);
    if (merge == 0 || tree.parents.back() % merge != 0)
        throw UsageError(fmt::format("cannot merge {} roots into one: the switches below have {} parents", merge,
                                     tree.parents.back()));
    tree.parents.back() /= merge;
    tree.parallel.back() *= merge;
    return tree;
}

}  // namespace loom::fabric
