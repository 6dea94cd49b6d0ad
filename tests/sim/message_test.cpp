// What the message level tells beside times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/schedules.hpp"
#include "sim/engines.hpp"

namespace loom::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

traffic::Schedule goal(std::string_view text) {
    return traffic::read_goal(text, "test");
}

TEST(Message, IsMadeByItsName) {
    const auto schedule = traffic::make_schedule("ring", 3);
    const auto simulation = make_simulation(Level::message, {}, schedule, {});

    EXPECT_EQ(simulation->level(), Level::message);
    EXPECT_EQ(simulation->now(), Time{});
    EXPECT_EQ(simulation->congestion_parameters(), nullptr);
    EXPECT_EQ(simulation->counters(PortIndex{0}), fabric::PortCounters{});
    EXPECT_THAT(simulation->flows(), IsEmpty());
}

TEST(Message, CountsEventsAsLogGopsimDoes) {
    // Every operation and every message: 3 sends, 3 receives, 3 messages.
    const auto schedule = traffic::make_schedule("ring", 3, {.bytes = 7});
    const auto simulation = make_message_simulation(schedule, {});

    simulation->advance(never);

    EXPECT_EQ(simulation->work().events, 9u);
    EXPECT_EQ(simulation->work().bytes, 21u);
    EXPECT_THAT(simulation->trouble(), IsEmpty());
}

TEST(Message, EndsAtOnceWithoutOperations) {
    const auto schedule = goal("num_ranks 2\nrank 0 {}\nrank 1 {}\n");
    const auto simulation = make_message_simulation(schedule, {});

    EXPECT_EQ(simulation->advance(Time{}), State::finished);
    EXPECT_THAT(simulation->rank_ends(), ElementsAre(Time{}, Time{}));
}

TEST(Message, KeepsAccountOfPairs) {
    const auto schedule = goal(
        "num_ranks 3\n"
        "rank 0 { send 5b to 2 tag 1; send 5b to 1; send 7b to 2 tag 2 }\n"
        "rank 1 { recv 5b from 0 }\n"
        "rank 2 { recv 5b from 0 tag 1; recv 7b from 0 tag 2 }\n");
    Options options;
    options.message.flows = true;
    options.message.parameters = {
        .L = nanoseconds(10), .o = nanoseconds(3), .g = nanoseconds(5), .G = 2000, .O = 0, .S = 100};
    const auto simulation = make_message_simulation(schedule, options);

    simulation->advance(nanoseconds(14));
    const auto early = simulation->flows();
    simulation->advance(never);
    const auto late = simulation->flows();

    // Sends begin at 0, 13, 26; first bytes come at 13, 26, 39, last ones 8, 8, 12 later.
    ASSERT_EQ(early.size(), 2u);
    EXPECT_EQ(early[0].to, Rank{1});
    EXPECT_EQ(early[0].begun, nanoseconds(13));
    EXPECT_EQ(early[0].ended, never);
    EXPECT_EQ(early[1].to, Rank{2});
    EXPECT_EQ(early[1].bytes, 12u);
    EXPECT_EQ(early[1].delivered, 5u);
    EXPECT_EQ(early[1].ended, never);
    ASSERT_EQ(late.size(), 2u);
    EXPECT_EQ(late[0].ended, nanoseconds(34));
    EXPECT_EQ(late[1].begun, Time{});
    EXPECT_EQ(late[1].delivered, 12u);
    EXPECT_EQ(late[1].ended, nanoseconds(51));
}

TEST(Message, TellsWhatWaitsForEver) {
    const auto schedule = goal(
        "num_ranks 2\n"
        "rank 0 { a: recv 5b from 1 tag 3; b: calc 1; b requires a }\n"
        "rank 1 { send 100000b to 0 tag 4; c: send 1b to 0 tag 5 }\n");
    const auto simulation = make_message_simulation(schedule, {});

    const State state = simulation->advance(never);

    EXPECT_EQ(state, State::stuck);
    EXPECT_THAT(simulation->rank_ends(), ElementsAre(never, never));
    EXPECT_THAT(simulation->trouble(),
                ElementsAre("rank 0, operation 0: a receive of 5 bytes from rank 1, tag 3, has no message",
                            "rank 1, operation 0: a send of 100000 bytes to rank 0, tag 4, is never received",
                            "2 messages arrived that no receive takes"));
}

TEST(Message, TellsOfManyThatWaitInAFewLines) {
    std::string text = "num_ranks 1\nrank 0 {\n";
    for (int i = 0; i < 50; ++i) text += "recv 1b from -1 tag -1\n";
    const auto schedule = goal(text + "}\n");
    const auto simulation = make_message_simulation(schedule, {});

    simulation->advance(never);

    ASSERT_EQ(simulation->trouble().size(), 21u);
    EXPECT_THAT(simulation->trouble().front(), HasSubstr("from anyone, any tag, has no message"));
    EXPECT_EQ(simulation->trouble().back(), "and 30 more");
}

TEST(Message, TakesTheFirstThatFits) {
    // Rank 1's second receive takes anything, and is there first for tag 7.
    const auto schedule = goal(
        "num_ranks 2\n"
        "rank 0 { a: send 1b to 1 tag 7; b: send 1b to 1 tag 6; b requires a }\n"
        "rank 1 { recv 1b from 0 tag 6; b: recv 1b from -1 tag -1; recv 1b from 0 tag 7; c: calc 9; c requires b }\n");
    const auto simulation = make_message_simulation(schedule, {});

    const State state = simulation->advance(never);

    EXPECT_EQ(state, State::stuck);
    EXPECT_THAT(simulation->trouble(),
                ElementsAre(HasSubstr("rank 1, operation 2: a receive of 1 bytes from rank 0, tag 7")));
}

TEST(Message, FindsOneOfManyInAnyOrder) {
    // 200 receives wait when the messages come in the opposite order, and 200 messages when the receives do.
    for (const bool receives_first : {true, false}) {
        traffic::ScheduleBuilder builder(2);
        const auto start = builder.compute(Rank{receives_first ? 0u : 1u}, milliseconds(1));
        for (std::uint32_t tag = 0; tag < 200; ++tag) {
            const auto send = builder.send(Rank{0}, Rank{1}, 10, 199 - tag);
            const auto receive = builder.receive(Rank{1}, Rank{0}, 10, tag);
            builder.require(Rank{receives_first ? 0u : 1u}, receives_first ? send : receive, start);
        }
        const auto schedule = builder.build();
        const auto simulation = make_message_simulation(schedule, {});

        EXPECT_EQ(simulation->advance(never), State::finished);
        EXPECT_EQ(simulation->work().bytes, 2000u);
    }
}

TEST(Message, RefusesWhatMakesNoSense) {
    const auto schedule = traffic::make_schedule("ring", 3);
    Options negative;
    negative.message.parameters.o = nanoseconds(-1);

    EXPECT_THROW((void)make_message_simulation(schedule, negative), UsageError);
}

TEST(Message, RefusesWhatLastsTooLong) {
    const auto schedule = goal("num_ranks 2\nrank 0 { send 9000000000000000b to 1 }\nrank 1 { recv 1b from 0 }\n");

    EXPECT_THROW((void)make_message_simulation(schedule, {}), Error);
}

}  // namespace
}  // namespace loom::sim
