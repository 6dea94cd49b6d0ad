#include "loom/routing/engine.hpp"

#include <gtest/gtest.h>

#include <map>

#include "loom/base/error.hpp"
#include "reference/fabrics.hpp"

namespace loom::routing {
namespace {

using reference::random_fabric;
using reference::torus;
using reference::two_level_tree;

// Follows the tables from s; the number of switch-to-switch hops, or -1 when the LID is not reached.
int walk(const SwitchGraph& graph, const Tables& tables, SwitchIndex s, const Destination& destination, Lid lid) {
    for (int hops = 0; hops <= static_cast<int>(graph.switch_count()); ++hops) {
        const std::uint8_t port = tables.port(s, lid);
        if (port == no_route || port > graph.port_count(s)) return -1;
        if (s == destination.sw && port == destination.port) return hops;
        if (port == 0) return -1;
        s = graph.next(graph.channel(s, port));
        if (s == none) return -1;
    }
    return -1;
}

std::vector<std::vector<int>> all_hops(const SwitchGraph& graph) {
    const std::size_t n = graph.switch_count();
    std::vector<std::vector<int>> hops(n, std::vector<int>(n, -1));
    for (SwitchIndex root = 0; root < n; ++root) {
        std::vector<SwitchIndex> queue{root};
        hops[root][root] = 0;
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (unsigned p = 1; p <= graph.port_count(queue[i]); ++p)
                if (const SwitchIndex to = graph.next(graph.channel(queue[i], p)); to != none && hops[root][to] < 0) {
                    hops[root][to] = hops[root][queue[i]] + 1;
                    queue.push_back(to);
                }
    }
    return hops;
}

TEST(Engines, AreFoundByNameAndTheNamesAreListedOtherwise) {
    EXPECT_EQ(find_engine("minhop").name, "minhop");
    try {
        (void)find_engine("fastest");
        FAIL() << "no error";
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("minhop"), std::string::npos) << error.what();
    }
}

class ShortestEngine : public testing::TestWithParam<const char*> {};

TEST_P(ShortestEngine, ReachesWhatCablesJoinInTheFewestHops) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        auto fabric = random_fabric(seed);
        const SwitchGraph graph(fabric);
        const auto hops = all_hops(graph);

        const Tables tables = find_engine(GetParam()).route(graph, {}).tables;

        for (const Destination& d : graph.destinations())
            for (unsigned k = 0; k < d.lid_count(); ++k)
                for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
                    ASSERT_EQ(walk(graph, tables, s, d, Lid{static_cast<std::uint16_t>(d.lid.value + k)}),
                              hops[s][d.sw])
                        << "seed " << seed << " switch " << s << " lid " << d.lid.value + k;
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

INSTANTIATE_TEST_SUITE_P(Routing, ShortestEngine, testing::Values("minhop", "sssp", "random"));

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
