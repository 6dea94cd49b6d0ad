#include "loom/fabric/presets.hpp"

#include "loom/base/error.hpp"
#include "loom/fabric/oddities.hpp"

namespace loom::fabric {

namespace {

constexpr unsigned is1 = 8, is3 = 24;  // ports of the two switch generations in the table

struct Sides {
    ParallelOrder up;
    ParallelOrder down;
};
constexpr Sides in_turn{ParallelOrder::round_robin, ParallelOrder::round_robin};
constexpr Sides side_by_side{ParallelOrder::adjacent, ParallelOrder::adjacent};
// What remains when two roots become one and no cable is moved on the switch below.
constexpr Sides merged{ParallelOrder::adjacent, ParallelOrder::round_robin};

Pgft tree_of(Pgft tree, unsigned radix, Sides sides = in_turn) {
    tree.radix = radix;
    tree.up_order = sides.up;
    tree.down_order = sides.down;
    return tree;
}

Pgft twelve_spaced() {
    Pgft tree = tree_of(kary_tree(4, 2), is1);
    tree.hosts_per_leaf = 3;
    return tree;
}

// 32 hosts on 8 leaves, two to a pod; cables in parallel between leaves and middle, middle and roots.
Pgft eight_leaves(unsigned first, unsigned second) {
    return tree_of({.children = {4, 2, 4}, .parents = {1, 2, 2}, .parallel = {1, first, second}}, is1, side_by_side);
}

// The first `pods` pods of a 4-ary-3-tree; its 8-port switches keep their places.
Pgft part_of_4_ary_3(unsigned pods) {
    return tree_of({.children = {4, 4, pods}, .parents = {1, 4, 4}}, is1);
}

NodeId find(const Fabric& fabric, std::string_view name) {
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
        if (fabric.node(NodeId{i}).name == name) return NodeId{i};
    throw Error("there is no node called " + std::string(name));
}

}  // namespace

Fabric TreePreset::make() const {
    Fabric fabric = pgft(tree);
    fabric.title = std::string(description);
    for (const Swap& swap : swaps) swap_cables(fabric, find(fabric, swap.node), swap.first, swap.second);
    return fabric;
}

std::vector<TreePreset> zahavi_table1() {
    const Pgft merged_4_2 = tree_of(merge_roots(kary_tree(4, 2)), is1, merged);
    const Pgft merged_4_3 = tree_of(merge_roots(kary_tree(4, 3)), is1, merged);
    return {
        {1, "12-node-spaced", "12 nodes spread on 4 IS1 connected as bipartite", twelve_spaced()},
        {2, "2-ary-4-tree", "16 nodes on 2-ary-4-tree", tree_of(kary_tree(2, 4), is3)},
        {3, "4-ary-2-tree", "16 nodes on 4-ary-2-tree", tree_of(kary_tree(4, 2), is1)},
        {4,
         "reordered-4-ary-2-tree",
         "Reordered 16 nodes on 4-ary-2-tree",
         tree_of(kary_tree(4, 2), is1),
         {{"L1-2", PortNum{1}, PortNum{2}}, {"L1-3", PortNum{1}, PortNum{4}}}},
        {5, "merged-4-ary-2-tree-a", "16 nodes 4-ary-2-tree with merged roots", merged_4_2},
        {6, "merged-2-ary-4-tree", "16 nodes on 2-ary-4-tree with merged roots",
         tree_of(merge_roots(kary_tree(2, 4)), is3, merged)},
        {7, "merged-4-ary-2-tree-b", "16 nodes on 4-ary-2-tree with merged roots", merged_4_2},
        {8, "reordered-merged-4-ary-2-tree", "Reordered 16 nodes on 4-ary-2-tree with merged roots",
         tree_of(merge_roots(kary_tree(4, 2)), is1, side_by_side)},
        {9, "8-leaves", "32 nodes in 8 leafs - which is half 4-ary-3-tree merged roots", eight_leaves(2, 2)},
        {10, "8-leaves-half-first", "32 nodes in 8 leafs with CBB 1/2 on first stage", eight_leaves(1, 1)},
        {11, "8-leaves-half-second", "32 nodes in 8 leafs with CBB 1/2 on second stage", eight_leaves(2, 1)},
        {12, "half-4-ary-3-tree", "32 nodes in 8 leafs - which is half 4-ary-3-tree",
         tree_of(merge_roots(part_of_4_ary_3(2)), is1)},
        {13, "part-4-ary-3-tree", "48 nodes that make 3/4 of 4-ary-3-tree", part_of_4_ary_3(3)},
        {14, "4-ary-3-tree", "64 nodes 4-ary-3-tree", part_of_4_ary_3(4)},
        {15, "merged-4-ary-3-tree-a", "64 nodes 4-ary-3-tree with merged roots", merged_4_3},
        {16, "merged-4-ary-3-tree-b", "64 nodes 4-ary-3-tree with merged roots", merged_4_3},
        {17, "12-ary-2-tree", "144 nodes 12-ary-2-tree", tree_of(kary_tree(12, 2), is3)},
        {18, "merged-12-ary-2-tree", "144 nodes 12-ary-2-tree merge roots",
         tree_of(merge_roots(kary_tree(12, 2)), is3, merged)},
        {19, "4-ary-4-tree", "256 nodes 4-ary-4-tree", tree_of(kary_tree(4, 4), is1)},
        {20, "12-ary-3-tree", "1728 nodes 12-ary-3-tree", tree_of(kary_tree(12, 3), is3)},
        {21, "merged-12-ary-3-tree", "1728 nodes 12-ary-3-tree merged roots",
         tree_of(merge_roots(kary_tree(12, 3)), is3, merged)},
    };
}

std::vector<Clos> hoefler_fat_trees() {
    struct Network {
        unsigned up, down;
        std::size_t ports;
        unsigned depth;
    };
    const auto part = [](std::vector<Clos>& all, unsigned crossbar, std::initializer_list<Network> networks) {
        for (const Network& n : networks)
            all.push_back({.crossbar = crossbar,
                           .up = n.up,
                           .down = n.down,
                           .ports = n.ports,
                           .depth = n.depth,
                           .uplinks = UplinkOrder::from_first});
    };
    std::vector<Clos> all;
    part(all, 8,
         {{1, 1, 512, 2},
          {3, 5, 520, 2},
          {1, 3, 528, 2},
          {1, 1, 3072, 3},
          {3, 5, 3200, 3},
          {1, 3, 3456, 3},
          {1, 1, 7168, 3},
          {3, 5, 7200, 3},
          {1, 3, 6912, 3},
          {1, 1, 10240, 3},
          {3, 5, 10400, 3},
          {1, 3, 10368, 3}});
    part(all, 16,
         {{1, 1, 512, 2},
          {5, 11, 528, 2},
          {1, 3, 576, 2},
          {1, 1, 3072, 2},
          {5, 11, 2992, 2},
          {1, 3, 3072, 2},
          {1, 1, 7040, 2},
          {5, 11, 7040, 2},
          {1, 3, 6912, 2},
          {1, 1, 8192, 2},
          {5, 11, 10032, 2},
          {1, 3, 9984, 2}});
    part(all, 24,
         {{1, 1, 576, 2},
          {1, 2, 384, 1},
          {1, 3, 432, 1},
          {1, 1, 3168, 2},
          {1, 2, 3072, 2},
          {1, 3, 3024, 2},
          {1, 1, 6912, 2},
          {1, 2, 6912, 2},
          {1, 3, 6912, 2},
          {1, 1, 10080, 2},
          {1, 2, 9984, 2},
          {1, 3, 9936, 2}});
    part(all, 32,
         {{1, 1, 512, 1},
          {11, 21, 672, 1},
          {1, 3, 768, 1},
          {1, 1, 3072, 2},
          {11, 21, 3360, 2},
          {1, 3, 3072, 2},
          {1, 1, 7168, 2},
          {11, 21, 7392, 2},
          {1, 3, 6912, 2},
          {1, 1, 10240, 2},
          {11, 21, 10080, 2},
          {1, 3, 9984, 2}});
    return all;
}

}  // namespace loom::fabric
