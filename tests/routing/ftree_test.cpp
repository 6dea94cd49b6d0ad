#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/routing/engine.hpp"
#include "reference/relabel.hpp"
#include "reference/shift.hpp"
#include "reference/zahavi.hpp"

namespace loom::routing {
namespace {

using fabric::Fabric;
using fabric::kary_tree;
using fabric::merge_roots;
using fabric::NodeKind;
using fabric::Pgft;
using ::testing::HasSubstr;

// Full bisection bandwidth: at every level as many cables up as down.
std::vector<Pgft> one_to_one_trees() {
    return {kary_tree(2, 2),
            kary_tree(4, 2),
            kary_tree(3, 3),
            kary_tree(4, 3),
            kary_tree(2, 4),
            merge_roots(kary_tree(4, 2)),
            merge_roots(kary_tree(4, 3)),
            kary_tree(5, 1),
            merge_roots(kary_tree(2, 4)),
            Pgft{.children = {3, 4}, .parents = {1, 4}},                               // leaves not full
            Pgft{.children = {4, 4, 2}, .parents = {1, 4, 4}},                         // half a 4-ary 3-tree
            Pgft{.children = {4, 4, 2}, .parents = {1, 4, 2}, .parallel = {1, 1, 2}},  // ... with merged roots
            Pgft{.children = {4, 4, 3}, .parents = {1, 4, 4}},                         // three quarters
            Pgft{.children = {6, 3, 4}, .parents = {1, 3, 2}, .parallel = {1, 2, 3}}};
}

struct Routed {
    Fabric fabric;
    Routing routing;
};

// Whole and relabelled trees have LIDs in file order, so that LID order is not host order.
Routed route(Fabric fabric, Routing (*engine)(const SwitchGraph&, const RouteOptions&),
             const RouteOptions& options = {}, std::uint8_t lmc = 0) {
    fabric.assign_lids(lmc);
    Routed result{std::move(fabric), {}};
    result.routing = engine(SwitchGraph(result.fabric), options);
    return result;
}

reference::ShiftContention contention(const Routed& routed, unsigned lid_offset = 0) {
    const SwitchGraph graph(routed.fabric);
    return reference::shift_contention(graph, routed.routing.tables, host_order(routed.fabric), lid_offset);
}

void expect_every_lid_reached(const Routed& routed) {
    const SwitchGraph graph(routed.fabric);
    std::size_t lost = 0;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const Destination& to : graph.destinations())
            for (unsigned offset = 0; offset < to.lid_count(); ++offset)
                lost += !reference::trace_route(graph, routed.routing.tables, s, to,
                                                Lid{static_cast<std::uint16_t>(to.lid.value + offset)});
    EXPECT_EQ(lost, 0u);
}

TEST(Ftree, ShiftsMeetNoContentionOnOneToOneTreesInAnyFileOrder) {
    for (const Pgft& tree : one_to_one_trees())
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            const Routed routed = route(seed == 0 ? pgft(tree) : reference::relabel(pgft(tree), seed), route_ftree);

            const reference::ShiftContention found = contention(routed);

            EXPECT_EQ(found.worst, 1u) << ::testing::PrintToString(tree.children)
                                       << ::testing::PrintToString(tree.parallel) << " seed " << seed;
            EXPECT_EQ(found.lost, 0u);
            EXPECT_TRUE(routed.routing.remarks.empty()) << routed.routing.remarks.front();
            expect_every_lid_reached(routed);
        }
}

TEST(Dmodk, ShiftsMeetNoContentionOnOneToOneTreesInAnyFileOrder) {
    for (const Pgft& tree : one_to_one_trees())
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            const Routed routed = route(seed == 0 ? pgft(tree) : reference::relabel(pgft(tree), seed), route_dmodk);

            const reference::ShiftContention found = contention(routed);

            EXPECT_EQ(found.worst, 1u) << ::testing::PrintToString(tree.children) << " seed " << seed;
            EXPECT_EQ(found.lost, 0u);
            expect_every_lid_reached(routed);
        }
}

TEST(Ftree, HalfTheCablesGiveTwiceTheContention) {
    for (const Pgft& tree :
         {Pgft{.children = {4, 8}, .parents = {1, 2}}, Pgft{.children = {4, 4, 2}, .parents = {1, 2, 4}},
          Pgft{.children = {4, 4, 2}, .parents = {1, 4, 2}}})
        EXPECT_EQ(contention(route(pgft(tree), route_ftree)).worst, 2u);
}

// Every hop of every way between hosts is the one that the paper's recursion with counters takes.
TEST(Ftree, EqualsThePrintedAlgorithmsOnTreesWithoutParallelCables) {
    for (const Pgft& tree :
         {kary_tree(2, 2), kary_tree(4, 2), kary_tree(3, 3), kary_tree(4, 3), kary_tree(2, 4),
          Pgft{.children = {4, 4, 2}, .parents = {1, 4, 4}}, Pgft{.children = {4, 4, 2}, .parents = {1, 2, 4}},
          Pgft{.children = {4, 4, 2}, .parents = {1, 4, 2}}}) {
        const Routed routed = route(pgft(tree), route_ftree);
        const SwitchGraph graph(routed.fabric);

        const Tables printed = reference::Zahavi(graph, find_levels(routed.fabric)).run();

        for (const Destination& from : graph.host_destinations())
            for (const Destination& to : graph.host_destinations())
                EXPECT_EQ(reference::trace_route(graph, routed.routing.tables, from.sw, to, to.lid),
                          reference::trace_route(graph, printed, from.sw, to, to.lid));
    }
}

TEST(Ftree, ThePrintedAlgorithmsHaveNoMoreAndNoLessContention) {
    for (const Pgft& tree : one_to_one_trees()) {
        Fabric fabric = pgft(tree);
        fabric.assign_lids();
        const SwitchGraph graph(fabric);

        const Tables printed = reference::Zahavi(graph, find_levels(fabric)).run();

        EXPECT_EQ(reference::shift_contention(graph, printed, host_order(fabric)).worst, 1u);
    }
}

TEST(Ftree, EveryLidOfAHostHasItsOwnContentionFreeWay) {
    const Routed routed = route(pgft(kary_tree(4, 3)), route_ftree, {}, 2);

    for (unsigned offset = 0; offset < 4; ++offset) EXPECT_EQ(contention(routed, offset).worst, 1u);
    const SwitchGraph graph(routed.fabric);
    const Destination& far = graph.host_destinations().back();
    std::set<std::uint8_t> first_ports;
    for (unsigned offset = 0; offset < 4; ++offset)
        first_ports.insert(routed.routing.tables.port(0, Lid{static_cast<std::uint16_t>(far.lid.value + offset)}));
    EXPECT_EQ(first_ports.size(), 4u);
}

TEST(Ftree, TablesDoNotDependOnTheNumberOfThreads) {
    Fabric fabric = pgft(kary_tree(4, 3));
    for (const unsigned port : {5u, 7u}) fabric.disconnect(NodeId{3}, PortNum{static_cast<std::uint8_t>(port)});
    fabric.assign_lids();
    const SwitchGraph graph(fabric);

    const Routing one = route_ftree(graph, {.threads = 1}), three = route_ftree(graph, {.threads = 3});

    EXPECT_EQ(one.tables, three.tables);
}

TEST(Ftree, FewerHostsLeaveContentionAtOneWhereTheTreeDivides) {
    Pgft tree = kary_tree(4, 3);
    tree.hosts_per_leaf = 2;

    EXPECT_EQ(contention(route(pgft(tree), route_ftree)).worst, 1u);
}

// Cables removed at random; hosts stay.
Fabric damaged(const Pgft& tree, unsigned cables, std::uint64_t seed) {
    Fabric fabric = pgft(tree);
    Random random(seed);
    for (unsigned removed = 0; removed < cables;) {
        const PortIndex index{random.below(static_cast<std::uint32_t>(fabric.port_count()))};
        const fabric::Port& port = fabric.port(index);
        if (!port.connected() || fabric.node(port.node).kind != NodeKind::switch_ ||
            fabric.node(fabric.port(port.peer).node).kind != NodeKind::switch_)
            continue;
        fabric.disconnect(port.node, port.number);
        ++removed;
    }
    return fabric;
}

TEST(Ftree, RoutesDamagedTreesWhollyAndSaysWhatIsMissing) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Routed routed = route(
            reference::relabel(damaged(kary_tree(4, 3), 1 + static_cast<unsigned>(seed) % 7, seed), seed), route_ftree);

        expect_every_lid_reached(routed);
        EXPECT_EQ(contention(routed).lost, 0u);
        ASSERT_FALSE(routed.routing.remarks.empty());
        EXPECT_THAT(routed.routing.remarks.front(), HasSubstr("where its level should have"));
    }
}

TEST(Ftree, OneMissingCableCostsOneShare) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        EXPECT_LE(contention(route(damaged(kary_tree(4, 3), 1, seed), route_ftree)).worst, 2u) << seed;
}

// Where hosts are missing, how they are numbered decides. The figures are those of OpenSM 3.3's ftree on the same
// fabrics; numbering by rank alone is worse than it on each of them.
TEST(Ftree, NumbersHostsNoWorseThanOpensmDoesWhenSomeAreMissing) {
    struct Case {
        Pgft tree;
        double share;
        std::uint64_t seed;
        unsigned worst;
        double mean;
    };
    const Pgft doubled{.children = {4, 4, 3}, .parents = {1, 2, 2}, .parallel = {1, 2, 2}};
    for (const Case& c : {Case{kary_tree(4, 2), 0.1, 3, 2, 1.2308}, Case{kary_tree(4, 2), 0.1, 5, 2, 1.2308},
                          Case{Pgft{.children = {6, 6}, .parents = {1, 3}}, 0.4, 9, 3, 1.8571},
                          Case{doubled, 0.1, 4, 3, 2.0}, Case{doubled, 0.1, 11, 3, 1.9286}}) {
        Fabric fabric = damage(pgft(c.tree), {.seed = c.seed, .hosts = {.share = c.share}}).fabric;

        const reference::ShiftContention found = contention(route(std::move(fabric), route_ftree));

        EXPECT_LE(found.worst, c.worst);
        EXPECT_LE(found.mean, c.mean + 1e-4);
    }
}

TEST(Ftree, PlaceKeepersLeaveOtherRoutesAloneWhenAHostGoes) {
    Fabric whole = pgft(kary_tree(4, 3));
    whole.assign_lids();
    Fabric fewer = whole;
    fewer.disconnect(NodeId{5}, PortNum{2});  // the second host of the sixth leaf

    const Routing before = route_ftree(SwitchGraph(whole), {.place_keepers = true});
    const SwitchGraph graph(fewer);
    const Routing after = route_ftree(graph, {.place_keepers = true});

    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const Destination& to : graph.host_destinations())
            EXPECT_EQ(before.tables.port(s, to.lid), after.tables.port(s, to.lid))
                << "switch " << s << " LID " << to.lid.value;
}

TEST(Ftree, PlaceKeepersHoldWhenALeafLosesItsLastHost) {
    Pgft tree = kary_tree(4, 3);
    tree.hosts_per_leaf = 1;
    Fabric whole = pgft(tree);
    whole.assign_lids();
    Fabric fewer = whole;
    fewer.disconnect(NodeId{5}, PortNum{1});

    const Routing before = route_ftree(SwitchGraph(whole), {.place_keepers = true});
    const SwitchGraph graph(fewer);
    const Routing after = route_ftree(graph, {.place_keepers = true});

    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const Destination& to : graph.host_destinations())
            EXPECT_EQ(before.tables.port(s, to.lid), after.tables.port(s, to.lid));
}

TEST(Ftree, HostsOnSpinesReachEachOther) {
    Pgft tree = kary_tree(4, 3);
    tree.radix = 12;
    Fabric fabric = pgft(tree);
    int added = 0;
    for (const NodeId sw : fabric.nodes_of(NodeKind::switch_))
        if (const std::string& name = fabric.node(sw).name; name.starts_with("L2") || name == "L1-03") {
            const NodeId host = fabric.add_node(NodeKind::host, 1, "storage" + std::to_string(added++));
            fabric.connect(sw, PortNum{12}, host, PortNum{1});
        }

    const Routed routed = route(std::move(fabric), route_ftree);

    expect_every_lid_reached(routed);
    EXPECT_THAT(routed.routing.remarks, ::testing::Contains(HasSubstr("17 hosts sit above the leaves")));
}

TEST(Ftree, ParallelCablesToATopSwitchWithHostsAreShared) {
    Fabric fabric;  // two switches joined by three cables, three hosts on each
    const NodeId a = fabric.add_node(NodeKind::switch_, 8, "A"), b = fabric.add_node(NodeKind::switch_, 8, "B");
    for (std::uint8_t port = 1; port <= 3; ++port) {
        fabric.connect(a, PortNum{port}, b, PortNum{port});
        for (const NodeId sw : {a, b})
            fabric.connect(sw, PortNum{static_cast<std::uint8_t>(port + 3)}, fabric.add_node(NodeKind::host, 1, "host"),
                           PortNum{1});
    }

    EXPECT_EQ(contention(route(std::move(fabric), route_ftree)).worst, 1u);
}

TEST(Ftree, RefusesARingAndSaysWhy) {
    Fabric fabric;
    std::vector<NodeId> ring;
    for (int i = 0; i < 6; ++i) ring.push_back(fabric.add_node(NodeKind::switch_, 4, "S" + std::to_string(i)));
    for (std::size_t i = 0; i < 6; ++i) fabric.connect(ring[i], PortNum{1}, ring[(i + 1) % 6], PortNum{2});
    for (const NodeId sw : ring)
        fabric.connect(sw, PortNum{3}, fabric.add_node(NodeKind::host, 1, "h" + std::to_string(sw.value)), PortNum{1});

    try {
        route(std::move(fabric), route_ftree);
        FAIL() << "a ring was routed";
    } catch (const ShapeError& error) {
        EXPECT_THAT(
            error.what(),
            HasSubstr("not a fat tree: 6 of 6 cables between switches join two of one level; the first is at S0"));
    }
}

TEST(Dmodk, RefusesADamagedTreeAndNamesTheFirstSwitchThatDiffers) {
    Fabric fabric = pgft(kary_tree(4, 3));
    fabric.disconnect(NodeId{2}, PortNum{6});

    try {
        route(std::move(fabric), route_dmodk);
        FAIL() << "a damaged tree was routed";
    } catch (const ShapeError& error) {
        EXPECT_THAT(error.what(), HasSubstr("switch L0-02 of level 0 has 3 up-going groups of 1 port where its "
                                            "level should have 4 up-going groups of 1 port"));
    }
}

}  // namespace
}  // namespace loom::routing
