// Both reproductions of Hoefler 2008 hold with Loomband's parts, and stop holding when one is broken.
#include <gtest/gtest.h>

#include "reproduce/broken_parts.hpp"

namespace loom::reproduce {
namespace {

TEST(HoeflerRemap, Holds) {
    const Result result = hoefler_remap(standard_parts(), quick());

    ASSERT_EQ(result.rows.size(), 3u);
    for (const Row& row : result.rows) EXPECT_TRUE(result.holds(row)) << row.name;
    EXPECT_EQ(result.rows[1].values[0].ours, 8) << "what the tables give before they are altered";
    EXPECT_TRUE(result.holds());
}

TEST(HoeflerRemap, DoesNotHoldWithRandomRoutes) {
    EXPECT_FALSE(hoefler_remap(with_engine("dmodk", "random"), quick()).holds());
}

TEST(HoeflerRemap, DoesNotHoldWithASearchThatFindsNothing) {
    Parts parts = standard_parts();
    parts.remap = [remap = parts.remap](const auto& routes, const auto& pattern, auto options) {
        options.moves = 1;
        auto result = remap(routes, pattern, options);
        for (std::size_t i = 0; i < result.mapping.size(); ++i) result.mapping[i] = static_cast<std::uint32_t>(i);
        result.after = {6, 84, 192};  // what it claims is not believed
        return result;
    };

    EXPECT_FALSE(hoefler_remap(parts, quick()).holds());
}

TEST(HoeflerRemap, DoesNotHoldWhenCablesAreNotShared) {
    Parts parts = standard_parts();
    parts.remap = [remap = parts.remap](const auto& routes, const auto& pattern, auto options) {
        options.duplex = congestion::Duplex::full;
        return remap(routes, pattern, options);
    };

    EXPECT_FALSE(hoefler_remap(parts, quick()).holds());
}

TEST(HoeflerFatTrees, HoldsOnTheSmallNetworks) {
    const Result result = hoefler_fat_trees(standard_parts(), quick());

    EXPECT_EQ(result.rows.size(), 12u);
    for (const Row& row : result.rows) EXPECT_TRUE(result.holds(row)) << row.name;
    EXPECT_TRUE(result.holds());
}

// Where every channel carries the same number of routes, the correction is exact.
TEST(HoeflerFatTrees, TheMisprintedMeanIsCorrectedToTheLastRoute) {
    const Result result = hoefler_fat_trees(standard_parts(), quick());

    unsigned found = 0;
    for (const Row& row : result.rows) {
        if (row.values.at(0).ours != 768) continue;
        ++found;
        ASSERT_TRUE(row.values.at(3).corrected.has_value());
        EXPECT_DOUBLE_EQ(*row.values.at(3).corrected, 2232);
        EXPECT_NEAR(row.values.at(3).ours, *row.values.at(3).corrected, 1e-6);
    }
    EXPECT_EQ(found, 1u);
}

TEST(HoeflerFatTrees, DoesNotHoldWithALostRoute) {
    Parts parts = standard_parts();
    parts.forwarding_index = [index = parts.forwarding_index](const auto& routes, unsigned threads) {
        auto result = index(routes, threads);
        result.unrouted = 1;
        return result;
    };

    EXPECT_FALSE(hoefler_fat_trees(parts, quick()).holds());
}

TEST(HoeflerFatTrees, DoesNotHoldWithRandomRoutes) {
    EXPECT_FALSE(hoefler_fat_trees(with_engine("sssp", "random"), quick()).holds());
}

TEST(HoeflerFatTrees, DoesNotHoldWithTheOtherWiring) {
    Parts parts = standard_parts();
    parts.clos = [clos = parts.clos](fabric::Clos network) {
        network.outer = fabric::OuterPorts::by_leaf;
        return clos(network);
    };

    EXPECT_FALSE(hoefler_fat_trees(parts, quick()).holds());
}

TEST(HoeflerFatTrees, DoesNotHoldWithAMissingCable) {
    Parts parts = standard_parts();
    parts.clos = [clos = parts.clos](const fabric::Clos& network) {
        fabric::Fabric fabric = clos(network);
        pull_a_cable(fabric);
        return fabric;
    };

    EXPECT_FALSE(hoefler_fat_trees(parts, quick()).holds());
}

TEST(HoeflerFatTrees, DoesNotHoldWithOneOverTheMeanForBandwidth) {
    Parts parts = standard_parts();
    parts.bisection = [bisection = parts.bisection](const auto& routes, const auto& options) {
        auto result = bisection(routes, options);
        // The mean congestion of a pair, and its inverse in place of the mean of inverses.
        double pairs = 0, sum = 0;
        for (std::size_t c = 1; c < result.by_congestion.size(); ++c) {
            pairs += static_cast<double>(result.by_congestion[c]);
            sum += static_cast<double>(c * result.by_congestion[c]);
        }
        result.bandwidth = Summary{};
        result.bandwidth.add(pairs / sum);
        return result;
    };

    EXPECT_FALSE(hoefler_fat_trees(parts, quick()).holds());
}

}  // namespace
}  // namespace loom::reproduce
