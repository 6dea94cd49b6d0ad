#include "loom/routing/reroute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "loom/base/error.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/engine.hpp"
#include "reference/check.hpp"
#include "reference/fabrics.hpp"

namespace loom::routing {
namespace {

using fabric::Fabric;

// The tables of one fabric in the numbering of another that kept GUIDs, ports and LIDs.
Tables carried_over(const SwitchGraph& from, const Tables& tables, const SwitchGraph& to) {
    std::map<Guid, SwitchIndex> by_guid;
    for (SwitchIndex s = 0; s < from.switch_count(); ++s) by_guid[from.fabric().node(from.node(s)).guid] = s;
    Tables result(to.switch_count(), tables.top_lid());
    if (tables.has_lanes()) result.use_lanes();
    for (SwitchIndex s = 0; s < to.switch_count(); ++s) {
        const auto found = by_guid.find(to.fabric().node(to.node(s)).guid);
        if (found == by_guid.end()) continue;
        for (unsigned l = 0; l <= tables.top_lid().value; ++l) {
            const Lid lid{static_cast<std::uint16_t>(l)};
            result.set(s, lid, tables.port(found->second, lid));
            if (tables.has_lanes()) result.set_lane(s, lid, tables.lane(found->second, lid));
        }
    }
    result.engine = tables.engine;
    return result;
}

std::size_t changes(const SwitchGraph& graph, const Tables& before, const Tables& after) {
    std::size_t count = 0;
    for (const Destination& d : graph.destinations())
        for (unsigned k = 0; k < d.lid_count(); ++k)
            for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
                const Lid lid{static_cast<std::uint16_t>(d.lid.value + k)};
                const std::uint8_t now = after.port(s, lid), then = before.port(s, lid);
                count += now != no_route && then != no_route && now != then ? 1 : 0;
            }
    return count;
}

std::size_t changed_switches(const SwitchGraph& graph, const Tables& before, const Tables& after) {
    std::size_t count = 0;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s) {
        bool changed = false;
        for (const Destination& d : graph.destinations())
            for (unsigned k = 0; k < d.lid_count(); ++k) {
                const Lid lid{static_cast<std::uint16_t>(d.lid.value + k)};
                const std::uint8_t now = after.port(s, lid), then = before.port(s, lid);
                changed = changed || (now != no_route && then != no_route && now != then);
            }
        count += changed ? 1 : 0;
    }
    return count;
}

struct Broken {
    std::string name;
    Fabric before;
    Fabric after;
};

std::vector<Broken> broken_fabrics() {
    std::vector<Broken> result;
    const auto add = [&](const std::string& name, Fabric fabric, std::uint8_t lmc = 0) {
        fabric.assign_lids(lmc);
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            Fabric after = fabric;
            reference::pull_cables(after, static_cast<unsigned>(seed), seed);
            result.push_back({name + " " + std::to_string(seed), fabric, std::move(after)});
        }
    };
    add("3-ary-3-tree", fabric::pgft(fabric::kary_tree(3, 3)));
    add("parallel cables", fabric::pgft({{4, 6}, {1, 3}, {1, 2}}), 1);
    add("torus", fabric::torus({{5, 4}, 2}));
    add("dragonfly", fabric::dragonfly({.routers = 4, .hosts = 2, .global = 2}));
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Fabric before = reference::random_fabric(seed, 14);
        Fabric after = before;
        reference::pull_cables(after, 1 + static_cast<unsigned>(seed % 4), seed);
        result.push_back({"random " + std::to_string(seed), std::move(before), std::move(after)});
    }
    return result;
}

class RerouteAfter : public testing::TestWithParam<std::string> {};

TEST_P(RerouteAfter, KeepsWhatWorksAndStaysValid) {
    const Engine& engine = find_engine(GetParam());
    RouteOptions options;
    options.lanes = 15;
    for (const Broken& c : broken_fabrics()) {
        const SwitchGraph then(c.before), now(c.after);
        const Tables old = carried_over(then, engine.route(then, options).tables, now);
        const bool looped = !check(now, old).loops.empty();

        const Rerouted result = reroute(now, old, options);

        const CheckReport report = check(now, result.tables);
        EXPECT_TRUE(report.examples.empty()) << c.name << ": " << report.reason(now);
        EXPECT_EQ(reference::check(now, result.tables).faults, (std::array<std::uint64_t, fault_kinds>{})) << c.name;
        EXPECT_TRUE(report.loops.empty() || looped) << c.name << ": " << to_text(now, report);
        EXPECT_EQ(result.changed, changes(now, old, result.tables)) << c.name;
        EXPECT_EQ(result.switches_changed, changed_switches(now, old, result.tables)) << c.name;
        EXPECT_GE(result.changed, result.unavoidable) << c.name;
        if (result.mending == Mending::recomputed) continue;
        const Tables anew = engine.route(now, options).tables;
        EXPECT_LE(result.changed, changes(now, old, anew)) << c.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Routing, RerouteAfter, testing::Values("minhop", "updn", "sssp", "dfsssp", "random"));

TEST(Reroute, ChangesNothingWhenNothingBroke) {
    for (const char* engine : {"minhop", "updn", "sssp", "dfsssp"}) {
        Fabric fabric = fabric::torus({{4, 4}, 2});
        fabric.assign_lids();
        const SwitchGraph graph(fabric);
        const Tables old = find_engine(engine).route(graph, {}).tables;

        const Rerouted result = reroute(graph, old, {});

        EXPECT_EQ(result.tables, old) << engine;
        EXPECT_EQ(result.changed, 0u) << engine;
    }
}

TEST(Reroute, ChangesOnlyTheEntriesOfAPulledCableOnATree) {
    Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));
    tree.assign_lids();
    const SwitchGraph then(tree);
    const Tables old = route_minhop(then, {}).tables;
    Fabric after = tree;
    after.disconnect(then.node(0), PortNum{5});  // the first cable up from the first leaf
    const SwitchGraph now(after);

    const Rerouted result = reroute(now, old, {});

    EXPECT_EQ(result.mending, Mending::up_down);
    EXPECT_TRUE(check(now, result.tables).ok());
    EXPECT_GT(result.unavoidable, 0u);
    EXPECT_LE(result.changed, changes(now, old, route_minhop(now, {}).tables));
    EXPECT_GE(result.switches_changed, 2u);  // both ends of the cable at least
}

TEST(Reroute, KeepsFatTreeRoutesUpAndDown) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Fabric tree = fabric::pgft({{3, 4, 4}, {1, 2, 3}, {1, 2, 1}});
        tree.assign_lids();
        const SwitchGraph then(tree);
        Fabric after = tree;
        reference::pull_cables(after, 1 + static_cast<unsigned>(seed % 5), seed);
        const SwitchGraph now(after);
        const Tables old = route_ftree(then, {}).tables;

        const Rerouted result = reroute(now, old, {});

        const CheckReport report = check(now, result.tables);
        EXPECT_EQ(result.mending, Mending::up_down) << seed;
        EXPECT_TRUE(report.ok()) << seed << report.reason(now);
        EXPECT_LE(result.changed, changes(now, old, route_ftree(now, {}).tables)) << seed;
    }
}

// The middle switch went up to the second root, which was as good as going down; the first root, which lost its own
// cable, can only go by way of it.
TEST(Reroute, GoesDownWhereAnOldWayUpWouldLeaveHostsOut) {
    reference::Wiring w;
    const NodeId leaf = w.add_switch("leaf"), middle = w.add_switch("middle"), first = w.add_switch("first"),
                 second = w.add_switch("second");
    w.join(leaf, middle);
    w.join(first, leaf);
    w.join(first, middle);
    w.join(second, middle);
    w.join(second, leaf);
    w.add_host(leaf);
    w.add_host(first);
    w.fabric.assign_lids();
    const SwitchGraph then(w.fabric);
    Tables old = route_minhop(then, {}).tables;
    const Destination target = then.host_destinations()[0];
    ASSERT_EQ(then.node(target.sw), leaf);
    old.set(then.index(middle), target.lid, 3);  // to the second root
    Fabric after = w.fabric;
    after.disconnect(first, PortNum{1});  // from the leaf
    const SwitchGraph now(after);
    RouteOptions options;
    options.roots = {after.node(first).guid, after.node(second).guid};

    const Rerouted result = reroute(now, old, options);

    EXPECT_EQ(result.mending, Mending::up_down);
    EXPECT_TRUE(check(now, result.tables).ok());
    const auto next = [&](NodeId from) {
        const SwitchIndex s = now.index(from);
        return now.node(now.next(now.channel(s, result.tables.port(s, target.lid))));
    };
    EXPECT_EQ(next(first), middle);
    EXPECT_EQ(next(middle), leaf);
}

// Changed routes find a lane beside those that stay, so that nothing has to be computed anew.
TEST(Reroute, KeepsLanesFreeOfLoops) {
    Fabric torus = fabric::torus({{5, 4}, 2});
    torus.assign_lids();
    const SwitchGraph then(torus);
    RouteOptions options;
    options.lanes = 15;
    const Tables old = route_dfsssp(then, options).tables;
    ASSERT_GT(old.lane_count(), 1u);
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Fabric after = torus;
        reference::pull_cables(after, 1, seed);
        const SwitchGraph now(after);

        const Rerouted result = reroute(now, carried_over(then, old, now), options);

        EXPECT_EQ(result.mending, Mending::shortest) << seed;
        EXPECT_TRUE(check(now, result.tables).ok()) << seed;
    }
}

TEST(Reroute, FillsInWhatIsNew) {
    reference::Wiring w;
    const NodeId a = w.add_switch("a"), b = w.add_switch("b");
    w.join(a, b);
    w.add_host(a);
    w.add_host(b);
    w.fabric.assign_lids();
    const SwitchGraph small(w.fabric);
    const Tables old = route_minhop(small, {}).tables;
    reference::Wiring grown = w;
    const NodeId c = grown.add_switch("c");
    grown.join(b, c);
    grown.add_host(c);
    grown.fabric.assign_lids();
    const SwitchGraph graph(grown.fabric);

    const Rerouted result = reroute(graph, carried_over(small, old, graph), {});

    EXPECT_TRUE(check(graph, result.tables).ok());
    EXPECT_EQ(result.changed, 0u);
    EXPECT_EQ(result.added, 10u);  // six of switch c, and c and its host on a and b
}

TEST(Reroute, RefusesTablesOfAnotherFabric) {
    const auto fabric = reference::two_level_tree(3, 2, 2);
    const SwitchGraph graph(fabric);

    EXPECT_THROW((void)reroute(graph, Tables(2, Lid{5}), {}), Error);
}

}  // namespace
}  // namespace loom::routing
