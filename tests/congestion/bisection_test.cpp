#include "loom/congestion/bisection.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "congestion/cases.hpp"
#include "loom/base/error.hpp"
#include "loom/congestion/forwarding.hpp"
#include "reference/congestion.hpp"

namespace loom::congestion {
namespace {

using fabric::pgft;

using test::Case;
using test::make_case;

TEST(Bisection, EqualsTheReferenceOnRandomFabrics) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Random random(seed);
        Case c = make_case(test::random_fabric(random), "random", 0, seed);
        if (c.placement.ranks() < 2) continue;
        if (seed % 4 == 0) test::spoil(c, random, 5);
        const Routes routes(*c.graph, c.tables, c.placement, {.memory = seed % 2 == 0 ? 0u : 1u << 20});
        // The same draw as the fast version: one stream a sample, first half to second half.
        double sum = 0;
        for (std::uint64_t sample = 0; sample < 3; ++sample) {
            std::vector<std::uint32_t> order(c.placement.ranks());
            std::iota(order.begin(), order.end(), 0u);
            random_stream(7, sample).shuffle(std::span(order));
            std::vector<traffic::Pair> pairs;
            for (std::size_t i = 0; i < order.size() / 2; ++i)
                pairs.push_back({Rank{order[i]}, Rank{order[order.size() / 2 + i]}});
            const auto slow = reference::count_stage(*c.graph, c.tables, c.placement, pairs);
            double bandwidth = 0;
            for (const auto& route : slow.routes) bandwidth += 1.0 / reference::inner_congestion(slow, route);
            sum += bandwidth / static_cast<double>(pairs.size());
        }

        const Bisection result = effective_bisection(routes, {.seed = 7, .samples = 3});

        EXPECT_NEAR(result.bandwidth.mean(), sum / 3, 1e-12) << "seed " << seed;
    }
}

TEST(Bisection, ACrossbarIsOne) {
    const Case c = make_case(pgft({.children = {12}, .parents = {1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    const Bisection result = effective_bisection(routes, {.samples = 10});

    EXPECT_DOUBLE_EQ(result.bandwidth.mean(), 1.0);
    EXPECT_EQ(result.by_congestion, (std::vector<std::uint64_t>{0, 60}));
}

TEST(Bisection, TwoHostsOnTwoSwitchesWithOneCable) {
    // Two hosts on each side of one cable. Of the first sender's three partners one is on its own
    // switch; otherwise both pairs cross, in the same direction half of the time.
    const Case c = make_case(pgft({.children = {2, 2}, .parents = {1, 1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    const Bisection result = effective_bisection(routes, {.seed = 3, .samples = 20000});

    EXPECT_NEAR(result.bandwidth.mean(), 1.0 / 3 + 2.0 / 3 * (0.5 * 1.0 + 0.5 * 0.5), 4 * result.half_width);
    EXPECT_LT(result.half_width, 0.01);
}

TEST(Bisection, StopsWhenNarrowEnoughAndThreadsAgree) {
    const Case c = make_case(pgft(fabric::kary_tree(4, 2)), "random");
    const Routes routes(*c.graph, c.tables, c.placement);

    const Bisection one = effective_bisection(routes, {.samples = 100000, .precision = 0.005});
    const Bisection two = effective_bisection(routes, {.samples = 100000, .precision = 0.005, .threads = 2});

    EXPECT_LT(one.bandwidth.count(), 100000);
    EXPECT_LE(one.half_width, 0.005);
    EXPECT_EQ(one.bandwidth.mean(), two.bandwidth.mean());
    EXPECT_EQ(one.by_congestion, two.by_congestion);
    EXPECT_EQ(one.histogram.total(), static_cast<std::uint64_t>(one.bandwidth.count()));
}

TEST(Bisection, RanksOnOneHostGetAllTheyAskFor) {
    Case c = make_case(pgft({.children = {2}, .parents = {1}}), "minhop");
    c.placement.hosts.assign(4, c.placement.hosts.front());
    const Routes routes(*c.graph, c.tables, c.placement);

    const Bisection result = effective_bisection(routes, {.samples = 10});

    EXPECT_DOUBLE_EQ(result.bandwidth.mean(), 1.0);
    EXPECT_EQ(result.by_congestion, (std::vector<std::uint64_t>{0, 20}));
}

TEST(Bisection, PlaceKeepersTakeNoPart) {
    Case c = make_case(pgft({.children = {4}, .parents = {1}}), "minhop");
    c.placement.hosts.insert(c.placement.hosts.begin() + 2, 3, no_port);
    const Routes routes(*c.graph, c.tables, c.placement);

    const Bisection result = effective_bisection(routes, {.samples = 10});

    EXPECT_EQ(result.by_congestion, (std::vector<std::uint64_t>{0, 20}));
}

TEST(Bisection, DrawsEveryPatternAfresh) {
    const Case c = make_case(pgft(fabric::kary_tree(4, 2)), "random");
    const Routes routes(*c.graph, c.tables, c.placement);

    std::vector<std::uint64_t> four_times = effective_bisection(routes, {.samples = 256}).by_congestion;
    for (std::uint64_t& pairs : four_times) pairs *= 4;

    const Bisection result = effective_bisection(routes, {.samples = 1024});

    EXPECT_EQ(result.bandwidth.count(), 1024);
    EXPECT_NE(result.by_congestion, four_times);
}

TEST(Bisection, NeedsTwoHosts) {
    const Case c = make_case(pgft({.children = {1}, .parents = {1}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    EXPECT_THROW((void)effective_bisection(routes), Error);
}

TEST(ForwardingIndex, EqualsTheReferenceOnRandomFabrics) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Random random(seed);
        const auto lmc = static_cast<std::uint8_t>(random.below(3));
        Case c = make_case(test::random_fabric(random), "random", lmc, seed);
        if (c.placement.ranks() < 2) continue;
        if (seed % 4 == 0) test::spoil(c, random, 5);
        if (seed % 5 == 0) c.placement.hosts[1] = no_port;
        const bool spread = seed % 2 == 0;
        const Routes routes(*c.graph, c.tables, c.placement,
                            {.lids = spread ? LidUse::spread : LidUse::fixed, .memory = seed % 3 == 0 ? 0u : 1u << 20});
        std::vector<traffic::Pair> pairs;
        for (std::uint32_t a = 0; a < c.placement.ranks(); ++a)
            for (std::uint32_t b = 0; b < c.placement.ranks(); ++b)
                if (a != b) pairs.push_back({Rank{a}, Rank{b}});
        const auto slow = reference::count_stage(*c.graph, c.tables, c.placement, pairs, spread);
        Summary along;
        for (const auto& route : slow.routes)
            if (route.size() > 2) along.add(reference::inner_congestion(slow, route));

        const ForwardingIndex fast = forwarding_index(routes, 1 + seed % 2);

        ASSERT_EQ(fast.routes, slow.routes.size()) << "seed " << seed;
        ASSERT_EQ(fast.unrouted, slow.unrouted);
        ASSERT_EQ(fast.along.count(), along.count());
        if (along.count() == 0) continue;
        EXPECT_NEAR(fast.along.mean(), along.mean(), 1e-9);
        EXPECT_NEAR(fast.along.deviation(), along.deviation(), 1e-6);
        EXPECT_EQ(fast.along.min(), along.min());
        EXPECT_EQ(fast.along.max(), along.max());
    }
}

TEST(ForwardingIndex, EveryUplinkOfAFullTreeCarriesTheSame) {
    // 512 ports from 32-port crossbars, 1:1: each of a leaf's 16 hosts sends to 496 hosts elsewhere,
    // over 16 uplinks.
    const Case c = make_case(pgft({.children = {16, 32}, .parents = {1, 16}}), "minhop");
    const Routes routes(*c.graph, c.tables, c.placement);

    const ForwardingIndex index = forwarding_index(routes);

    EXPECT_EQ(index.routes, 512u * 511u);
    EXPECT_DOUBLE_EQ(index.along.mean(), 496.0);
    EXPECT_DOUBLE_EQ(index.along.deviation(), 0.0);
    EXPECT_DOUBLE_EQ(index.along.min(), 496.0);
    EXPECT_DOUBLE_EQ(index.along.max(), 496.0);
}

}  // namespace
}  // namespace loom::congestion
