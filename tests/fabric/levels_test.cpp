#include "loom/fabric/levels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "reference/relabel.hpp"

namespace loom::fabric {
namespace {

using ::testing::HasSubstr;

// Generated switches are called L<level>-<place>.
unsigned level_in_name(const Node& node) {
    return static_cast<unsigned>(node.name.at(1) - '0');
}

void expect_levels_as_named(const Fabric& fabric, const Levels& levels) {
    for (const NodeId id : fabric.nodes_of(NodeKind::switch_))
        EXPECT_EQ(levels.level[id.value], level_in_name(fabric.node(id))) << fabric.node(id).name;
}

NodeId by_name(const Fabric& fabric, const std::string& name) {
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
        if (fabric.node(NodeId{i}).name == name) return NodeId{i};
    throw Error("no node " + name);
}

PortNum free_port(const Fabric& fabric, NodeId sw) {
    for (std::uint8_t number = 1; number <= fabric.node(sw).ports; ++number)
        if (!fabric.port(sw, PortNum{number}).connected()) return PortNum{number};
    throw Error("no free port");
}

void add_host(Fabric& fabric, NodeId sw, const std::string& name) {
    const NodeId host = fabric.add_node(NodeKind::host, 1, name);
    fabric.connect(sw, free_port(fabric, sw), host, PortNum{1});
}

Pgft roomy(Pgft tree) {
    tree.radix = 40;
    return tree;
}

TEST(Levels, OfWholeTreesAreTheGeneratorsInAnyFileOrder) {
    for (const Pgft& tree :
         {kary_tree(2, 2), kary_tree(4, 2), kary_tree(2, 4), kary_tree(4, 3), kary_tree(3, 3),
          merge_roots(kary_tree(4, 3)), kary_tree(6, 1), Pgft{.children = {4, 4, 2}, .parents = {1, 2, 2}}})
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            const Fabric fabric = reference::relabel(pgft(tree), seed);

            const Levels levels = find_levels(fabric);

            expect_levels_as_named(fabric, levels);
            EXPECT_TRUE(levels.remarks.empty());
        }
}

TEST(Levels, LeafOrderKeepsSubtreesTogether) {
    const Fabric fabric = reference::relabel(pgft(kary_tree(4, 3)), 5);

    const Levels levels = find_levels(fabric);

    ASSERT_EQ(levels.leaf_order.size(), 16u);
    for (std::size_t pod = 0; pod < 4; ++pod) {
        std::set<int> pods;  // leaves 0-3 of the generator are the first subtree, 4-7 the second, ...
        for (std::size_t i = 0; i < 4; ++i)
            pods.insert(std::stoi(fabric.node(levels.leaf_order[4 * pod + i]).name.substr(3)) / 4);
        EXPECT_EQ(pods.size(), 1u);
    }
}

TEST(Levels, AMisplacedCableDoesNotMeltTwoSubtrees) {
    Fabric whole = pgft(kary_tree(4, 3));
    const NodeId leaf = by_name(whole, "L0-00"), strange_leaf = by_name(whole, "L0-04");
    const PortNum a{5}, b{5};  // first up port of each
    const Port mid_a = whole.port(whole.port(leaf, a).peer), mid_b = whole.port(whole.port(strange_leaf, b).peer);
    whole.disconnect(leaf, a);
    whole.disconnect(strange_leaf, b);
    whole.connect(leaf, a, mid_b.node, mid_b.number);
    whole.connect(strange_leaf, b, mid_a.node, mid_a.number);
    const Fabric fabric = reference::relabel(whole, 9);

    const Levels levels = find_levels(fabric);

    expect_levels_as_named(fabric, levels);
    for (std::size_t pod = 0; pod < 4; ++pod) {
        std::set<int> pods;
        for (std::size_t i = 0; i < 4; ++i)
            pods.insert(std::stoi(fabric.node(levels.leaf_order[4 * pod + i]).name.substr(3)) / 4);
        EXPECT_EQ(pods.size(), 1u);
    }
}

// Two middle switches of the second pod have a cable to the last pod each, which does not make them the last pod's.
TEST(Levels, AParentBelongsToTheSubtreeOfMostOfItsChildren) {
    Fabric fabric = pgft(roomy({.children = {2, 2, 2, 2}, .parents = {1, 4, 1, 1}}));
    const auto join = [&](const char* low, const char* high) {
        const NodeId a = by_name(fabric, low), b = by_name(fabric, high);
        fabric.connect(a, free_port(fabric, a), b, free_port(fabric, b));
    };
    join("L0-6", "L1-04");
    join("L0-7", "L1-05");

    const Levels levels = find_levels(fabric);

    std::string order;
    for (const NodeId leaf : levels.leaf_order) order += fabric.node(leaf).name + " ";
    EXPECT_EQ(order, "L0-0 L0-1 L0-2 L0-3 L0-4 L0-5 L0-6 L0-7 ");
}

TEST(Levels, HostsOnRootsAndMiddleSwitchesDoNotMakeThemLeaves) {
    Fabric whole = pgft(roomy(kary_tree(4, 3)));
    for (const char* name : {"L2-00", "L2-01", "L2-07", "L1-03"})
        for (int i = 0; i < 3; ++i)
            add_host(whole, by_name(whole, name), "storage" + std::string(name) + std::to_string(i));
    const Fabric fabric = reference::relabel(whole, 2);

    const Levels levels = find_levels(fabric);

    expect_levels_as_named(fabric, levels);
    ASSERT_EQ(levels.remarks.size(), 1u);
    EXPECT_THAT(levels.remarks[0], HasSubstr("12 hosts sit above the leaves, on 4 switches"));
}

TEST(Levels, AggregationNodesCountForNothing) {
    Fabric fabric = pgft(roomy(kary_tree(4, 2)));
    for (const NodeId sw : fabric.nodes_of(NodeKind::switch_))
        add_host(fabric, sw, "Mellanox Technologies Aggregation Node");

    const Levels levels = find_levels(fabric);

    expect_levels_as_named(fabric, levels);
    EXPECT_TRUE(levels.remarks.empty());
    EXPECT_EQ(host_order(fabric, levels).size(), 16u);
}

TEST(Levels, LeavesWithOneOrNoHostStayLeaves) {
    Fabric fabric = pgft(kary_tree(4, 2));
    for (const unsigned port : {1u, 2u, 3u})
        fabric.disconnect(by_name(fabric, "L0-1"), PortNum{static_cast<std::uint8_t>(port)});
    for (const unsigned port : {1u, 2u, 3u, 4u})
        fabric.disconnect(by_name(fabric, "L0-2"), PortNum{static_cast<std::uint8_t>(port)});

    const Levels levels = find_levels(fabric);

    expect_levels_as_named(fabric, levels);
}

TEST(Levels, ARootCabledStraightToALeafIsStillARoot) {
    Fabric fabric = pgft(roomy(kary_tree(4, 3)));
    fabric.connect(by_name(fabric, "L0-05"), PortNum{20}, by_name(fabric, "L2-03"), PortNum{20});

    const Levels levels = find_levels(fabric);

    expect_levels_as_named(fabric, levels);
    EXPECT_EQ(levels.skipping_links, 1u);
}

TEST(Levels, GivenRootsDecide) {
    const Fabric fabric = pgft(kary_tree(2, 3));
    std::vector<Guid> roots;
    for (const Node& node : fabric.nodes())
        if (node.name.starts_with("L2")) roots.push_back(node.guid);

    const Levels levels = find_levels(fabric, roots);

    expect_levels_as_named(fabric, levels);
    EXPECT_THROW((void)find_levels(fabric, {Guid{77}}), Error);
}

TEST(Levels, ARingIsOneLevelAndSaysSo) {
    Fabric fabric;
    std::vector<NodeId> ring;
    for (int i = 0; i < 5; ++i) ring.push_back(fabric.add_node(NodeKind::switch_, 4, "S" + std::to_string(i)));
    for (std::size_t i = 0; i < 5; ++i) fabric.connect(ring[i], PortNum{1}, ring[(i + 1) % 5], PortNum{2});
    for (const NodeId sw : ring) add_host(fabric, sw, "h" + std::to_string(sw.value));

    const Levels levels = find_levels(fabric);

    EXPECT_EQ(levels.top, 0);
    EXPECT_EQ(levels.inside_links, 5u);
    EXPECT_THAT(levels.remarks.at(0), HasSubstr("5 cables join switches of one level; the first is at S0"));
}

TEST(Levels, ACableFromASwitchToItselfCountsForNothing) {
    Fabric fabric = pgft(roomy(kary_tree(4, 2)));
    fabric.connect(NodeId{0}, PortNum{20}, NodeId{0}, PortNum{21});

    const Levels levels = find_levels(fabric);

    expect_levels_as_named(fabric, levels);
    EXPECT_EQ(levels.inside_links, 0u);
}

TEST(HostOrder, EndsWithTheHostsAboveTheLeaves) {
    Fabric fabric = pgft(roomy(kary_tree(4, 3)));
    add_host(fabric, by_name(fabric, "L2-00"), "on a root");
    add_host(fabric, by_name(fabric, "L1-03"), "in the middle");

    const std::vector<HostPort> order = host_order(fabric);

    ASSERT_EQ(order.size(), 66u);
    EXPECT_EQ(fabric.node(fabric.port(order[63].port).node).name, "host63");
    EXPECT_EQ(fabric.node(fabric.port(order[64].port).node).name, "in the middle");
    EXPECT_EQ(fabric.node(fabric.port(order[65].port).node).name, "on a root");
}

TEST(HostOrder, IsByLeafThenPort) {
    const Fabric fabric = pgft(kary_tree(3, 2));

    const std::vector<HostPort> order = host_order(fabric);

    ASSERT_EQ(order.size(), 9u);
    for (std::size_t i = 0; i < 9; ++i)
        EXPECT_EQ(fabric.node(fabric.port(order[i].port).node).name, "host" + std::to_string(i));
}

}  // namespace
}  // namespace loom::fabric
