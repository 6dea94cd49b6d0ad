#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/fabric/generate.hpp"
#include "reference/pgft.hpp"

namespace loom::fabric {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Cables of a generated tree in the reference's terms: nodes by level and place.
reference::PgftCables cables_of(const Fabric& fabric, const Pgft& p) {
    const std::size_t height = p.children.size();
    std::vector<std::pair<std::size_t, std::size_t>> seat;  // by NodeId: level and place
    for (std::size_t i = 0; i <= height; ++i) {
        const std::size_t level = (i + 1) % (height + 1);  // leaves up to roots, then hosts
        const std::size_t count = reference::pgft_level(p.children, p.parents, level).size();
        for (std::size_t place = 0; place < count; ++place) seat.emplace_back(level, place);
    }
    EXPECT_EQ(seat.size(), fabric.node_count());

    reference::PgftCables cables;
    for (const Port& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        const auto [level, place] = seat[port.node.value];
        const auto [other_level, other_place] = seat[fabric.port(port.peer).node.value];
        if (other_level == level + 1) ++cables[{other_level, place, other_place}];
    }
    return cables;
}

Pgft random_tree(Random& random) {
    Pgft p;
    const unsigned height = 1 + random.below(4);
    for (unsigned i = 0; i < height; ++i) {
        p.children.push_back(1 + random.below(4));
        p.parents.push_back(i == 0 ? 1 + random.below(2) : 1 + random.below(3));
        p.parallel.push_back(1 + random.below(3));
    }
    p.up_order = random.below(2) ? ParallelOrder::adjacent : ParallelOrder::round_robin;
    p.down_order = random.below(2) ? ParallelOrder::adjacent : ParallelOrder::round_robin;
    return p;
}

TEST(Pgft, EqualsTheDefinitionOnRandomTrees) {
    Random random(7);
    for (int i = 0; i < 200; ++i) {
        const Pgft p = random_tree(random);

        const Fabric fabric = pgft(p);

        EXPECT_EQ(cables_of(fabric, p), reference::pgft_cables(p.children, p.parents, p.parallel)) << fabric.title;
    }
}

TEST(Pgft, EverySwitchPortIsUsedUnlessARadixIsGiven) {
    Random random(8);
    for (int i = 0; i < 50; ++i) {
        Pgft p = random_tree(random);

        const Fabric exact = pgft(p);
        p.radix = 40;
        const Fabric roomy = pgft(p);

        for (const Port& port : exact.all_ports())
            EXPECT_TRUE(port.connected() || port.number.value == 0) << exact.title;
        EXPECT_EQ(exact.link_count(), roomy.link_count());
        for (const NodeId id : roomy.nodes_of(NodeKind::switch_)) EXPECT_EQ(roomy.node(id).ports, 40);
    }
}

TEST(Pgft, PortsAreChildrenThenParentsInOrder) {
    const Fabric fabric = pgft(kary_tree(2, 2));

    const auto peer = [&](unsigned node, unsigned port) {
        const Port& other = fabric.port(fabric.port(NodeId{node}, PortNum{static_cast<std::uint8_t>(port)}).peer);
        return describe(fabric, other.node, other.number);
    };

    EXPECT_EQ(peer(0, 1), "host0 port 1");
    EXPECT_EQ(peer(1, 2), "host3 port 1");
    EXPECT_EQ(peer(1, 3), "L1-0 port 2");
    EXPECT_EQ(peer(1, 4), "L1-1 port 2");
    EXPECT_EQ(fabric.title, "PGFT(2; 2,2; 1,2; 1,1)");
}

TEST(Pgft, ParallelCablesAreNextToEachOtherOrTakeTurns) {
    Pgft p{.children = {1, 2}, .parents = {1, 2}, .parallel = {1, 2}};
    const auto up_names = [&] {
        const Fabric fabric = pgft(p);
        std::string names;
        for (const Port& port : fabric.ports(NodeId{0}).subspan(1))
            names += fabric.node(fabric.port(port.peer).node).name + " ";
        return names;
    };

    p.up_order = ParallelOrder::adjacent;
    const std::string adjacent = up_names();
    p.up_order = ParallelOrder::round_robin;
    const std::string round_robin = up_names();

    EXPECT_EQ(adjacent, "L1-0 L1-0 L1-1 L1-1 ");
    EXPECT_EQ(round_robin, "L1-0 L1-1 L1-0 L1-1 ");
}

TEST(Pgft, KaryTreeHasTheTextbookCounts) {
    for (unsigned k = 2; k <= 6; ++k)
        for (unsigned n = 1; n <= 3; ++n) {
            const Fabric fabric = pgft(kary_tree(k, n));

            std::size_t hosts = 1;
            for (unsigned i = 0; i < n; ++i) hosts *= k;
            EXPECT_EQ(fabric.nodes_of(NodeKind::host).size(), hosts);
            EXPECT_EQ(fabric.nodes_of(NodeKind::switch_).size(), n * hosts / k);
            EXPECT_EQ(fabric.link_count(), n * hosts);
        }
}

TEST(Pgft, MergedRootsKeepEveryCable) {
    const Fabric whole = pgft(kary_tree(4, 3));
    const Fabric merged = pgft(merge_roots(kary_tree(4, 3)));

    EXPECT_EQ(merged.node_count(), whole.node_count() - 8);
    EXPECT_EQ(merged.link_count(), whole.link_count());
    EXPECT_THAT([] { (void)merge_roots(kary_tree(3, 2)); }, ThrowsMessage<UsageError>(HasSubstr("3 parents")));
}

TEST(Pgft, MissingHostsLeaveTheirPortsOpen) {
    Pgft p = kary_tree(4, 2);
    p.hosts_per_leaf = 3;
    p.hosts = 10;

    const Fabric fabric = pgft(p);

    std::vector<unsigned> attached;
    for (unsigned leaf = 0; leaf < 4; ++leaf) {
        attached.push_back(0);
        for (const Port& port : fabric.ports(NodeId{leaf}).first(4)) attached.back() += port.connected();
    }
    EXPECT_EQ(fabric.nodes_of(NodeKind::host).size(), 10);
    EXPECT_EQ(attached, (std::vector<unsigned>{3, 3, 3, 1}));
    EXPECT_FALSE(fabric.port(NodeId{0}, PortNum{4}).connected());
    EXPECT_TRUE(fabric.port(NodeId{0}, PortNum{5}).connected());
}

TEST(Pgft, LargeSubnetFitsItsLids) {
    Fabric fabric = pgft({.children = {32, 32, 44}, .parents = {1, 32, 32}, .radix = 64});

    fabric.assign_lids();

    EXPECT_EQ(fabric.nodes_of(NodeKind::host).size(), 45056);
    EXPECT_EQ(fabric.nodes_of(NodeKind::switch_).size(), 3840);
    std::set<std::uint16_t> lids;
    std::set<std::uint64_t> guids;
    for (const Port& port : fabric.all_ports()) {
        if (port.lid != no_lid) lids.insert(port.lid.value);
        if (port.guid == no_guid) continue;
        EXPECT_TRUE(guids.insert(port.guid.value).second) << to_string(port.guid);
    }
    EXPECT_EQ(lids.size(), 48896);
}

TEST(Pgft, RefusesParametersThatMakeNoTree) {
    const auto refuses = [](const Pgft& p, const char* why) {
        EXPECT_THAT([&] { (void)pgft(p); }, ThrowsMessage<UsageError>(HasSubstr(why)));
    };

    refuses({.children = {}, .parents = {}}, "as many parents as children, got 0 and 0");
    refuses({.children = {4, 4}, .parents = {1}}, "got 1 and 2");
    refuses({.children = {4, 4}, .parents = {1, 4}, .parallel = {1}}, "2 levels");
    refuses({.children = {4, 0}, .parents = {1, 4}}, "children of level 2 must be from 1");
    refuses({.children = {4, 4}, .parents = {1, 4}, .radix = 7}, "needs 8 ports, but its switches have 7");
    refuses({.children = {200, 4}, .parents = {1, 100}}, "at most 254");
    refuses({.children = {4, 4}, .parents = {1, 4}, .hosts_per_leaf = 5}, "places for 4 hosts");
    refuses({.children = {4, 4}, .parents = {1, 4}, .hosts = 17}, "places for 16 hosts, got 17");
    refuses({.children = {4000000, 4000000}, .parents = {1, 4}}, "more than 4194304 nodes");
}

}  // namespace
}  // namespace loom::fabric
