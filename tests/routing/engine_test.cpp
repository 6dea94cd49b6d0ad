#include "loom/routing/engine.hpp"

#include <gtest/gtest.h>

#include <map>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/levels.hpp"
#include "reference/check.hpp"
#include "reference/fabrics.hpp"
#include "routing/balance.hpp"

namespace loom::routing {
namespace {

using reference::random_fabric;
using reference::torus;
using reference::two_level_tree;

constexpr std::array<std::uint64_t, fault_kinds> no_faults{};

TEST(Engines, AreFoundByNameAndTheNamesAreListedOtherwise) {
    EXPECT_EQ(find_engine("minhop").name, "minhop");
    try {
        (void)find_engine("fastest");
        FAIL() << "no error";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("minhop"), std::string::npos) << error.what();
    }
}

// The contract: a row for every destination there is, and a destination is what has a LID.
TEST(Engines, RouteToWhatHasALidAndToNothingElse) {
    enum class Who { nobody, roots, leaf_switches, some_hosts };
    for (const Engine& engine : engines())
        for (const Who who : {Who::nobody, Who::roots, Who::leaf_switches, Who::some_hosts})
            for (const auto& parameters : {fabric::kary_tree(4, 3), fabric::kary_tree(2, 1), fabric::kary_tree(3, 2)}) {
                fabric::Fabric tree = fabric::pgft(parameters);
                const fabric::Levels levels = fabric::find_levels(tree);
                std::uint16_t next = 1;
                for (std::uint32_t n = 0; n < tree.node_count(); ++n) {
                    const bool is_switch = tree.node(NodeId{n}).kind == fabric::NodeKind::switch_;
                    const bool has = who == Who::roots           ? is_switch && levels.level[n] == levels.top
                                     : who == Who::leaf_switches ? is_switch && levels.level[n] == 0
                                     : who == Who::some_hosts    ? !is_switch && n % 3 == 0
                                                                 : false;
                    if (has)
                        tree.port(NodeId{n}, PortNum{is_switch ? std::uint8_t{0} : std::uint8_t{1}}).lid = Lid{next++};
                }
                const SwitchGraph graph(tree);

                const Tables tables = engine.route(graph, {}).tables;

                EXPECT_EQ(reference::check(graph, tables).faults, no_faults) << engine.name;
                EXPECT_EQ(tables.top_lid().value, next - 1) << engine.name;
            }
}

class ShortestEngine : public testing::TestWithParam<const char*> {};

TEST_P(ShortestEngine, ReachesWhatCablesJoinInTheFewestHops) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        auto fabric = random_fabric(seed);
        const SwitchGraph graph(fabric);

        const Tables tables = find_engine(GetParam()).route(graph, {}).tables;

        const auto answer = reference::check(graph, tables);
        ASSERT_EQ(answer.faults, no_faults) << "seed " << seed;
        ASSERT_LE(answer.excess.size(), 1u) << "seed " << seed;
    }
}

TEST_P(ShortestEngine, GivesTheSameTablesForAnyNumberOfThreads) {
    const auto fabric = torus(5, 4, 3);
    const SwitchGraph graph(fabric);
    RouteOptions options;
    const Tables one = find_engine(GetParam()).route(graph, options).tables;
    options.threads = 3;

    const Tables three = find_engine(GetParam()).route(graph, options).tables;

    EXPECT_EQ(one, three);
}

INSTANTIATE_TEST_SUITE_P(Routing, ShortestEngine, testing::Values("minhop", "sssp", "dfsssp", "random"));

// As OpenSM does: switches with most hosts first, then by their GUIDs read from the last byte, then by port.
TEST(ServingOrder, BeginsWithTheSwitchOfMostHosts) {
    fabric::Fabric fabric;
    const NodeId few = fabric.add_node(fabric::NodeKind::switch_, 8, "few", Guid{0x0100});
    const NodeId later = fabric.add_node(fabric::NodeKind::switch_, 8, "later", Guid{0x0102});
    const NodeId many = fabric.add_node(fabric::NodeKind::switch_, 8, "many", Guid{0x0201});
    const auto plug = [&](NodeId leaf, std::uint8_t port, const char* name) {
        fabric.connect(fabric.add_node(fabric::NodeKind::host, 1, name), PortNum{1}, leaf, PortNum{port});
    };
    plug(few, 1, "a");
    plug(later, 2, "c");
    plug(later, 1, "b");
    plug(many, 2, "e");
    plug(many, 1, "d");
    fabric.connect(few, PortNum{8}, later, PortNum{8});
    fabric.connect(few, PortNum{7}, many, PortNum{8});
    fabric.assign_lids();
    const SwitchGraph graph(fabric);

    std::string names;
    for (const std::uint32_t d : serving_order(graph))
        names += fabric.node(fabric.port(graph.destinations()[d].end).node).name + " ";

    EXPECT_EQ(names, "d e b c a few later many ");
}

TEST(MinHop, SpreadsTheHostsOfALeafEvenlyOverItsRoots) {
    const auto fabric = two_level_tree(4, 6, 3);
    const SwitchGraph graph(fabric);

    const Tables tables = route_minhop(graph, {}).tables;

    for (SwitchIndex leaf = 0; leaf < 4; ++leaf) {
        std::map<unsigned, int> routes;
        for (const Destination& d : graph.host_destinations())
            if (d.sw != leaf) ++routes[tables.port(leaf, d.lid)];
        for (unsigned port = 7; port <= 9; ++port) EXPECT_EQ(routes[port], 6) << "leaf " << leaf << " port " << port;
    }
}

TEST(MinHop, SendsTheLidsOfOneHostThroughDifferentSwitches) {
    const auto fabric = two_level_tree(3, 4, 4, 1, 2);
    const SwitchGraph graph(fabric);

    const Tables tables = route_minhop(graph, {}).tables;

    for (const Destination& d : graph.host_destinations())
        for (SwitchIndex leaf = 0; leaf < 3; ++leaf) {
            if (leaf == d.sw) continue;
            std::map<unsigned, int> used;
            for (unsigned k = 0; k < 4; ++k)
                ++used[tables.port(leaf, Lid{static_cast<std::uint16_t>(d.lid.value + k)})];
            EXPECT_EQ(used.size(), 4u) << "leaf " << leaf << " lid " << d.lid.value;
        }
}

TEST(RandomEngine, FollowsItsSeed) {
    const auto fabric = two_level_tree(4, 8, 6);
    const SwitchGraph graph(fabric);
    RouteOptions options;
    const Tables first = route_random(graph, options).tables;
    const Tables again = route_random(graph, options).tables;
    options.seed = 2;

    const Tables other = route_random(graph, options).tables;

    EXPECT_EQ(first, again);
    EXPECT_NE(first, other);
}

}  // namespace
}  // namespace loom::routing
