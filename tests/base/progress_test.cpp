#include "loom/base/progress.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace loom;

TEST(ProgressLine, ShowsShareAndTimeLeft) {
    const std::string line = progress_line("routing", 0.5, 3.0, 80);

    EXPECT_EQ(line, "routing [####################....................]  50 %  3 s left");
}

TEST(ProgressLine, DropsTheBarOnANarrowTerminal) {
    const std::string line = progress_line("routing", 0.25, 3.0, 20);

    EXPECT_EQ(line, "routing  25 %  9 s left");
}

TEST(ProgressLine, SurvivesNonsense) {
    EXPECT_EQ(progress_line("x", std::numeric_limits<double>::quiet_NaN(), 1, 80).substr(0, 3), "x [");
    EXPECT_EQ(progress_line("x", -3, 1, 20), progress_line("x", 0, 1, 20));
    EXPECT_EQ(progress_line("x", 7, 1, 20), progress_line("x", 1, 1, 20));
}

TEST(Progress, IsSilentWhenToldTo) {
    Progress progress("quiet", Show::nothing);

    testing::internal::CaptureStderr();
    progress.update(0.5);
    progress.finish();

    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_FALSE(progress.callback());
}

}  // namespace
