#include "loom/routing/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/engine.hpp"
#include "reference/check.hpp"
#include "reference/fabrics.hpp"

namespace loom::routing {
namespace {

using testing::HasSubstr;

void expect_equal(const SwitchGraph& graph, const Tables& tables, std::uint64_t seed, unsigned threads) {
    CheckOptions options;
    options.threads = threads;
    const CheckReport report = check(graph, tables, options);
    const auto expected = reference::check(graph, tables);

    EXPECT_EQ(report.routes, expected.routes) << "seed " << seed;
    EXPECT_EQ(report.faults, expected.faults) << "seed " << seed;
    const auto as_map = [](const std::vector<std::uint64_t>& counts) {
        std::map<unsigned, std::uint64_t> map;
        for (unsigned i = 0; i < counts.size(); ++i)
            if (counts[i] != 0) map[i] = counts[i];
        return map;
    };
    EXPECT_EQ(as_map(report.hops), expected.hops) << "seed " << seed;
    EXPECT_EQ(as_map(report.excess), expected.excess) << "seed " << seed;
    EXPECT_EQ(report.load, expected.load) << "seed " << seed;
    std::set<unsigned> lanes;
    for (const CreditLoop& loop : report.loops) {
        lanes.insert(loop.lane);
        ASSERT_FALSE(loop.channels.empty());
        for (std::size_t i = 0; i < loop.channels.size(); ++i)
            EXPECT_EQ(graph.next(loop.channels[i]), graph.owner(loop.channels[(i + 1) % loop.channels.size()]))
                << "seed " << seed;
    }
    EXPECT_EQ(lanes, expected.looping_lanes) << "seed " << seed;
    EXPECT_EQ(!report.management.channels.empty(), expected.management_loop) << "seed " << seed;
}

TEST(Check, EqualsTheWalkOfAllPairsOnGoodTables) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const auto fabric = reference::random_fabric(seed);
        const SwitchGraph graph(fabric);

        const Tables tables = route_random(graph, {}).tables;

        expect_equal(graph, tables, seed, static_cast<unsigned>(1 + seed % 3));
    }
}

TEST(Check, EqualsTheWalkOfAllPairsOnBrokenTablesWithLanes) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const auto fabric = reference::random_fabric(seed);
        const SwitchGraph graph(fabric);
        Random random(seed);
        Tables tables = route_minhop(graph, {}).tables;

        for (unsigned i = random.below(20); i > 0; --i) {
            const SwitchIndex s = random.below(graph.switch_count());
            const Lid lid{static_cast<std::uint16_t>(random.below(tables.top_lid().value + 1u))};
            const unsigned port = random.below(graph.port_count(s) + 3);  // beyond the last as well
            tables.set(s, lid, random.below(6) == 0 ? no_route : static_cast<std::uint8_t>(port));
        }
        if (random.below(2) == 0) {
            tables.use_lanes();
            for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
                for (unsigned lid = 0; lid <= tables.top_lid().value; ++lid)
                    tables.set_lane(s, Lid{static_cast<std::uint16_t>(lid)},
                                    static_cast<std::uint8_t>(random.below(3)));
        }

        expect_equal(graph, tables, seed, static_cast<unsigned>(1 + seed % 2));
    }
}

TEST(Check, NamesTheChannelsOfTheLoopOnARing) {
    const auto fabric = reference::torus(5, 1, 2);
    const SwitchGraph graph(fabric);
    Tables tables(graph.switch_count(), graph.top_lid());
    for (const Destination& d : graph.destinations())  // always clockwise: port 1 leads to the next switch
        for (SwitchIndex s = 0; s < 5; ++s)
            for (unsigned p = 1; p <= graph.port_count(s) && s != d.sw; ++p)
                if (graph.next(graph.channel(s, p)) == (s + 1) % 5) tables.set(s, d.lid, static_cast<std::uint8_t>(p));
    for (const Destination& d : graph.destinations()) tables.set(d.sw, d.lid, d.port);

    const CheckReport report = check(graph, tables);

    EXPECT_FALSE(report.ok());
    ASSERT_EQ(report.loops.size(), 1u);
    EXPECT_EQ(report.loops[0].channels.size(), 5u);
    EXPECT_THAT(report.reason(graph), HasSubstr("credit loop of 5 channels"));
    EXPECT_THAT(to_text(graph, report), HasSubstr("switch-1 port"));
}

TEST(Check, SaysThatACableIsGone) {
    fabric::Fabric fabric = reference::two_level_tree(3, 2, 2);
    const Tables tables = route_minhop(SwitchGraph(fabric), {}).tables;
    const NodeId leaf = fabric.nodes_of(fabric::NodeKind::switch_)[0];
    const std::uint8_t up = 3;  // hosts on 1 and 2
    fabric.disconnect(leaf, PortNum{up});
    const SwitchGraph graph(fabric);

    const CheckReport report = check(graph, tables);

    ASSERT_FALSE(report.ok());
    EXPECT_THAT(report.reason(graph), HasSubstr("root-0 sends it to port 1, which has no cable"));
}

TEST(Check, SaysWhereARouteIsLost) {
    const auto fabric = reference::two_level_tree(3, 2, 2);
    const SwitchGraph graph(fabric);
    Tables tables = route_minhop(graph, {}).tables;
    const Destination target = graph.host_destinations()[0];
    const Destination other = graph.host_destinations()[1];
    ASSERT_TRUE(check(graph, tables).ok()) << check(graph, tables).reason(graph);

    tables.set(target.sw, target.lid, no_route);
    EXPECT_THAT(check(graph, tables).reason(graph), HasSubstr("leaf-0 has no entry"));
    tables.set(target.sw, target.lid, other.port);
    EXPECT_THAT(check(graph, tables).reason(graph), HasSubstr("where the LID is not"));
    tables.set(target.sw, target.lid, 3);  // up again
    EXPECT_THAT(check(graph, tables).reason(graph), HasSubstr("for ever"));
}

TEST(Check, GivesTheFirstExamplesByLidThenSwitch) {
    const auto fabric = reference::two_level_tree(4, 6, 3);
    const SwitchGraph graph(fabric);
    Tables tables = route_minhop(graph, {}).tables;
    const auto hosts = graph.host_destinations();
    for (const std::size_t host : {20, 3, 11})
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s) tables.set(s, hosts[host].lid, no_route);

    const CheckReport report = check(graph, tables);

    std::vector<std::pair<Lid, SwitchIndex>> expected, found;
    for (const std::size_t host : {3, 11, 20})
        for (SwitchIndex s = 0; s < graph.switch_count() && expected.size() < 16; ++s)
            expected.emplace_back(hosts[host].lid, s);
    for (const BadRoute& bad : report.examples) found.emplace_back(bad.lid, bad.from);
    EXPECT_EQ(found, expected);
}

TEST(Check, FilesBalanceUnderTheLowerLevel) {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(2, 3));
    tree.assign_lids();
    const SwitchGraph graph(tree);

    const CheckReport report = check(graph, route_minhop(graph, {}).tables);

    std::vector<std::pair<int, Direction>> found;
    for (const LevelBalance& balance : report.balance) {
        found.emplace_back(balance.level, balance.direction);
        EXPECT_EQ(balance.channels, 8u);
    }
    EXPECT_EQ(found, (std::vector<std::pair<int, Direction>>{
                         {0, Direction::up}, {0, Direction::down}, {1, Direction::up}, {1, Direction::down}}));
}

TEST(Check, DoesNotTakeHostsOfOneDefaultNameForOneMachine) {
    reference::Wiring w;
    const NodeId a = w.add_switch("left"), b = w.add_switch("right");
    for (int i = 0; i < 3; ++i) {
        w.add_host(a, "localhost HCA-1");
        w.add_host(b, "localhost HCA-1");
    }
    w.fabric.assign_lids();
    const SwitchGraph graph(w.fabric);

    EXPECT_FALSE(check(graph, route_minhop(graph, {}).tables).ok());
}

TEST(Check, TakesPiecesThatTheSameHostsShareForRails) {
    reference::Wiring w;
    const NodeId a = w.add_switch("rail-a"), b = w.add_switch("rail-b");
    for (int i = 0; i < 3; ++i) {
        w.add_host(a, fmt::format("node{} mlx5_0", i));
        w.add_host(b, fmt::format("node{} mlx5_1", i));
    }
    w.add_host(a, "node9 mlx5_0");
    w.fabric.assign_lids();
    {
        const SwitchGraph graph(w.fabric);
        const CheckReport report = check(graph, route_minhop(graph, {}).tables);
        EXPECT_EQ(report.pieces, 2u);
        EXPECT_TRUE(report.ok()) << report.reason(graph);
        EXPECT_THAT(to_text(graph, report), HasSubstr("2 rails (4, 3 host ports)"));
    }

    w.add_host(b, "node10 mlx5_0");
    w.fabric.assign_lids();
    const SwitchGraph graph(w.fabric);
    const CheckReport report = check(graph, route_minhop(graph, {}).tables);

    EXPECT_FALSE(report.ok());
    EXPECT_EQ(report.split_pairs, 1u);
    EXPECT_THAT(report.reason(graph), HasSubstr("1 pairs of hosts"));
}

TEST(Check, ListsLinksBelowWhatTheirEndsSupport) {
    auto fabric = reference::two_level_tree(2, 1, 1);
    const fabric::LinkRate best{fabric::Width::x4, fabric::Speed::edr};
    fabric::Port& port = fabric.port(NodeId{0}, PortNum{2});
    port.supported = best;
    fabric.port(port.peer).supported = best;
    const SwitchGraph graph(fabric);

    const CheckReport report = check(graph, route_minhop(graph, {}).tables);

    ASSERT_EQ(report.slow.size(), 1u);
    EXPECT_EQ(report.slow[0].supported, best);
    EXPECT_TRUE(report.ok());
    EXPECT_THAT(to_text(graph, report), HasSubstr("4xQDR of 4xEDR"));
}

TEST(Check, ListsASlowLinkThatOneEndKnowsOf) {
    for (const bool first_end : {true, false}) {
        auto fabric = reference::two_level_tree(2, 1, 1);
        const PortIndex port = fabric.port_index(NodeId{0}, PortNum{2});
        const PortIndex knows = first_end ? port : fabric.port(port).peer;
        fabric.port(knows).supported = {fabric::Width::x4, fabric::Speed::edr};
        const SwitchGraph graph(fabric);

        const CheckReport report = check(graph, route_minhop(graph, {}).tables);

        ASSERT_EQ(report.slow.size(), 1u) << first_end;
        EXPECT_EQ(report.slow[0].port, knows) << first_end;
    }
}

TEST(Check, RefusesTablesOfAnotherFabric) {
    const auto fabric = reference::two_level_tree(3, 2, 2);
    const SwitchGraph graph(fabric);

    EXPECT_THROW((void)check(graph, Tables(2, Lid{5})), Error);
}

}  // namespace
}  // namespace loom::routing
