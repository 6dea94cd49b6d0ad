// What the program says about itself: guesses at what was meant, and completion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using testing::HasSubstr;
using testing::Not;

TEST(Help, TakesSwappedLettersForOneMistake) {
    const Outcome swapped = loom_program("dmeo"), nothing_like = loom_program("xyz");

    EXPECT_EQ(swapped.exit_code, 2);
    EXPECT_EQ(swapped.err, "loom: no such command: loom dmeo; did you mean loom demo?\n");
    EXPECT_EQ(nothing_like.exit_code, 2);
    EXPECT_THAT(nothing_like.err, Not(HasSubstr("did you mean")));
    EXPECT_THAT(nothing_like.err, HasSubstr("; there are "));
}

TEST(Completion, KnowsSubcommandsByTheirWholePath) {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const Outcome script = loom_program(std::string("completion ") + shell);

        EXPECT_EQ(script.exit_code, 0) << shell;
        EXPECT_THAT(script.out, HasSubstr("'loom fabric new kary'")) << shell;
    }
}

TEST(Completion, ListsThePoliciesThatTheManagerHas) {
    EXPECT_THAT(loom_program("manage --help").out, HasSubstr("none,paper,two-step,history,proportional,backoff"));
    EXPECT_THAT(loom_program("completion bash").out, HasSubstr("'none paper two-step history proportional backoff'"));
}

}  // namespace
