#include "loom/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace loom {
namespace {

TEST(Random, SameSeedGivesTheSameNumbersEverywhere) {
    Random random(1);

    // Computed once by hand from the published definition of xoshiro256++ and splitmix64.
    EXPECT_EQ(random(), 0xcfc5d07f6f03c29bu);
    EXPECT_EQ(random(), 0xbf424132963fe08du);
}

TEST(Random, BelowIsUniformWithinChance) {
    Random random(7);
    std::array<int, 6> count{};

    for (int i = 0; i < 60000; ++i) ++count[random.below(6)];

    for (const int c : count) EXPECT_NEAR(c, 10000, 400);  // more than four standard deviations
}

TEST(Random, ShuffleIsAPermutation) {
    Random random(3);
    std::vector<int> items(1000);
    std::iota(items.begin(), items.end(), 0);

    random.shuffle(std::span(items));

    EXPECT_FALSE(std::is_sorted(items.begin(), items.end()));
    std::sort(items.begin(), items.end());
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace loom
