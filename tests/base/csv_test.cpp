#include "loom/base/csv.hpp"

#include <gtest/gtest.h>

namespace loom {
namespace {

TEST(Csv, QuotesOnlyWhatNeedsIt) {
    EXPECT_EQ(csv_field("two words"), "two words");
    EXPECT_EQ(csv_field(""), "");
    EXPECT_EQ(csv_field("a, b"), "\"a, b\"");
    EXPECT_EQ(csv_field("8\" disk"), "\"8\"\" disk\"");
    EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
}

}  // namespace
}  // namespace loom
