#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::fabric {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::size_t reachable_from_first(const Fabric& fabric) {
    std::set<NodeId> seen{NodeId{0}};
    std::vector<NodeId> rest{NodeId{0}};
    while (!rest.empty()) {
        const NodeId id = rest.back();
        rest.pop_back();
        for (const Port& port : fabric.ports(id))
            if (port.connected() && seen.insert(fabric.port(port.peer).node).second)
                rest.push_back(fabric.port(port.peer).node);
    }
    return seen.size();
}

// Names of the switches next to one, with the number of cables.
std::map<std::string, int> neighbours(const Fabric& fabric, NodeId id) {
    std::map<std::string, int> result;
    for (const Port& port : fabric.ports(id))
        if (port.connected() && fabric.node(fabric.port(port.peer).node).kind == NodeKind::switch_)
            ++result[fabric.node(fabric.port(port.peer).node).name];
    return result;
}

TEST(Torus, SwitchesAreJoinedToTheirNeighboursInEachDimension) {
    const Fabric fabric = torus({.dimensions = {3, 4, 2}, .hosts_per_switch = 2});

    EXPECT_EQ(fabric.nodes_of(NodeKind::switch_).size(), 24);
    EXPECT_EQ(fabric.nodes_of(NodeKind::host).size(), 48);
    EXPECT_EQ(fabric.link_count(), 48 + 24 + 24 + 12);
    EXPECT_EQ(
        neighbours(fabric, NodeId{0}),
        (std::map<std::string, int>{{"S-0-0-1", 1}, {"S-0-1-0", 1}, {"S-0-3-0", 1}, {"S-1-0-0", 1}, {"S-2-0-0", 1}}));
    EXPECT_EQ(fabric.title, "3 x 4 x 2 torus");
}

TEST(Torus, AMeshDoesNotWrapAround) {
    const Fabric fabric = torus({.dimensions = {5, 4}, .wrap = Wrap::mesh, .parallel = 2});

    EXPECT_EQ(fabric.link_count(), 20 + 2 * (4 * 4 + 5 * 3));
    EXPECT_EQ(neighbours(fabric, NodeId{0}), (std::map<std::string, int>{{"S-0-1", 2}, {"S-1-0", 2}}));
    EXPECT_EQ(reachable_from_first(fabric), fabric.node_count());
}

TEST(Torus, EverySizeIsConnectedAndRegular) {
    for (unsigned x = 1; x <= 5; ++x)
        for (unsigned y = 1; y <= 4; ++y)
            for (const Wrap wrap : {Wrap::torus, Wrap::mesh}) {
                const Fabric fabric = torus({.dimensions = {x, y}, .wrap = wrap});

                const auto ring = [&](unsigned size) { return wrap == Wrap::torus && size > 2 ? size : size - 1; };
                EXPECT_EQ(fabric.link_count(), x * y + ring(x) * y + ring(y) * x) << fabric.title;
                EXPECT_EQ(reachable_from_first(fabric), fabric.node_count()) << fabric.title;
            }
}

TEST(Dragonfly, OfFullSizeJoinsEveryPairOfGroupsOnce) {
    for (const GlobalCables arrangement : {GlobalCables::palmtree, GlobalCables::absolute})
        for (unsigned a = 1; a <= 4; ++a)
            for (unsigned h = 1; h <= 3; ++h) {
                const Fabric fabric = dragonfly({.routers = a, .hosts = 2, .global = h, .arrangement = arrangement});

                std::map<std::pair<unsigned, unsigned>, int> pairs;
                for (const NodeId id : fabric.nodes_of(NodeKind::switch_))
                    for (const Port& port : fabric.ports(id)) {
                        ASSERT_TRUE(port.connected());
                        const NodeId peer = fabric.port(port.peer).node;
                        if (fabric.node(peer).kind == NodeKind::switch_ && id.value / a < peer.value / a)
                            ++pairs[{id.value / a, peer.value / a}];
                    }
                const unsigned groups = a * h + 1;
                EXPECT_EQ(pairs.size(), groups * (groups - 1) / 2);
                for (const auto& [pair, cables] : pairs) EXPECT_EQ(cables, 1);
                EXPECT_EQ(fabric.nodes_of(NodeKind::host).size(), groups * a * 2);
                EXPECT_EQ(reachable_from_first(fabric), fabric.node_count());
            }
}

TEST(Dragonfly, FewerGroupsShareTheGlobalCablesEvenly) {
    for (unsigned groups = 2; groups <= 9; ++groups) {
        const Fabric fabric = dragonfly({.routers = 4, .hosts = 2, .global = 2, .groups = groups});

        std::map<std::pair<unsigned, unsigned>, unsigned> pairs;
        for (const NodeId id : fabric.nodes_of(NodeKind::switch_))
            for (const Port& port : fabric.ports(id)) {
                if (!port.connected()) continue;
                const NodeId peer = fabric.port(port.peer).node;
                if (fabric.node(peer).kind == NodeKind::switch_ && id.value / 4 < peer.value / 4)
                    ++pairs[{id.value / 4, peer.value / 4}];
            }
        EXPECT_EQ(pairs.size(), groups * (groups - 1) / 2);
        for (const auto& [pair, cables] : pairs) EXPECT_EQ(cables, 8 / (groups - 1));
    }
}

TEST(Dragonfly, RoutersOfAGroupAreAllJoined) {
    const Fabric fabric = dragonfly({.routers = 4, .hosts = 2, .global = 2});

    const auto around = neighbours(fabric, NodeId{1});

    EXPECT_EQ(fabric.node(NodeId{1}).name, "G0-R1");
    for (const char* other : {"G0-R0", "G0-R2", "G0-R3"}) EXPECT_TRUE(around.contains(other)) << other;
    EXPECT_EQ(around.size(), 5);
}

TEST(Rail, AdapterIOfEveryServerSitsOnRailI) {
    const Fabric fabric = rail({.units = 3, .servers_per_unit = 4, .rails = 8, .spines = 4, .servers = 10});

    EXPECT_EQ(fabric.nodes_of(NodeKind::switch_).size(), 24 + 4);
    EXPECT_EQ(fabric.nodes_of(NodeKind::host).size(), 80);
    for (const NodeId id : fabric.nodes_of(NodeKind::host)) {
        const std::string& host = fabric.node(id).name;
        const std::string& leaf = fabric.node(fabric.port(fabric.port(id, PortNum{1}).peer).node).name;
        EXPECT_EQ(host.back(), leaf.back()) << host << " on " << leaf;
        EXPECT_EQ(host.substr(0, 6), "server");
    }
    EXPECT_EQ(neighbours(fabric, NodeId{0}),
              (std::map<std::string, int>{{"spine0", 1}, {"spine1", 1}, {"spine2", 1}, {"spine3", 1}}));
    EXPECT_EQ(reachable_from_first(fabric), fabric.node_count());
}

TEST(Rail, RailsWithTheirOwnSpinesAreSeparate) {
    const Fabric fabric = rail(
        {.units = 2, .servers_per_unit = 4, .rails = 3, .spines = 2, .parallel = 2, .layout = RailSpines::per_rail});

    EXPECT_EQ(fabric.nodes_of(NodeKind::switch_).size(), 6 + 6);
    EXPECT_EQ(reachable_from_first(fabric), fabric.node_count() / 3);
    EXPECT_EQ(neighbours(fabric, NodeId{4}), (std::map<std::string, int>{{"spine2", 2}, {"spine3", 2}}));
    for (const NodeId id : fabric.nodes_of(NodeKind::switch_))
        for (const Port& port : fabric.ports(id)) EXPECT_TRUE(port.connected());
}

TEST(Generators, RefuseImpossibleParameters) {
    const auto refuses = [](auto make, const char* why) {
        EXPECT_THAT([&] { (void)make(); }, ThrowsMessage<UsageError>(HasSubstr(why)));
    };

    refuses([] { return torus({.dimensions = {}}); }, "number of dimensions must be from 1");
    refuses([] { return torus({.dimensions = {4, 0}}); }, "size of a dimension must be from 1");
    refuses([] { return torus({.dimensions = {1000, 1000, 1000}}); }, "more than");
    refuses([] { return torus({.dimensions = {4, 4}, .radix = 4}); }, "needs 5 ports, but its switches have 4");
    refuses([] { return dragonfly({.routers = 4, .hosts = 2, .global = 2, .groups = 10}); },
            "from 2 to 9 groups, got 10");
    refuses([] { return dragonfly({.routers = 4, .hosts = 0, .global = 2}); }, "hosts of a router must be from 1");
    refuses([] { return dragonfly({.routers = 200, .hosts = 100, .global = 1}); }, "at most 254");
    refuses([] { return rail({.units = 2, .servers_per_unit = 4, .spines = 0}); }, "number of spines must be from 1");
    refuses([] { return rail({.units = 2, .servers_per_unit = 4, .spines = 2, .servers = 9}); },
            "places for 8 servers, got 9");
    refuses([] { return rail({.units = 40, .servers_per_unit = 4, .spines = 2}); }, "a spine needs 320 ports");
}

}  // namespace
}  // namespace loom::fabric
