#include <gtest/gtest.h>

#include "reproduce/broken_parts.hpp"

namespace loom::reproduce {
namespace {

// The law as it stands, so that tests of the barrier need no ranks.
Parts without_ranks() {
    Parts parts = standard_parts();
    parts.penalty_rounds = [](double lost, std::uint32_t ranks, std::uint32_t) {
        return std::vector<double>(ranks, lost / (1 - lost));
    };
    return parts;
}

TEST(HoeflerBarrier, Holds) {
    const Result result = hoefler_barrier(standard_parts(), quick());

    for (const Claim& claim : result.claims) EXPECT_TRUE(claim.holds) << claim.text;
    EXPECT_TRUE(result.holds());
    EXPECT_EQ(result.rows.size(), 6u);
}

TEST(HoeflerBarrier, NeedsMessagesThatAreFree) {
    Parts parts = without_ranks();
    EXPECT_TRUE(hoefler_barrier(parts, quick()).holds());
    parts.walk = [](const traffic::Schedule& schedule, const model::Charges& charges) {
        model::Charges one = charges;
        one.free = 1;
        one.way.small.gap = microseconds(20);
        return model::walk(schedule, one);
    };

    EXPECT_FALSE(hoefler_barrier(parts, quick()).holds());
}

TEST(HoeflerBarrier, NeedsBarriersWithManyPartners) {
    Parts parts = without_ranks();
    parts.barrier = [barrier = parts.barrier](std::uint32_t ranks, std::uint32_t) { return barrier(ranks, 1); };

    EXPECT_FALSE(hoefler_barrier(parts, quick()).holds());
}

TEST(HoeflerBarrier, NeedsAChainThatTakesWhatTheMulticastBrought) {
    Parts parts = without_ranks();
    // Every rank waits for all before it.
    parts.penalty_rounds = [](double, std::uint32_t ranks, std::uint32_t) {
        std::vector<double> all(ranks);
        for (std::uint32_t place = 0; place < ranks; ++place) all[place] = place;
        return all;
    };

    EXPECT_FALSE(hoefler_barrier(parts, quick()).holds());
}

}  // namespace
}  // namespace loom::reproduce
