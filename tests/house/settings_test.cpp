// The one registry of settings: the page that is made from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;

TEST(Settings, HaveAPageMadeFromTheirTable) {
    const Outcome page = loom_program("settings --page");

    EXPECT_EQ(page.exit_code, 0);
    EXPECT_EQ(page.out, loom::test::slurp(LOOM_SOURCE_DIR "/docs/settings.md"))
        << "write it anew: loom settings --page > docs/settings.md";
}

}  // namespace
