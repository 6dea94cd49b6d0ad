// What every engine owes on every kind of fabric, whole and damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/engine.hpp"
#include "reference/check.hpp"
#include "reference/fabrics.hpp"

namespace loom::routing {
namespace {

using fabric::Fabric;
using testing::HasSubstr;

struct Case {
    std::string name;
    Fabric fabric;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all = [] {
        std::vector<Case> result;
        const auto add = [&](std::string name, Fabric fabric, std::uint8_t lmc = 0) {
            fabric.assign_lids(lmc);
            const bool has_spines =
                fabric::find_levels(fabric).top != 0;  // only they can go without taking hosts along
            for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                fabric::Damage what;
                what.seed = seed;
                what.links.share = 0.03 * static_cast<double>(seed);
                what.switches.count = has_spines ? seed - 1 : 0;
                result.push_back({name + " damaged " + std::to_string(seed), fabric::damage(fabric, what).fabric});
            }
            result.push_back({std::move(name), std::move(fabric)});
        };
        add("3-ary-3-tree", fabric::pgft(fabric::kary_tree(3, 3)));
        add("parallel cables, two LIDs a host", fabric::pgft({{4, 6}, {1, 3}, {1, 2}}), 1);
        add("clos", fabric::clos({.crossbar = 4, .depth = 2}));
        add("torus", fabric::torus({{5, 4}, 2}));
        add("3D torus", fabric::torus({{4, 3, 3}, 1}));
        add("mesh", fabric::torus({{5, 5}, 1, fabric::Wrap::mesh}));
        add("dragonfly", fabric::dragonfly({.routers = 4, .hosts = 2, .global = 2}));
        for (std::uint64_t seed = 1; seed <= 40; ++seed)
            result.push_back({"random " + std::to_string(seed), reference::random_fabric(seed, 20)});
        return result;
    }();
    return all;
}

class EveryEngine : public testing::TestWithParam<std::string> {};

TEST_P(EveryEngine, ReachesAllThatCablesJoinWithoutLoops) {
    const Engine& engine = find_engine(GetParam());
    for (const Case& c : cases()) {
        const SwitchGraph graph(c.fabric);
        RouteOptions options;
        options.lanes = 16;

        const Tables tables = engine.route(graph, options).tables;

        const CheckReport report = check(graph, tables);
        EXPECT_EQ(tables.engine, GetParam());
        EXPECT_TRUE(report.examples.empty()) << c.name << ": " << report.reason(graph);
    }
}

INSTANTIATE_TEST_SUITE_P(Routing, EveryEngine, testing::Values("minhop", "updn", "sssp", "dfsssp", "random"));

class DeadlockFreeEngine : public testing::TestWithParam<std::string> {};

TEST_P(DeadlockFreeEngine, HasNoCreditLoopOnAnyFabric) {
    const Engine& engine = find_engine(GetParam());
    for (const Case& c : cases()) {
        const SwitchGraph graph(c.fabric);
        RouteOptions options;
        options.lanes = 16;

        const Tables tables = engine.route(graph, options).tables;

        const CheckReport report = check(graph, tables);
        EXPECT_TRUE(report.loops.empty()) << c.name << ": " << to_text(graph, report);
        // updn keeps no promise about packets to switches that a damaged tree has no up/down route to.
        EXPECT_TRUE(GetParam() != "dfsssp" || report.management.channels.empty()) << c.name;
        const auto answer = reference::check(graph, tables);
        EXPECT_TRUE(answer.looping_lanes.empty()) << c.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Routing, DeadlockFreeEngine, testing::Values("updn", "dfsssp"));

TEST(UpDown, IsAsShortAsCanBeOnATree) {
    Fabric tree = fabric::pgft(fabric::kary_tree(4, 3));
    tree.assign_lids();
    const SwitchGraph graph(tree);

    const Routing routing = route_updn(graph, {});

    EXPECT_TRUE(routing.remarks.empty());
    EXPECT_EQ(check(graph, routing.tables).excess.size(), 1u);
}

TEST(UpDown, FollowsTheRootsItIsGiven) {
    Fabric tree = fabric::pgft(fabric::kary_tree(2, 2));
    tree.assign_lids();
    const SwitchGraph graph(tree);
    RouteOptions options;
    options.roots = {tree.node(graph.node(0)).guid};  // a leaf on top

    const Routing upside_down = route_updn(graph, options);

    EXPECT_TRUE(check(graph, upside_down.tables).ok());
    options.roots = {Guid{12345}};
    EXPECT_THROW((void)route_updn(graph, options), Error);
}

TEST(Dfsssp, NeedsOneLaneOnATreeAndMoreOnATorus) {
    Fabric tree = fabric::pgft(fabric::kary_tree(4, 3));
    tree.assign_lids();
    Fabric ring = fabric::torus({{6, 6}, 1});
    ring.assign_lids();
    const SwitchGraph tree_graph(tree), ring_graph(ring);

    const Tables on_tree = route_dfsssp(tree_graph, {}).tables;
    const Tables on_ring = route_dfsssp(ring_graph, {}).tables;

    EXPECT_FALSE(on_tree.has_lanes());
    EXPECT_GE(on_ring.lane_count(), 2u);
    EXPECT_LE(on_ring.lane_count(), 4u);
}

TEST(Dfsssp, EvensItsLanesOut) {
    Fabric ring = fabric::torus({{6, 6}, 1});
    ring.assign_lids();
    const SwitchGraph graph(ring);

    const Tables tables = route_dfsssp(graph, {}).tables;

    std::vector<std::size_t> load(tables.lane_count(), 0);
    std::size_t all = 0;
    for (const Destination& d : graph.destinations())
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
            if (s != d.sw) {
                ++load[tables.lane(s, d.lid)];
                ++all;
            }
    for (const std::size_t routes : load) EXPECT_GE(2 * load.size() * routes, all) << load.size() << " lanes";
}

TEST(Dfsssp, ReportsItsLanesAsProgress) {
    Fabric ring = fabric::torus({{6, 6}, 1});
    ring.assign_lids();
    const SwitchGraph graph(ring);
    std::vector<double> told;
    RouteOptions options;
    options.progress = [&](double share) { told.push_back(share); };

    const unsigned lanes = route_dfsssp(graph, options).tables.lane_count();

    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_GE(std::ranges::count_if(told, [](double share) { return share >= 0.2; }), lanes);
    EXPECT_LE(told.back(), 1.0);
}

TEST(Dfsssp, StopsWhenTheLanesDoNotSuffice) {
    Fabric ring = fabric::torus({{6, 6}, 1});
    ring.assign_lids();
    const SwitchGraph graph(ring);
    RouteOptions options;
    const unsigned needed = route_dfsssp(graph, options).tables.lane_count();
    ASSERT_GE(needed, 2u);
    options.lanes = needed - 1;

    try {
        (void)route_dfsssp(graph, options);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("needs more than " + std::to_string(needed - 1) + " virtual lane"));
    }
}

TEST(Sssp, LoadsTheChannelsOfATreeEvenly) {
    Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));
    tree.assign_lids();
    const SwitchGraph graph(tree);

    const CheckReport report = check(graph, route_sssp(graph, {}).tables);

    ASSERT_EQ(report.balance.size(), 2u);
    for (const LevelBalance& b : report.balance) {
        EXPECT_EQ(b.least, 12u);  // 4 hosts to 12 others over 4 cables
        EXPECT_EQ(b.most, 12u);
    }
}

// Above the leaves a channel carries the routes of hosts that hang below other switches.
TEST(Sssp, LoadsTheChannelsOfEveryLevelEvenly) {
    for (const fabric::Pgft& parameters : {fabric::kary_tree(4, 3), fabric::kary_tree(2, 4)}) {
        Fabric tree = fabric::pgft(parameters);
        tree.assign_lids();
        const SwitchGraph graph(tree);

        const CheckReport report = check(graph, route_sssp(graph, {}).tables);

        ASSERT_EQ(report.balance.size(), 2 * (parameters.children.size() - 1));
        for (const LevelBalance& b : report.balance) EXPECT_EQ(b.least, b.most) << "level " << int{b.level};
    }
}

}  // namespace
}  // namespace loom::routing
