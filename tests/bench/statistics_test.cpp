#include "statistics.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace loom::bench {
namespace {

TEST(Statistics, MedianOfAnEvenNumberLiesBetween) {
    EXPECT_DOUBLE_EQ(median({}), 0);
    EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
    EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
}

TEST(Statistics, RatioIsTakenRoundByRound) {
    // The machine was ten times slower in the second half, for both alike.
    const std::vector<double> ours{1, 1, 1, 10, 10, 10}, theirs{2, 2, 2, 20, 20, 20};

    const Interval interval = ratio(ours, theirs);

    EXPECT_DOUBLE_EQ(interval.middle, 0.5);
    EXPECT_DOUBLE_EQ(interval.low, 0.5);
    EXPECT_DOUBLE_EQ(interval.high, 0.5);
}

TEST(Statistics, IntervalHoldsTheMiddleAndIsTheSameAgain) {
    const std::vector<double> ours{1.0, 1.2, 0.9, 1.1, 3.0, 1.0, 0.95}, theirs(7, 1.0);

    const Interval first = ratio(ours, theirs), again = ratio(ours, theirs);

    EXPECT_LE(first.low, first.middle);
    EXPECT_LT(first.middle, first.high);
    EXPECT_GE(first.low, 0.9);
    EXPECT_LE(first.high, 3.0);
    EXPECT_DOUBLE_EQ(first.low, again.low);
    EXPECT_DOUBLE_EQ(first.high, again.high);
}

TEST(Statistics, GeometricMeanLeavesOutWhatIsMissing) {
    const std::vector<double> one{1, 1, 1}, four{4, 4, 4}, none;
    const Pair cells[] = {{one, four}, {four, one}, {one, none}, {one, four}};

    const Interval mean = geometric_mean(cells);

    EXPECT_NEAR(mean.middle, 0.63, 0.001);
    EXPECT_DOUBLE_EQ(geometric_mean({}).middle, 0);
}

}  // namespace
}  // namespace loom::bench
