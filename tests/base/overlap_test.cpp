#include "loom/base/overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loom {
namespace {

using ::testing::ElementsAre;
using Sets = std::vector<std::vector<std::uint32_t>>;

TEST(GroupByOverlap, JoinsWhatSharesHalfOfTheSmallerSet) {
    const Sets sets{{0, 1, 2, 3}, {4, 5}, {2, 3}, {3, 4, 5, 6}, {5}};

    EXPECT_THAT(group_by_overlap(sets, 7), ElementsAre(0, 1, 0, 1, 1));
}

TEST(GroupByOverlap, LeavesEmptySetsAlone) {
    EXPECT_THAT(group_by_overlap(Sets{{}, {0}, {}, {0}}, 1), ElementsAre(0, 1, 2, 1));
    EXPECT_TRUE(group_by_overlap(Sets{}, 0).empty());
}

TEST(GroupByOverlap, OneStrayMemberJoinsNothing) {
    EXPECT_THAT(group_by_overlap(Sets{{0, 1, 2, 3}, {3, 4, 5, 6}}, 7), ElementsAre(0, 1));
}

}  // namespace
}  // namespace loom
