// Fat trees as they are in machine rooms: what ftree owes when levels, hosts and cables are not as drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/fabric/oddities.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/engine.hpp"
#include "reference/check.hpp"
#include "reference/shift.hpp"

namespace loom::routing {
namespace {

using fabric::Fabric;
using fabric::kary_tree;
using fabric::NodeKind;
using fabric::Pgft;
using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<Pgft> roomy_trees() {
    std::vector<Pgft> trees{kary_tree(4, 2), kary_tree(3, 3), kary_tree(4, 3),
                            Pgft{.children = {4, 4, 2}, .parents = {1, 2, 2}, .parallel = {1, 2, 2}}};
    for (Pgft& tree : trees) tree.radix = 16;
    return trees;
}

// One host more on each of the first `spines` switches above the leaves, from the roots downwards.
void add_spine_hosts(Fabric& fabric, std::size_t spines) {
    const std::vector<NodeId> switches = fabric.nodes_of(NodeKind::switch_);
    for (std::size_t i = 0; i < spines; ++i)
        fabric.connect(switches[switches.size() - 1 - i], PortNum{16},
                       fabric.add_node(NodeKind::host, 1, "storage" + std::to_string(i)), PortNum{1});
}

void expect_sound(const Fabric& fabric, const std::string& what) {
    const SwitchGraph graph(fabric);
    const Tables tables = route_ftree(graph, {}).tables;
    const auto answer = reference::check(graph, tables);
    EXPECT_TRUE(answer.looping_lanes.empty()) << what;
    EXPECT_TRUE(check(graph, tables).examples.empty()) << what;
}

TEST(FtreeReal, HostsOnSpinesNeverDeadlockWholeOrDamaged) {
    for (const Pgft& tree : roomy_trees())
        for (const std::size_t spines : {0u, 1u, 2u, 4u})
            for (std::uint64_t seed = 0; seed < 8; ++seed) {
                Fabric whole = pgft(tree);
                add_spine_hosts(whole, spines);
                Fabric fabric =
                    seed == 0
                        ? std::move(whole)
                        : damage(whole, {.seed = seed, .links = {.share = 0.04 * static_cast<double>(seed)}}).fabric;
                fabric.clear_lids();
                fabric.assign_lids();

                expect_sound(fabric, std::to_string(spines) + " spine hosts, seed " + std::to_string(seed));
            }
}

TEST(FtreeReal, AggregationNodesOnEverySwitchNeverDeadlock) {
    for (const Pgft& tree : roomy_trees())
        for (std::uint64_t seed = 0; seed < 6; ++seed) {
            Fabric fabric = with_aggregation_nodes(pgft(tree));
            if (seed != 0) fabric = damage(fabric, {.seed = seed, .links = {.count = seed}}).fabric;
            fabric.clear_lids();
            fabric.assign_lids();

            expect_sound(fabric, "seed " + std::to_string(seed));
        }
}

TEST(FtreeReal, AggregationNodesCostTheHostsNothing) {
    Fabric fabric = with_aggregation_nodes(pgft(roomy_trees()[2]));
    fabric.clear_lids();
    fabric.assign_lids();
    const SwitchGraph graph(fabric);

    const Routing routing = route_ftree(graph, {});

    EXPECT_EQ(routing.tables.engine, "ftree");
    EXPECT_EQ(reference::shift_contention(graph, routing.tables, host_order(fabric)).worst, 1u);
}

TEST(FtreeReal, NetworksThatNoWayUpAndDownJoinsAreRoutedAroundOneRootAndToldSo) {
    Fabric fabric = fabric::clos({.crossbar = 8, .up = 1, .down = 3, .ports = 528, .depth = 2});
    fabric.assign_lids();
    const SwitchGraph graph(fabric);

    const Routing routing = route_ftree(graph, {});

    EXPECT_TRUE(check(graph, routing.tables).ok());
    EXPECT_THAT(routing.remarks, Contains(HasSubstr("routed up/down around one root instead")));
}

// Least contention is not proven anywhere; less than balanced shortest paths have, in sum, is what damage must leave.
TEST(FtreeReal, DamagedTreesHaveLessContentionThanMinhopInSum) {
    for (const Pgft& tree :
         {kary_tree(4, 3), Pgft{.children = {4, 4, 3}, .parents = {1, 2, 2}, .parallel = {1, 2, 2}}}) {
        double ftree = 0, minhop = 0;
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            Fabric fabric = damage(pgft(tree), {.seed = seed, .links = {.count = 1 + seed % 4}}).fabric;
            fabric.clear_lids();
            fabric.assign_lids();
            const SwitchGraph graph(fabric);
            const auto order = host_order(fabric);
            ftree += reference::shift_contention(graph, route_ftree(graph, {}).tables, order).mean;
            minhop += reference::shift_contention(graph, route_minhop(graph, {}).tables, order).mean;
        }
        EXPECT_LT(ftree, 0.75 * minhop);
    }
}

TEST(FtreeReal, SaysWhatAMissingCableCosts) {
    Fabric fabric = pgft(kary_tree(4, 3));
    fabric.disconnect(NodeId{0}, PortNum{6});
    fabric.assign_lids();

    const Routing routing = route_ftree(SwitchGraph(fabric), {});

    EXPECT_THAT(routing.remarks, Contains("1 host could not have the way down that the whole tree would give"));
    EXPECT_THAT(routing.remarks,
                Contains("the busiest channel down to level 0 leads to 2 LIDs, a whole tree's would to 1"));
}

TEST(FtreeReal, SmallDamagedTreesWithHostsOnSpinesAreStillTrees) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Fabric whole = pgft(roomy_trees()[0]);
        add_spine_hosts(whole, 2);
        Fabric fabric = damage(whole, {.seed = seed, .links = {.count = 2}}).fabric;
        fabric.clear_lids();
        fabric.assign_lids();

        const fabric::Levels levels = find_levels(fabric);

        EXPECT_EQ(levels.leaf_order.size(), 4u) << "seed " << seed;
        EXPECT_NO_THROW((void)route_ftree(SwitchGraph(fabric), {})) << "seed " << seed;
    }
}

}  // namespace
}  // namespace loom::routing
