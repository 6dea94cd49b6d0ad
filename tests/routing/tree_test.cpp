#include "loom/routing/tree.hpp"

#include <gtest/gtest.h>

#include <set>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "reference/relabel.hpp"
#include "routing/reach.hpp"

namespace loom::routing {
namespace {

using fabric::Fabric;
using fabric::kary_tree;
using fabric::merge_roots;
using fabric::Pgft;

TEST(SwitchGraph, RefusesLidsThatNoSubnetHas) {
    Fabric fabric = pgft(kary_tree(2, 2));
    fabric.assign_lids();
    fabric::Port& port = fabric.port(fabric.nodes_of(fabric::NodeKind::host).front(), PortNum{1});
    port.lid = Lid{max_unicast_lid};

    EXPECT_EQ(SwitchGraph(fabric).top_lid(), Lid{max_unicast_lid});
    port.lmc = 1;
    EXPECT_THROW((void)SwitchGraph(fabric), Error);
    port.lid = Lid{0xffff};
    port.lmc = 0;
    EXPECT_THROW((void)SwitchGraph(fabric), Error);
}

TEST(Tree, OfAWholeTreeIsCompleteAndItsSlotsLeadToDifferentParents) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const Fabric fabric = reference::relabel(pgft(kary_tree(4, 3)), seed);
        const SwitchGraph graph(fabric);

        const Tree tree(graph, find_levels(fabric));

        EXPECT_TRUE(tree.complete());
        EXPECT_EQ(tree.asymmetry(), "");
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
            EXPECT_EQ(tree.slot_count(s), tree.level(s) == 2 ? 0u : 4u);
            std::set<SwitchIndex> parents;
            for (unsigned slot = 0; slot < tree.slot_count(s); ++slot)
                parents.insert(tree.up(s)[tree.cable_in_slot(s, slot)].other);
            EXPECT_EQ(parents.size(), tree.slot_count(s));
        }
    }
}

TEST(Tree, TheSameSlotLeadsToTheSamePlaneFromEverySwitch) {
    const Fabric fabric = reference::relabel(pgft(merge_roots(kary_tree(4, 3))), 7);
    const SwitchGraph graph(fabric);

    const Tree tree(graph, find_levels(fabric));

    ASSERT_TRUE(tree.complete());
    for (SwitchIndex a = 0; a < graph.switch_count(); ++a)
        for (SwitchIndex b = 0; b < graph.switch_count(); ++b) {
            if (tree.plane(a) != tree.plane(b)) continue;
            for (unsigned slot = 0; slot < tree.slot_count(a); ++slot)
                EXPECT_EQ(tree.plane(tree.up(a)[tree.cable_in_slot(a, slot)].other),
                          tree.plane(tree.up(b)[tree.cable_in_slot(b, slot)].other));
        }
}

TEST(Tree, ParallelCablesHaveOneNumberAtBothEnds) {
    const Fabric fabric = pgft(Pgft{.children = {6, 3, 4}, .parents = {1, 3, 2}, .parallel = {1, 2, 3}});
    const SwitchGraph graph(fabric);

    const Tree tree(graph, find_levels(fabric));

    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const Cable& up : tree.up(s)) {
            const auto below = tree.down(up.other);
            const auto same =
                std::find_if(below.begin(), below.end(), [&](const Cable& c) { return c.port == up.other_port; });
            ASSERT_NE(same, below.end());
            EXPECT_EQ(same->other, s);
            EXPECT_EQ(same->number, up.number);
        }
}

TEST(Tree, TakesTheShapeWithMoreCablesForTheRule) {
    Fabric fabric = fabric::pgft({.children = {2, 2}, .parents = {1, 2}});
    fabric.disconnect(NodeId{1}, PortNum{3});
    const SwitchGraph graph(fabric);

    const Tree tree(graph, find_levels(fabric));

    EXPECT_EQ(tree.asymmetry(),
              "switch L0-1 of level 0 has 1 up-going group of 1 port where its level should have 2 up-going groups "
              "of 1 port");
}

TEST(Tree, NamesTheFirstSwitchThatBreaksTheSymmetry) {
    Fabric fabric = pgft(kary_tree(4, 3));
    fabric.disconnect(NodeId{17}, PortNum{7});
    const SwitchGraph graph(fabric);

    const Tree tree(graph, find_levels(fabric));

    EXPECT_FALSE(tree.complete());
    EXPECT_EQ(tree.asymmetry(),
              "switch L1-01 of level 1 has 3 up-going groups of 1 port where its level should have 4 up-going groups "
              "of 1 port");
}

TEST(Reach, ListsWhatIsAboveWithHopsAndUpDownHopsAreShortest) {
    const Fabric fabric = pgft(kary_tree(3, 3));
    const SwitchGraph graph(fabric);
    const Tree tree(graph, find_levels(fabric));

    const Reach above(tree, Reach::Direction::up), below(tree, Reach::Direction::down);
    std::vector<std::uint8_t> hops(graph.switch_count());
    up_down_hops(tree, above, 0, hops);

    EXPECT_EQ(above.of(0).size(), 3u + 9u);
    EXPECT_EQ(below.of(graph.switch_count() - 1).size(), 3u + 9u);
    EXPECT_EQ(hops[0], 0);
    EXPECT_EQ(hops[1], 2);  // a leaf of the same subtree
    EXPECT_EQ(hops[8], 4);  // a leaf of another
    EXPECT_TRUE(every_root_covers_every_leaf(tree, below));
}

}  // namespace
}  // namespace loom::routing
