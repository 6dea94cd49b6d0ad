#include "loom/congestion/contention.hpp"

#include <gtest/gtest.h>

#include "congestion/cases.hpp"
#include "loom/base/error.hpp"
#include "loom/congestion/bounds.hpp"
#include "loom/traffic/catalogue.hpp"
#include "reference/congestion.hpp"

namespace loom::congestion {
namespace {

using fabric::pgft;

using test::Case;
using test::make_case;

constexpr RouteChoice walk_each_time{.memory = 0};

// Everything that contention() says, the slow way.
void expect_equal_to_reference(const Case& c, const Routes& routes, const traffic::Pattern& pattern,
                               const Contention& result, bool spread, unsigned offset) {
    std::map<PortIndex, std::uint64_t> total;
    std::map<PortIndex, unsigned> peak;
    std::uint64_t unrouted = 0;
    std::uint64_t skipped = 0;
    std::uint64_t flows = 0;
    std::vector<traffic::Pair> pairs;
    for (std::size_t stage = 0; stage < pattern.stages(); ++stage) {
        pattern.stage(stage, pairs);
        const auto slow = reference::count_stage(*c.graph, c.tables, c.placement, pairs, spread, offset);
        ASSERT_EQ(result.per_stage[stage], reference::largest(slow)) << "stage " << stage;
        unrouted += slow.unrouted;
        skipped += slow.skipped;
        flows += slow.routes.size();
        for (const auto& [port, load] : slow.load) {
            total[port] += load;
            peak[port] = std::max(peak[port], load);
        }
    }
    EXPECT_EQ(result.unrouted, unrouted);
    EXPECT_EQ(result.skipped, skipped);
    EXPECT_EQ(result.flows, flows);
    std::uint64_t sum = 0;
    for (LinkIndex link = 0; link < routes.link_count(); ++link) {
        sum += result.total[link];
        if (link >= c.graph->channel_count()) continue;
        const PortIndex port = c.fabric.port_index(c.graph->node(c.graph->owner(link)),
                                                   PortNum{static_cast<std::uint8_t>(c.graph->port(link))});
        ASSERT_EQ(result.total[link], total[port]);
        ASSERT_EQ(result.peak[link], peak[port]);
    }
    std::uint64_t slow_sum = 0;
    for (const auto& [port, load] : total) slow_sum += load;
    EXPECT_EQ(sum, slow_sum);
}

TEST(Contention, EqualsTheReferenceOnRandomFabrics) {
    const std::vector<std::string> specs{
        "shift", "xor", "bisect:5", "gather", "neighbor2d", "recursive-doubling", "permutation:4"};
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        Random random(seed);
        const auto lmc = static_cast<std::uint8_t>(random.below(3));
        Case c = make_case(test::random_fabric(random), random.below(2) == 0 ? "minhop" : "random", lmc, seed);
        if (c.placement.ranks() == 0) continue;
        if (seed % 3 == 0) test::spoil(c, random, 1 + random.below(20));
        if (seed % 2 == 0) c.placement = shuffled(c.placement, seed);
        for (PortIndex& host : c.placement.hosts)
            if (random.below(10) == 0) host = random.below(2) == 0 ? no_port : c.placement.hosts.front();
        const bool spread = random.below(2) == 0;
        const unsigned offset = random.below(6);
        RouteChoice choice{.lids = spread ? LidUse::spread : LidUse::fixed, .offset = offset};
        if (random.below(2) == 0) choice.memory = 0;
        const Routes routes(*c.graph, c.tables, c.placement, choice);
        const auto pattern = traffic::make_pattern(specs[random.below(static_cast<std::uint32_t>(specs.size()))],
                                                   c.placement.ranks(), seed);

        const Contention result = contention(routes, *pattern);

        expect_equal_to_reference(c, routes, *pattern, result, spread, offset);
        if (HasFatalFailure()) FAIL() << "seed " << seed << ", pattern " << pattern->name();
    }
}

TEST(Contention, KeptPathsAndWalkedPathsAndThreadsAgree) {
    const Case c = make_case(pgft(fabric::kary_tree(4, 3)), "random");
    const Routes kept(*c.graph, c.tables, c.placement);
    const Routes walked(*c.graph, c.tables, c.placement, walk_each_time);
    const auto pattern = traffic::make_pattern("shift", 64);

    const Contention a = contention(kept, *pattern);
    const Contention b = contention(walked, *pattern);
    const Contention both = contention(kept, *pattern, {.threads = 2});

    EXPECT_TRUE(kept.kept());
    EXPECT_FALSE(walked.kept());
    EXPECT_EQ(a.per_stage, b.per_stage);
    EXPECT_EQ(a.total, b.total);
    EXPECT_EQ(a.per_stage, both.per_stage);
    EXPECT_EQ(a.total, both.total);
    EXPECT_EQ(a.peak, both.peak);
    EXPECT_EQ(a.mean, both.mean);
}

TEST(Contention, ACrossbarHasNone) {
    const Case c = make_case(pgft({.children = {9}, .parents = {1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    const Contention shift = contention(routes, *traffic::make_pattern("shift", 9));
    const Contention gather = contention(routes, *traffic::make_pattern("gather", 9));
    const Contention inner = contention(routes, *traffic::make_pattern("gather", 9), {.host_links = HostLinks::ignore});

    EXPECT_EQ(shift.worst, 1u);
    EXPECT_DOUBLE_EQ(shift.mean, 1.0);
    EXPECT_EQ(gather.worst, 8u);
    EXPECT_EQ(inner.worst, 0u);
}

TEST(Contention, OneUplinkForFourHostsIsSharedByFour) {
    const Case c = make_case(pgft({.children = {4, 3}, .parents = {1, 1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    const Contention result = contention(routes, *traffic::make_pattern("shift", 12));

    EXPECT_EQ(result.worst, 4u);
    EXPECT_EQ(result.per_stage, (std::vector<std::uint32_t>{1, 2, 3, 4, 4, 4, 4, 4, 3, 2, 1}));
    EXPECT_EQ(result.worst_stage, 3u);
    EXPECT_EQ(result.histogram(), (std::vector<std::uint64_t>{0, 2, 2, 2, 5}));
    EXPECT_DOUBLE_EQ(result.mean, 32.0 / 11.0);
}

TEST(Contention, FullTreesShiftWithoutAnyAndHalfTreesWithTwo) {
    const std::pair<fabric::Pgft, unsigned> trees[] = {
        {fabric::kary_tree(4, 2), 1},
        {fabric::kary_tree(2, 4), 1},
        {fabric::merge_roots(fabric::kary_tree(4, 3)), 1},
        {{.children = {4, 4}, .parents = {1, 2}}, 2},
    };
    for (const char* engine : {"dmodk", "ftree"})
        for (const auto& [tree, worst] : trees) {
            const Case c = make_case(pgft(tree), engine);
            const Routes routes(*c.graph, c.tables, c.placement);

            const Contention result = contention(routes, *traffic::make_pattern("shift", c.placement.ranks()));

            EXPECT_EQ(result.worst, worst) << engine << ", " << c.placement.ranks() << " hosts";
            EXPECT_EQ(result.unrouted, 0u);
        }
}

TEST(Contention, PlaceKeepersKeepAThinnedTreeFree) {
    // Zahavi's missing nodes: with their places kept, a shift still meets no contention.
    fabric::Fabric fabric = pgft(fabric::kary_tree(4, 3));
    const auto switches = fabric.nodes_of(fabric::NodeKind::switch_);
    for (const std::uint32_t leaf : {2u, 7u, 8u})
        fabric.disconnect(switches[leaf], PortNum{static_cast<std::uint8_t>(leaf / 2)});
    Case c = make_case(std::move(fabric), "ftree");
    c.tables = routing::route_ftree(*c.graph, {.place_keepers = true}).tables;
    c.placement = fabric::place_with_keepers(c.fabric);
    const Routes routes(*c.graph, c.tables, c.placement);

    const Contention result = contention(routes, *traffic::make_pattern("shift", c.placement.ranks()));

    EXPECT_EQ(c.placement.ranks(), 64u);
    EXPECT_EQ(result.worst, 1u);
    EXPECT_EQ(result.skipped, 63u * 64u - 61u * 60u);
}

TEST(Contention, FasterUplinksWeighLess) {
    fabric::Fabric fabric;
    const NodeId left = fabric.add_node(fabric::NodeKind::switch_, 8, "left");
    const NodeId right = fabric.add_node(fabric::NodeKind::switch_, 8, "right");
    fabric.connect(left, PortNum{8}, right, PortNum{8}, {fabric::Width::x12, fabric::Speed::qdr});
    for (std::uint8_t i = 1; i <= 6; ++i) {
        const NodeId host = fabric.add_node(fabric::NodeKind::host, 1, "h" + std::to_string(i));
        fabric.connect(i <= 3 ? left : right, PortNum{i}, host, PortNum{1}, {fabric::Width::x4, fabric::Speed::qdr});
    }
    const Case c = make_case(std::move(fabric), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    const Contention result = contention(routes, *traffic::make_pattern("shift:3", 6));
    const Contention all_stages = contention(routes, *traffic::make_pattern("shift", 6));

    EXPECT_EQ(result.worst, 3u);
    EXPECT_DOUBLE_EQ(result.weighted_worst, 1.0);
    EXPECT_DOUBLE_EQ(all_stages.weighted_worst, 1.0);
    EXPECT_DOUBLE_EQ(all_stages.weighted_mean, 1.0);
    const auto hot = hottest(routes, result, 2);
    ASSERT_EQ(hot.size(), 2u);
    EXPECT_EQ(routes.describe(hot[0].link), "left port 8 -> right port 8");
    EXPECT_EQ(hot[0].peak, 3u);
    EXPECT_EQ(hottest(routes, result, 100, HostLinks::ignore).size(), 2u);
}

TEST(Contention, AFlowWeighsWhatTheSlowerOfItsHostsTakes) {
    fabric::Fabric fabric;
    const NodeId middle = fabric.add_node(fabric::NodeKind::switch_, 4, "middle");
    const fabric::Width widths[] = {fabric::Width::x12, fabric::Width::x1, fabric::Width::x4};
    for (std::uint8_t i = 1; i <= 3; ++i) {
        const NodeId host = fabric.add_node(fabric::NodeKind::host, 1, "h" + std::to_string(i));
        fabric.connect(middle, PortNum{i}, host, PortNum{1}, {widths[i - 1], fabric::Speed::qdr});
    }
    const Case c = make_case(std::move(fabric), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    const Contention down = contention(routes, *traffic::make_pattern("scatter", 3));
    const Contention up = contention(routes, *traffic::make_pattern("gather", 3));

    EXPECT_DOUBLE_EQ(down.weighted_worst, 1.0);  // the links of the two receivers are full
    EXPECT_DOUBLE_EQ(up.weighted_worst, 1.0);
    EXPECT_EQ(down.worst, 2u);
}

// More than 65,536 links, which 16 bits cannot number.
TEST(Contention, KeptPathsOfManyLinksEqualWalkedOnes) {
    fabric::Fabric fabric;
    std::vector<NodeId> leaves;
    for (int i = 0; i < 260; ++i)
        leaves.push_back(fabric.add_node(fabric::NodeKind::switch_, 254, "l" + std::to_string(i)));
    const NodeId left = fabric.add_node(fabric::NodeKind::switch_, 254, "left");
    const NodeId right = fabric.add_node(fabric::NodeKind::switch_, 254, "right");
    fabric.connect(left, PortNum{254}, right, PortNum{254});
    for (std::uint32_t i = 0; i < leaves.size(); ++i)
        fabric.connect(leaves[i], PortNum{254}, i % 2 == 0 ? left : right,
                       PortNum{static_cast<std::uint8_t>(1 + i / 2)});
    for (std::uint32_t i = 0; i < 12; ++i) {
        const NodeId host = fabric.add_node(fabric::NodeKind::host, 1, "h" + std::to_string(i));
        fabric.connect(host, PortNum{1}, leaves[i < 6 ? i / 2 : 259 - i / 2],
                       PortNum{static_cast<std::uint8_t>(1 + i % 2)});
    }
    const Case c = make_case(std::move(fabric), "minhop");
    const Routes kept(*c.graph, c.tables, c.placement);
    const Routes walked(*c.graph, c.tables, c.placement, walk_each_time);
    const auto pattern = traffic::make_pattern("shift", 12);

    const Contention a = contention(kept, *pattern);
    const Contention b = contention(walked, *pattern);

    ASSERT_GT(kept.link_count(), 65536u);
    ASSERT_TRUE(kept.kept());
    EXPECT_EQ(a.per_stage, b.per_stage);
    EXPECT_EQ(a.total, b.total);
    EXPECT_EQ(a.unrouted, 0u);
}

TEST(Contention, HottestLinksAreInOrderOfPeakThenTotalThenNumber) {
    const Case c = make_case(pgft({.children = {2, 2}, .parents = {1, 1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);
    Contention counted;
    counted.peak.assign(routes.link_count(), 0);
    counted.total.assign(routes.link_count(), 0);
    const auto set = [&](LinkIndex link, std::uint32_t peak, std::uint64_t total) {
        counted.peak[link] = peak;
        counted.total[link] = total;
    };
    set(1, 2, 5);
    set(2, 2, 9);
    set(3, 2, 9);
    set(4, 3, 3);

    std::vector<LinkIndex> links;
    for (const HotLink& hot : hottest(routes, counted, 10)) links.push_back(hot.link);

    EXPECT_EQ(links, (std::vector<LinkIndex>{4, 2, 3, 1}));
}

TEST(Contention, PathsAreNamedFromEndToEnd) {
    const Case c = make_case(pgft({.children = {2, 2}, .parents = {1, 1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);
    std::vector<LinkIndex> links;

    EXPECT_EQ(routes.path(Rank{0}, Rank{3}, links), Fate::arrives);
    ASSERT_EQ(links.size(), 2u);
    EXPECT_EQ(routes.describe(links[0]), "L0-0 port 3 -> L1-0 port 1");
    EXPECT_EQ(routes.describe(links[1]), "L1-0 port 2 -> L0-1 port 3");
    EXPECT_EQ(routes.path(Rank{0}, Rank{1}, links), Fate::arrives);
    EXPECT_TRUE(links.empty());
    EXPECT_EQ(routes.path(Rank{0}, Rank{0}, links), Fate::stays);
}

TEST(Contention, WrongInputsAreNamed) {
    const Case c = make_case(pgft({.children = {2, 2}, .parents = {1, 1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);
    routing::Tables broken = c.tables;
    broken.set(0, Lid{1}, 200);
    const routing::Tables other(2, Lid{3});

    EXPECT_THROW((void)contention(routes, *traffic::make_pattern("shift", 5)), Error);
    EXPECT_THROW(Routes(*c.graph, broken, c.placement), Error);
    EXPECT_THROW(Routes(*c.graph, other, c.placement), Error);
}

// Whatever made the tables: an engine finds nothing to route there, and says so or leaves every entry empty.
TEST(Contention, HostsWithoutLidsAreNamed) {
    for (const routing::Engine& engine : routing::engines())
        for (const auto& tree : {fabric::pgft({.children = {2, 2}, .parents = {1, 1}}),
                                 fabric::pgft(fabric::kary_tree(4, 3)), fabric::pgft(fabric::kary_tree(2, 1))}) {
            const routing::SwitchGraph graph(tree);
            const routing::Tables tables = engine.route(graph, {}).tables;

            EXPECT_THROW(Routes(graph, tables, fabric::place_in_order(tree)), Error) << engine.name;
        }
}

TEST(Bounds, EqualTheReferenceOnRandomFabrics) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        Random random(seed + 1000);
        Case c = make_case(test::random_fabric(random), "random", 0, seed);
        if (c.placement.ranks() < 2) continue;
        if (seed % 3 == 0) test::spoil(c, random, 1 + random.below(40));
        const Routes routes(*c.graph, c.tables, c.placement);
        const auto pattern =
            traffic::make_pattern(seed % 2 == 0 ? "dissemination" : "bisect:3", c.placement.ranks(), seed);
        double max_sum = 0;
        double average_sum = 0;
        std::vector<traffic::Pair> pairs;
        for (std::size_t stage = 0; stage < pattern->stages(); ++stage) {
            pattern->stage(stage, pairs);
            const auto slow = reference::count_stage(*c.graph, c.tables, c.placement, pairs);
            unsigned most = 1;
            double sum = 0;
            for (const auto& route : slow.routes) {
                unsigned here = 1;
                for (const PortIndex link : route) here = std::max(here, slow.load.at(link));
                most = std::max(most, here);
                sum += here;
            }
            max_sum += most;
            average_sum += slow.routes.empty() ? 1 : sum / static_cast<double>(slow.routes.size());
        }
        const auto rounds = static_cast<double>(pattern->stages());

        const RoundSums sums = round_sums(routes, *pattern);

        EXPECT_NEAR(sums.sum_max, max_sum / rounds, 1e-12);
        EXPECT_NEAR(sums.sum_average, average_sum / rounds, 1e-12);
    }
}

TEST(Bounds, CountTheLinksOfHostsOnlyWhereAsked) {
    const Case c = make_case(pgft({.children = {9}, .parents = {1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);
    const auto pattern = traffic::make_pattern("gather", 9);

    const Bounds all = bandwidth_bounds(routes, *pattern, {.mappings = 5});
    const Bounds inner = bandwidth_bounds(routes, *pattern, {.mappings = 5, .host_links = HostLinks::ignore});

    EXPECT_DOUBLE_EQ(all.sum_max.mean(), 8.0);
    EXPECT_DOUBLE_EQ(inner.sum_max.mean(), 1.0);
    EXPECT_DOUBLE_EQ(round_sums(routes, *pattern).sum_average, 8.0);
    EXPECT_DOUBLE_EQ(round_sums(routes, *pattern, HostLinks::ignore).sum_average, 1.0);
}

TEST(Bounds, LowerIsNeverAboveUpperAndThreadsAgree) {
    const Case c = make_case(pgft(fabric::kary_tree(4, 2)), "random");
    const Routes routes(*c.graph, c.tables, c.placement);
    const auto pattern = traffic::make_pattern("dissemination", 16);

    const Bounds one = bandwidth_bounds(routes, *pattern, {.mappings = 100});
    const Bounds two = bandwidth_bounds(routes, *pattern, {.mappings = 100, .threads = 2});

    EXPECT_GE(one.sum_max.mean(), one.sum_average.mean());
    EXPECT_LT(one.upper_bandwidth.mean(), 1.0);
    EXPECT_EQ(one.lower.total(), 100u);
    EXPECT_EQ(one.sum_max.mean(), two.sum_max.mean());
    EXPECT_EQ(one.upper.counts(), two.upper.counts());
}

TEST(FewPairs, AreThoseThatAreCheaperToWalkThanAllPaths) {
    const test::Case tree = test::make_case(fabric::pgft(fabric::kary_tree(4, 3)), "ftree");
    const std::size_t ranks = tree.placement.ranks();  // 64 on 16 leaves: 128 pairs are few

    EXPECT_TRUE(has_few_pairs(*traffic::make_pattern("ring", ranks), tree.fabric, tree.placement));
    EXPECT_FALSE(has_few_pairs(*traffic::make_pattern("shift", ranks), tree.fabric, tree.placement));
}

}  // namespace
}  // namespace loom::congestion
