#include "loom/traffic/matching.hpp"

#include <gtest/gtest.h>

#include "loom/traffic/goal.hpp"

namespace loom::traffic {
namespace {

std::string odd(const std::string& goal) {
    const Schedule schedule = read_goal(goal, "test.goal");
    return truncation_text(schedule, find_truncations(schedule));
}

TEST(Truncation, IsToldWithTheFirstPair) {
    EXPECT_EQ(
        odd("num_ranks 2\nrank 0 { send 8b to 1 tag 5 }\nrank 1 { calc 1; recv 4b from 0 tag 5 }\n"),
        "1 message is larger than its receive: rank 0, operation 0 sends 8 bytes to rank 1, operation 1, which takes "
        "4; a real program would end there");
    EXPECT_EQ(odd("num_ranks 3\nrank 0 { recv 1b from 2 tag 0 }\nrank 1 { send 3b to 2 tag 1; send 9b to 2 tag 1 }\n"
                  "rank 2 { recv 3b from 1 tag 1; recv 8b from 1 tag 1; send 2b to 0 tag 0 }\n"),
              "2 messages are larger than their receives, the first: rank 1, operation 1 sends 9 bytes to rank 2, "
              "operation 1, which takes 8; a real program would end there");
}

TEST(Truncation, IsNoneWhereReceivesAreLargeEnoughOrTakeAnything) {
    EXPECT_EQ(odd("num_ranks 2\nrank 0 { send 8b to 1 tag 5 }\nrank 1 { recv 9b from 0 tag 5 }\n"), "");
    EXPECT_EQ(odd("num_ranks 2\nrank 0 { send 8b to 1 tag 5 }\nrank 1 { recv 4b from 0 tag 6 }\n"), "");
    EXPECT_EQ(odd("num_ranks 2\nrank 0 { send 8b to 1 tag 5; send 3b to 1 tag 4 }\n"
                  "rank 1 { recv 9b from -1 tag -1; recv 3b from 0 tag 5 }\n"),
              "");
}

TEST(WaitingText, NamesRankOperationAndWhatIsMissing) {
    const Schedule schedule =
        read_goal("num_ranks 3\nrank 0 { }\nrank 1 { calc 1; send 8b to 2 tag 5 }\nrank 2 { recv 4b from -1 tag -1 }\n",
                  "a.goal");

    EXPECT_EQ(waiting_text(schedule, 1), "rank 1, operation 1: a send of 8 bytes to rank 2, tag 5, is never received");
    EXPECT_EQ(waiting_text(schedule, 2),
              "rank 2, operation 0: a receive of 4 bytes from anyone, any tag, has no message");
}

}  // namespace
}  // namespace loom::traffic
