#include "loom/base/nearest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace loom {
namespace {

TEST(Nearest, CountsEdits) {
    EXPECT_EQ(edit_distance("", "abc"), 3u);
    EXPECT_EQ(edit_distance("abc", "abc"), 0u);
    EXPECT_EQ(edit_distance("abc", "acb"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, TakesTheFirstOfTheNearest) {
    const std::vector<std::string> names{"route", "check", "chock"};

    EXPECT_EQ(nearest("chack", names), "check");
    EXPECT_EQ(nearest("che", names), "check");
    EXPECT_EQ(nearest("frobnicate", names), "");
    EXPECT_EQ(nearest("route", {}), "");
}

TEST(Nearest, NamesOneThatIsFarToo) {
    const std::vector<std::string> names{"route", "check"};

    const Nearest found = find_nearest("xxxxk", names);

    EXPECT_EQ(found.index, 1u);
    EXPECT_FALSE(found.near);
}

}  // namespace
}  // namespace loom
