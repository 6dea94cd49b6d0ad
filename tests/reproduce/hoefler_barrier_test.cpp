#include <gtest/gtest.h>

#include <algorithm>
#include <map>

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

TEST(HoeflerBarrier, TriesAsManyWaysAsMessagesAreFree) {
    Parts parts = without_ranks();
    std::map<std::uint32_t, std::uint32_t> most;  // by ranks
    parts.barrier = [&, barrier = parts.barrier](std::uint32_t ranks, std::uint32_t ways) {
        most[ranks] = std::max(most[ranks], ways);
        return barrier(ranks, ways);
    };

    (void)hoefler_barrier(parts, quick());

    EXPECT_EQ(most.at(64), 10u);
    EXPECT_EQ(most.at(11), 10u);
    EXPECT_EQ(most.at(10), 9u);  // nobody has more partners than there are others
    EXPECT_EQ(most.at(2), 1u);
}

TEST(HoeflerBarrier, OneSizeAtWhichManyWaysAreSlowerIsEnough) {
    Parts parts = without_ranks();
    std::uint32_t asked = 1;
    parts.barrier = [&, barrier = parts.barrier](std::uint32_t ranks, std::uint32_t ways) {
        asked = ways;
        return barrier(ranks, ways);
    };
    parts.walk = [&](const traffic::Schedule& schedule, const model::Charges& charges) {
        model::Charges slow = charges;
        if (schedule.ranks() == 5 && asked > 1) {
            slow.free = 1;
            slow.way.small.gap = microseconds(100);
        }
        return model::walk(schedule, slow);
    };

    const Result result = hoefler_barrier(parts, quick());

    unsigned failed = 0;
    for (const Claim& claim : result.claims) failed += claim.holds ? 0 : 1;
    EXPECT_EQ(failed, 1u);
    EXPECT_FALSE(result.holds());
}

TEST(HoeflerBarrier, NeedsBarriersWithManyPartners) {
    Parts parts = without_ranks();
    parts.barrier = [barrier = parts.barrier](std::uint32_t ranks, std::uint32_t) { return barrier(ranks, 1); };

    EXPECT_FALSE(hoefler_barrier(parts, quick()).holds());
}

// Too good is as wrong as too bad.
TEST(HoeflerBarrier, NeedsBarriersWithAllTheirRounds) {
    Parts parts = without_ranks();
    parts.barrier = [barrier = parts.barrier](std::uint32_t ranks, std::uint32_t ways) {
        return barrier(ways == 1 ? ranks : 2, ways == 1 ? 1 : 2);
    };

    EXPECT_FALSE(hoefler_barrier(parts, quick()).holds());
}

TEST(HoeflerBarrier, SaysWhichWaysAreSlowerThanOne) {
    const Result result = hoefler_barrier(without_ranks(), quick());

    EXPECT_NE(result.claims[1].text.find("1 is slower, the last 2-way at 4 nodes"), std::string::npos)
        << result.claims[1].text;
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
