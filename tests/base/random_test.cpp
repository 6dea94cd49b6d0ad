#include "loom/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
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

TEST(Random, BelowIsUniformWhereTheWordsDoNotDivide) {
    // 2^32 words for 3 * 2^30 numbers: without drawing again some numbers come twice as often as others.
    Random random(7);
    std::array<int, 3> count{};

    for (int i = 0; i < 60000; ++i) ++count[random.below(3u << 30) % 3];

    for (const int c : count) EXPECT_NEAR(c, 20000, 500);  // more than four standard deviations
}

TEST(Random, ShuffleMakesEveryOrderEquallyOften) {
    Random random(3);
    std::map<std::array<int, 3>, int> times;

    for (int i = 0; i < 60000; ++i) {
        std::array<int, 3> items{0, 1, 2};
        random.shuffle(std::span<int>(items));
        ++times[items];
    }

    EXPECT_EQ(times.size(), 6u);
    for (const auto& [order, count] : times) EXPECT_NEAR(count, 10000, 400);
}

TEST(Random, StreamsDifferBySeedAndByIndex) {
    std::set<std::uint64_t> first;

    for (std::uint64_t seed = 0; seed < 10; ++seed)
        for (std::uint64_t index = 0; index < 10; ++index) first.insert(random_stream(seed, index)());

    EXPECT_EQ(first.size(), 100u);
    EXPECT_EQ(random_stream(3, 4)(), random_stream(3, 4)());
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
