// Ranks that run a schedule at packet level: who matches whom, what waits for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/packet_bed.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::ElementsAre;
using testing::HasSubstr;
using traffic::ScheduleBuilder;

// A message of nothing from host to host takes 350 ns, 26 bytes x 250 ps and 250 ns (packet_link_test.cpp).
constexpr Time empty_message{606'500};
// And its acknowledgement another 150 ns, 30 bytes x 250 ps and 250 ns.
constexpr Time acknowledged{606'500 + 407'500};

TEST(Executor, MessagesOfNothingAreMessages) {
    ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 0);
    builder.receive(Rank{1}, Rank{0}, 0);
    const Ranked ranked({"A", "B"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_THAT(sim->rank_ends(), ElementsAre(acknowledged, empty_message));
    EXPECT_EQ(sim->flows()[0].ended, empty_message);
}

// The message is there at 606.5 ns; the receive is posted at 5 us and is done at once.
TEST(Executor, EarlyMessagesWaitForTheirReceive) {
    ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 0);
    const auto pause = builder.compute(Rank{1}, microseconds(5));
    builder.require(Rank{1}, builder.receive(Rank{1}, Rank{0}, 0), pause);
    const Ranked ranked({"A", "B"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_EQ(sim->rank_ends()[1], microseconds(5));
}

// B's message is there first, C starts 3 us later. The first receive takes anything, the second C's only; behind each
// is some work that tells when it was done.
TEST(Executor, WildReceivesTakeWhatComesFirst) {
    ScheduleBuilder builder(3);
    const auto any = builder.receive(Rank{0}, traffic::any_rank, 0, traffic::any_tag);
    builder.require(Rank{0}, builder.compute(Rank{0}, microseconds(1)), any);
    builder.receive(Rank{0}, Rank{2}, 0, 9);
    builder.send(Rank{1}, Rank{0}, 0, 5);
    const auto pause = builder.compute(Rank{2}, microseconds(3));
    builder.require(Rank{2}, builder.send(Rank{2}, Rank{0}, 0, 9), pause);
    const Ranked ranked({"A", "B", "C"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_EQ(sim->rank_ends()[0], microseconds(3) + empty_message);
}

// A receive for anyone with tag 1 leaves the message with tag 2 to the one behind it.
TEST(Executor, WildReceivesKeepToTheirTag) {
    ScheduleBuilder builder(2);
    builder.receive(Rank{1}, traffic::any_rank, 0, 1);
    builder.send(Rank{0}, Rank{1}, 0, 2);
    const Ranked ranked({"A", "B"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::stuck);

    EXPECT_THAT(sim->trouble(), ElementsAre("rank 1 waits for 0 bytes from any rank (tag 1)"));
    EXPECT_EQ(sim->rank_ends()[1], never);
}

TEST(Executor, EarlyMessagesAreTakenInOrderByWildReceives) {
    ScheduleBuilder builder(3);
    builder.send(Rank{1}, Rank{0}, 0, 1);
    const auto pause = builder.compute(Rank{2}, microseconds(1));
    builder.require(Rank{2}, builder.send(Rank{2}, Rank{0}, 0, 2), pause);
    const auto late = builder.compute(Rank{0}, microseconds(9));
    for (unsigned i = 0; i < 2; ++i)
        builder.require(Rank{0}, builder.receive(Rank{0}, traffic::any_rank, 0, traffic::any_tag), late);
    const Ranked ranked({"A", "B", "C"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_EQ(sim->rank_ends()[0], microseconds(9));
}

// The second send waits for the first one's start only, so both are under way at once: 200 ns, two packets of 26 bytes
// one behind the other. Had it waited for completion, it would have begun after the acknowledgement.
TEST(Executor, EdgesOnStartDoNotWaitForCompletion) {
    for (const bool on_start : {true, false}) {
        ScheduleBuilder builder(2);
        const auto first = builder.send(Rank{0}, Rank{1}, 0);
        builder.require(Rank{0}, builder.send(Rank{0}, Rank{1}, 0), first, on_start);
        const Ranked ranked({"A", "B"}, builder.build());
        const auto sim = ranked.start();

        EXPECT_EQ(sim->advance(never), State::finished);

        EXPECT_EQ(sim->flows()[0].ended, empty_message + (on_start ? Time{26 * 250} : acknowledged));
    }
}

// Two ranks of one host: 200 ns in, 1000 bytes x 100 ps, 200 ns out; the sender is done when the receiver is.
TEST(Executor, RanksOfOneHostCopy) {
    ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 1000);
    builder.receive(Rank{1}, Rank{0}, 1000);
    const Ranked ranked({"A", "A"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_THAT(sim->rank_ends(), ElementsAre(nanoseconds(500), nanoseconds(500)));
    EXPECT_EQ(sim->flows()[0].ended, nanoseconds(500));
    EXPECT_EQ(sim->work().packets, 0u);
    EXPECT_EQ(sim->work().bytes, 1000u);
    EXPECT_EQ(sim->counters(ranked.bed.port("A:1")), fabric::PortCounters{});
}

// A long message and a short one of the same tag: the first receive takes the long one, at 100.4 us.
TEST(Executor, ShortMessagesInsideAHostDoNotOvertakeLongOnes) {
    ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 1'000'000);
    builder.send(Rank{0}, Rank{1}, 0);
    const auto first = builder.receive(Rank{1}, Rank{0}, 1'000'000);
    builder.require(Rank{1}, builder.compute(Rank{1}, microseconds(50)), first);
    builder.receive(Rank{1}, Rank{0}, 0);
    const Ranked ranked({"A", "A"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_EQ(sim->rank_ends()[1], microseconds(150) + nanoseconds(400));
}

TEST(Executor, ARankMaySendToItself) {
    ScheduleBuilder builder(1);
    builder.send(Rank{0}, Rank{0}, 10);
    builder.receive(Rank{0}, Rank{0}, 10);
    const Ranked ranked({"A"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_EQ(sim->rank_ends()[0], nanoseconds(401));
}

// Work on one core is done one after the other, on two at the same time; copies and reductions cost by the byte.
TEST(Executor, CoresWorkOneAfterTheOther) {
    ScheduleBuilder builder(1);
    builder.compute(Rank{0}, nanoseconds(700));
    builder.add(Rank{0}, {.amount = 1000, .peer = {}, .kind = traffic::OpKind::copy});
    builder.add(Rank{0}, {.amount = 1000, .peer = {}, .kind = traffic::OpKind::reduce, .cpu = 1});
    const Ranked ranked({"A"}, builder.build());
    const auto sim = ranked.start();

    (void)sim->advance(never);

    EXPECT_EQ(sim->rank_ends()[0], nanoseconds(800));
}

TEST(Executor, RanksWithoutWorkEndAtOnceAndMayBeWithoutAHost) {
    ScheduleBuilder builder(3);
    builder.send(Rank{0}, Rank{2}, 0);
    const Ranked ranked({"A", "", "B"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::finished);

    EXPECT_THAT(sim->rank_ends(), ElementsAre(acknowledged, Time{}, Time{}));
}

// Time is 63 bits of picoseconds: what would not fit is refused, not wrapped around.
TEST(Executor, RefusesMoreWorkThanTimeCanHold) {
    for (const traffic::OpKind kind : {traffic::OpKind::compute, traffic::OpKind::copy, traffic::OpKind::send}) {
        ScheduleBuilder builder(2);
        for (unsigned i = 0; i < 2; ++i)
            builder.add(
                Rank{1},
                {.amount = UINT64_MAX / (kind == traffic::OpKind::compute ? 8 : 400), .peer = Rank{1}, .kind = kind});
        const Ranked ranked({"A", "A"}, builder.build());

        EXPECT_THAT([&] { (void)ranked.start(); },
                    testing::ThrowsMessage<Error>(HasSubstr("rank 1 has work for more than 46 days")));
    }
}

// Each of three ranks works for 44 days, one after the other.
TEST(Executor, RefusesWorkThatBeginsTooLate) {
    const Time work{3'800'000'000'000'000'000};
    ScheduleBuilder builder(3);
    for (std::uint32_t r = 0; r < 3; ++r) {
        const std::uint32_t works = builder.compute(Rank{r}, work);
        if (r > 0) builder.require(Rank{r}, works, builder.receive(Rank{r}, Rank{r - 1}, 8));
        if (r < 2) builder.require(Rank{r}, builder.send(Rank{r}, Rank{r + 1}, 8), works);
    }
    const Ranked ranked({"A", "B", "D"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(work * 2 - seconds(1)), State::running);
    EXPECT_THAT([&] { (void)sim->advance(never); },
                testing::ThrowsMessage<Error>(HasSubstr("rank 1 begins something after more than 53 days")));
}

TEST(Executor, SaysWhichReceivesWait) {
    ScheduleBuilder builder(2);
    builder.receive(Rank{1}, Rank{0}, 7, 3);
    const Ranked ranked({"A", "B"}, builder.build());
    const auto sim = ranked.start();

    EXPECT_EQ(sim->advance(never), State::stuck);

    EXPECT_THAT(sim->trouble(), ElementsAre("rank 1 waits for 7 bytes from rank 0 (tag 3)"));
}

}  // namespace
