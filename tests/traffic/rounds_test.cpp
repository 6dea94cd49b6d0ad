#include "loom/traffic/rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::traffic {
namespace {

std::vector<std::vector<std::pair<int, int>>> rounds(const Schedule& schedule) {
    const PatternPtr pattern = rounds_of(schedule, "test", schedule.ranks());
    std::vector<std::vector<std::pair<int, int>>> all;
    std::vector<Pair> stage;
    for (std::size_t i = 0; i < pattern->stages(); ++i) {
        pattern->stage(i, stage);
        all.emplace_back();
        for (const Pair& pair : stage)
            all.back().emplace_back(static_cast<int>(pair.from.value), static_cast<int>(pair.to.value));
    }
    return all;
}

using Expected = std::vector<std::vector<std::pair<int, int>>>;

TEST(Rounds, of_a_tree_go_down_level_by_level) {
    EXPECT_EQ(rounds(make_schedule("binomial", 5)), (Expected{{{0, 1}, {0, 2}, {0, 4}}, {{1, 3}}}));
}

TEST(Rounds, count_messages_and_not_other_work) {
    const Schedule schedule = read_goal(
        "num_ranks 2\n"
        "rank 0 {\nl1: calc 100\nl2: send 8b to 1 tag 0\nl2 requires l1\nl3: recv 8b from 1 tag 1\n}\n"
        "rank 1 {\nl1: recv 8b from 0 tag 0\nl2: calc 5\nl3: send 8b to 0 tag 1\nl2 requires l1\nl3 requires l2\n}\n",
        "test");

    EXPECT_EQ(rounds(schedule), (Expected{{{0, 1}}, {{1, 0}}}));
}

TEST(Rounds, are_those_of_the_latest_message_that_is_waited_for) {
    // Rank 2 hears from 1 in round 1 and then, after much work there, from 3 in round 0.
    const Schedule schedule = read_goal(
        "num_ranks 4\n"
        "rank 0 {\nl1: send 8b to 1 tag 0\nl2: recv 8b from 2 tag 0\n}\n"
        "rank 1 {\nl1: recv 8b from 0 tag 0\nl2: send 8b to 2 tag 0\nl2 requires l1\n}\n"
        "rank 2 {\nl1: recv 8b from 1 tag 0\nl2: recv 8b from 3 tag 0\nl3: send 8b to 0 tag 0\n"
        "l3 requires l1\nl3 requires l2\n}\n"
        "rank 3 {\nl1: calc 1\nl2: calc 1\nl3: calc 1\nl4: calc 1\nl5: calc 1\nl6: send 8b to 2 tag 0\n"
        "l2 requires l1\nl3 requires l2\nl4 requires l3\nl5 requires l4\nl6 requires l5\n}\n",
        "test");

    EXPECT_EQ(rounds(schedule), (Expected{{{0, 1}, {3, 2}}, {{1, 2}}, {{2, 0}}}));
}

TEST(Rounds, leave_out_what_a_rank_sends_to_itself) {
    const Schedule schedule = read_goal(
        "num_ranks 2\n"
        "rank 0 {\nl1: send 8b to 0 tag 7\nl2: recv 8b from 0 tag 7\nl3: send 8b to 1 tag 0\nl3 requires l2\n}\n"
        "rank 1 {\nl1: recv 8b from 0 tag 0\n}\n",
        "test");

    EXPECT_EQ(rounds(schedule), (Expected{{}, {{0, 1}}}));
}

TEST(Rounds, refuse_what_has_none) {
    const auto rounds_of_text = [](const char* text) { return rounds(read_goal(text, "test")); };

    EXPECT_THROW(rounds_of_text("num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\n}\n"), Error);
    EXPECT_THROW(rounds_of_text("num_ranks 2\nrank 0 {\nl1: recv 8b from 1 tag 0\n}\nrank 1 {\n}\n"), Error);
    EXPECT_THROW(
        rounds_of_text("num_ranks 2\nrank 0 {\nl1: recv 8b from -1 tag 0\n}\nrank 1 {\nl1: send 8b to 0 tag 0\n}\n"),
        Error);
    EXPECT_THROW(rounds_of_text("num_ranks 2\n"
                                "rank 0 {\nl1: recv 8b from 1 tag 0\nl2: send 8b to 1 tag 0\nl2 requires l1\n}\n"
                                "rank 1 {\nl1: recv 8b from 0 tag 0\nl2: send 8b to 0 tag 0\nl2 requires l1\n}\n"),
                 Error);
    EXPECT_THROW((void)rounds_of(make_schedule("ring", 4), "test", 3), Error);
}

}  // namespace
}  // namespace loom::traffic
