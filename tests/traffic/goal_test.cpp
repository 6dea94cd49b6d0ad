#include "loom/traffic/goal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "loom/base/error.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string written(const Schedule& schedule) {
    std::ostringstream out;
    write_goal(schedule, out);
    return out.str();
}

TEST(Goal, ReadsAllThereIs) {
    const Schedule schedule = read_goal(
        "// a comment\n"
        "num_ranks 2\n"
        "rank 1 { l1: recv 10b from 0 tag 5; recv 7 b from -1 tag -1\n"
        "}\n"
        "/* two\n lines */ rank 0 {\r\n"
        "l1: calc 100 cpu 2\r\n"
        "l_2: send 10b to 1 tag 5 cpu 1 nic 3 // and so on\r\n"
        "send 9b to 1\r\n"
        "l_2 requires l1\r\n"
        "l_2 irequires l4\r\n"
        "l4: calc 0 }\r\n",
        "x");

    EXPECT_THAT(schedule.ops(Rank{0}),
                ElementsAre(Op{.amount = 100'000, .peer = {}, .kind = OpKind::compute, .cpu = 2},
                            Op{.amount = 10, .peer = Rank{1}, .tag = 5, .kind = OpKind::send, .cpu = 1, .nic = 3},
                            Op{.amount = 9, .peer = Rank{1}, .kind = OpKind::send},
                            Op{.amount = 0, .peer = {}, .kind = OpKind::compute}));
    EXPECT_THAT(schedule.ops(Rank{1}),
                ElementsAre(Op{.amount = 10, .peer = Rank{0}, .tag = 5, .kind = OpKind::receive},
                            Op{.amount = 7, .peer = any_rank, .tag = any_tag, .kind = OpKind::receive}));
    EXPECT_THAT(schedule.successors(0), ElementsAre(Successor{1, false}));
    EXPECT_THAT(schedule.successors(3), ElementsAre(Successor{1, true}));
    EXPECT_EQ(schedule.waits_for(1), 2u);
}

TEST(Goal, WritesWhatLogGopsimReads) {
    ScheduleBuilder builder(2);
    builder.compute(Rank{0}, nanoseconds(100), 1);
    builder.add(Rank{0}, {.amount = 10, .peer = Rank{1}, .tag = 5, .kind = OpKind::send, .nic = 1});
    builder.require(Rank{0}, 1, 0);
    builder.receive(Rank{1}, any_rank, 10, any_tag);
    builder.compute(Rank{1}, picoseconds(1499));
    builder.require(Rank{1}, 1, 0, true);

    const std::string text = written(builder.build());

    EXPECT_EQ(text,
              "num_ranks 2\n"
              "\nrank 0 {\nl1: calc 100 cpu 1\nl2: send 10b to 1 tag 5 nic 1\nl2 requires l1\n}\n"
              "\nrank 1 {\nl1: recv 10b from -1 tag -1\nl2: calc 1\nl2 irequires l1\n}\n");
}

TEST(Goal, ReadsWhatItWrote) {
    ScheduleOptions options;
    options.work = nanoseconds(50);
    for (const char* spec : {"ring:3", "binomial:2", "dissemination", "stencil2d:3", "alltoall", "random:200"})
        for (const std::size_t ranks : {1u, 2u, 3u, 5u, 8u, 100u}) {
            if (ranks < 3 && std::string_view(spec) == "binomial:2") continue;
            const Schedule schedule = make_schedule(spec, ranks, options);

            const Schedule again = read_goal(written(schedule), "again");

            EXPECT_EQ(again, schedule) << spec << " of " << ranks;
        }
}

TEST(Goal, KeepsTheOrderOfItsEdges) {
    const Schedule schedule = read_goal(
        "num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl3 requires l1\nl2 requires l1\nl3: calc 1\n}\n", "x");

    EXPECT_THAT(schedule.successors(0), ElementsAre(Successor{2, false}, Successor{1, false}));
}

TEST(Goal, RoundsWorkToTheNearestNanosecond) {
    ScheduleBuilder builder(1);
    for (const std::int64_t ps : {499, 501, 1499, 1501, 2000}) builder.compute(Rank{0}, picoseconds(ps));

    const std::string text = written(builder.build());

    EXPECT_EQ(text, "num_ranks 1\n\nrank 0 {\nl1: calc 0\nl2: calc 1\nl3: calc 1\nl4: calc 2\nl5: calc 2\n}\n");
}

TEST(Goal, HasNoWordForReduce) {
    ScheduleBuilder builder(1);
    builder.add(Rank{0}, {.amount = 10, .peer = {}, .kind = OpKind::reduce});
    const Schedule schedule = builder.build();

    EXPECT_THROW((void)written(schedule), Error);
}

TEST(Goal, IsRecognised) {
    EXPECT_TRUE(looks_like_goal("\n /* x */ num_ranks 3"));
    EXPECT_FALSE(looks_like_goal("/* num_ranks 3"));
    EXPECT_FALSE(looks_like_goal("{\"num_ranks\": 3}"));
}

struct Bad {
    const char* text;
    std::size_t line;
    const char* message;
};

class GoalRefuses : public testing::TestWithParam<Bad> {};

TEST_P(GoalRefuses, WithLineAndWhatWasExpected) {
    try {
        (void)read_goal(GetParam().text, "file.goal");
        FAIL() << "nothing was thrown";
    } catch (const ParseError& error) {
        EXPECT_EQ(error.file(), "file.goal");
        EXPECT_EQ(error.line(), GetParam().line) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, GoalRefuses,
    testing::Values(
        Bad{"", 1, "expected \"num_ranks\" and their number first, got the end of the file"},
        Bad{"\nrank 0 {}", 2, "expected \"num_ranks\""},
        Bad{"num_ranks x", 1, "expected the number of ranks from 0 to"}, Bad{"num_ranks 4000000000\n", 1, "too short"},
        Bad{"num_ranks 99999999999999999999999\n", 1, "the number of ranks"},
        Bad{"num_ranks 0\n", 1, "expected at least 1 rank"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1 cpu 1 cpu 2\n}", 3, "expected \"cpu\" once"},
        Bad{"num_ranks 2\nrank 0 {\nsend 1b to 1 tag 1 nic 0 tag 1\n}", 3, "expected \"tag\" once"},
        Bad{"num_ranks 2\nrank 0 {}\n         ", 3, "rank 1 has none"},
        Bad{"num_ranks 1\nrank 0 {}\nrank 0 {}\n", 3, "rank 0 has one in line 2"},
        Bad{"num_ranks 1\nrank 7 {}\n", 2, "expected a rank below 1, got 7"},
        Bad{"num_ranks 1\nrunk 0 {}\n", 2, "expected \"rank\""},
        Bad{"num_ranks 1\nrank 0 \nl1: calc 1", 3, "expected \"{\""},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1\n", 4, "expected a statement or \"}\", got the end of the file"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calk 1\n}", 3, "expected \"send\", \"recv\" or \"calc\""},
        Bad{"num_ranks 1\nrank 0 {\nl1 calc 1\n}", 3, "\"requires\" or \"irequires\""},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc -1\n}", 3, "expected nanoseconds from 0 to 9223372036854775"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 9223372036854776\n}", 3, "expected nanoseconds"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1 cpu 256\n}", 3, "expected a core from 0 to 255"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1 nic 1\n}", 3, "expected \"cpu\" or the end"},
        Bad{"num_ranks 2\nrank 0 {\nl1: send 1 to 1\n}", 3, "expected \"b\""},
        Bad{"num_ranks 2\nrank 0 {\nl1: send 1b from 1\n}", 3, "expected \"to\""},
        Bad{"num_ranks 2\nrank 0 {\nl1: recv 1b to 1\n}", 3, "expected \"from\""},
        Bad{"num_ranks 2\nrank 0 {\nl1: send 1b to 2\n}", 3, "expected a rank below 2, got 2"},
        Bad{"num_ranks 2\nrank 0 {\nl1: send 1b to -1\n}", 3, "expected a rank"},
        Bad{"num_ranks 2\nrank 0 {\nl1: recv 1b from -2\n}", 3, "1 after \"-\""},
        Bad{"num_ranks 2\nrank 0 {\nl1: recv 1b from -0\n}", 3, "expected a number or -1"},
        Bad{"num_ranks 2\nrank 0 {\nl1: send 1b to 1 tag -1\n}", 3, "expected a tag"},
        Bad{"num_ranks 2\nrank 0 {\nl1: send 1b to 1 tag 4294967295\n}", 3, "expected a tag"},
        Bad{"num_ranks 2\nrank 0 {\nl1: send 1b to 1 colour 3\n}", 3, "expected \"tag\", \"cpu\", \"nic\""},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 2\n}", 4, "has given \"l1\" before"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires l2\nl3: calc 1\n}", 4, "none is called \"l2\""},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1\nl1 requires 7\n}", 4, "expected the label"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1 2\n}", 3, "expected the end of the statement"},
        Bad{"num_ranks 1\nrank 0 {\nl1: calc 1\nl2: calc 1\nl1 requires l2\nl2 requires l1\n}", 2, "waits for itself"},
        Bad{"/* one\ntwo\n*/ num_ranks 1\n// four\nrank 0 {\nl1: calk 1\n}", 6, "expected \"send\""},
        Bad{"num_ranks 1\n/* \nrank 0 {\n}", 2, "expected the end of the comment"}));

}  // namespace
}  // namespace loom::traffic
