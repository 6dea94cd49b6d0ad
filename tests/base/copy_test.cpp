#include "loom/base/copy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "loom/base/random.hpp"

namespace loom {
namespace {

// Sizes around a cache line and beyond, from and to any place, with neighbours that must stay.
TEST(CopyPastCaches, CopiesWhatMemcpyCopies) {
    Random random(7);
    constexpr std::uint32_t all = 70'000;
    std::vector<unsigned char> from(all), to(all), expected(all);
    for (int round = 0; round < 4000; ++round) {
        for (std::size_t i = 0; i < 256; ++i) from[random.below(all)] = static_cast<unsigned char>(random());
        const std::uint32_t most = round % 4 == 0 ? 60'000 : 300;
        const std::size_t bytes = random.below(most), source = random.below(200), target = random.below(200);
        expected = to;
        std::memcpy(expected.data() + target, from.data() + source, bytes);
        copy_past_caches(to.data() + target, from.data() + source, bytes);
        ASSERT_EQ(to, expected) << bytes << " bytes from " << source << " to " << target;
    }
}

TEST(CopyPastCaches, KnowsTheLastCaches) {
    EXPECT_GE(last_caches_bytes(), std::size_t{64} << 10);
    EXPECT_LE(last_caches_bytes(), std::size_t{64} << 30);
    EXPECT_EQ(last_caches_bytes(), last_caches_bytes());
}

}  // namespace
}  // namespace loom
