#include "loom/traffic/schedules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "loom/base/error.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::traffic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Op send(std::uint32_t to, std::uint64_t bytes, std::uint32_t tag = 0) {
    return {.amount = bytes, .peer = Rank{to}, .tag = tag, .kind = OpKind::send};
}
Op receive(std::uint32_t from, std::uint64_t bytes, std::uint32_t tag = 0) {
    return {.amount = bytes, .peer = Rank{from}, .tag = tag, .kind = OpKind::receive};
}

// Sends and receives of every (from, to, tag, bytes): each must occur as often as the other.
bool balanced(const Schedule& schedule) {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>, int> open;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
        for (const Op& op : schedule.ops(Rank{rank})) {
            if (op.kind == OpKind::send) ++open[{rank, op.peer.value, op.tag, op.amount}];
            if (op.kind == OpKind::receive) --open[{op.peer.value, rank, op.tag, op.amount}];
        }
    return std::all_of(open.begin(), open.end(), [](const auto& entry) { return entry.second == 0; });
}

TEST(Schedules, EverySendHasItsReceive) {
    ScheduleOptions options;
    options.work = nanoseconds(100);
    for (const ScheduleKind& kind : schedule_kinds())
        for (const std::size_t ranks : {1u, 2u, 3u, 5u, 8u, 12u, 64u}) {
            const Schedule schedule = make_schedule(kind.name, ranks, options);

            EXPECT_EQ(schedule.ranks(), ranks) << kind.name;
            EXPECT_TRUE(balanced(schedule)) << kind.name << " of " << ranks;
        }
}

TEST(Schedules, RingGoesRound) {
    const Schedule schedule = make_schedule("ring:2", 3, {.bytes = 4});

    EXPECT_THAT(schedule.ops(Rank{1}), ElementsAre(send(2, 4), receive(0, 4), send(2, 4), receive(0, 4)));
    EXPECT_THAT(
        schedule.successors(schedule.first(Rank{1}) + 1),
        ElementsAre(Successor{schedule.first(Rank{1}) + 2, false}, Successor{schedule.first(Rank{1}) + 3, false}));
}

TEST(Schedules, BinomialDoublesTheSenders) {
    const Schedule schedule = make_schedule("binomial:1", 6, {.bytes = 4});

    EXPECT_THAT(schedule.ops(Rank{1}), ElementsAre(send(2, 4), send(3, 4), send(5, 4)));
    EXPECT_THAT(schedule.ops(Rank{2}), ElementsAre(receive(1, 4), send(4, 4), send(0, 4)));
    EXPECT_THAT(schedule.ops(Rank{0}), ElementsAre(receive(2, 4)));
    EXPECT_EQ(schedule.waits_for(schedule.first(Rank{2}) + 1), 1u);
}

TEST(Schedules, BinomialSendsOneAfterTheOther) {
    const Schedule schedule = make_schedule("binomial", 8);

    EXPECT_EQ(schedule.ops(Rank{0}).size(), 3u);
    EXPECT_THAT(schedule.successors(0), ElementsAre(Successor{1, false}));
    EXPECT_THAT(schedule.successors(1), ElementsAre(Successor{2, false}));
}

TEST(Schedules, DisseminationSendsAfterTheLastReceive) {
    const Schedule schedule = make_schedule("dissemination", 4, {.bytes = 1});

    EXPECT_THAT(schedule.ops(Rank{3}), ElementsAre(send(0, 1), receive(2, 1), send(1, 1), receive(1, 1)));
    EXPECT_THAT(schedule.successors(schedule.first(Rank{3}) + 1),
                ElementsAre(Successor{schedule.first(Rank{3}) + 2, false}));
    EXPECT_EQ(schedule.waits_for(schedule.first(Rank{3}) + 3), 0u);
}

TEST(Schedules, StencilExchangesWithNeighbours) {
    const Schedule schedule = make_schedule("stencil2d:2:2x1", 2, {.bytes = 8, .work = nanoseconds(5)});

    const Op work{.amount = 5000, .peer = {}, .kind = OpKind::compute};
    EXPECT_THAT(schedule.ops(Rank{0}),
                ElementsAre(work, send(1, 8, 0), send(1, 8, 1), receive(1, 8, 1), receive(1, 8, 0),  //
                            work, send(1, 8, 0), send(1, 8, 1), receive(1, 8, 1), receive(1, 8, 0)));
    EXPECT_EQ(schedule.waits_for(5), 4u);
    EXPECT_EQ(schedule.waits_for(6), 1u);
}

TEST(Schedules, AlltoallBeginsAtOnce) {
    const Schedule schedule = make_schedule("alltoall", 3, {.bytes = 8});

    EXPECT_THAT(schedule.ops(Rank{2}), ElementsAre(send(0, 8), receive(1, 8), send(1, 8), receive(0, 8)));
    for (OpIndex op = 0; op < schedule.size(); ++op) EXPECT_EQ(schedule.waits_for(op), 0u);
}

TEST(Schedules, RandomDependsOnTheSeedAlone) {
    const Schedule one = make_schedule("random:50", 8, {.bytes = 100, .work = nanoseconds(10), .seed = 1});
    const Schedule same = make_schedule("random:50", 8, {.bytes = 100, .work = nanoseconds(10), .seed = 1});
    const Schedule other = make_schedule("random:50", 8, {.bytes = 100, .work = nanoseconds(10), .seed = 2});

    EXPECT_EQ(one.size(), 150u);
    EXPECT_EQ(one, same);
    EXPECT_NE(one, other);
}

TEST(Schedules, RefusesWhatItCannotMake) {
    const auto message_of = [](std::string_view spec, std::size_t ranks) -> std::string {
        try {
            (void)make_schedule(spec, ranks);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "nothing was thrown";
    };

    EXPECT_THAT(message_of("rung", 4), HasSubstr("no schedule is called 'rung', expected one of ring, binomial"));
    EXPECT_THAT(message_of("ring:0", 4), HasSubstr("expected a number from 1"));
    EXPECT_THAT(message_of("binomial:4", 4), HasSubstr("expected a number from 0 to 3"));
    EXPECT_THAT(message_of("alltoall:4", 4), HasSubstr("takes nothing after a colon"));
    EXPECT_THAT(message_of("stencil2d:x", 4), HasSubstr("expected a number from 1"));
    EXPECT_THAT(message_of("stencil2d:2:3x2", 4), HasSubstr("expected a grid like 8x8 of exactly 4 ranks"));
    EXPECT_THAT(message_of("stencil2d:2:4", 4), HasSubstr("expected a grid"));
    EXPECT_THAT(message_of("ring", 0), HasSubstr("cannot be made for 0 ranks"));
    EXPECT_THAT(message_of("alltoall", 100'000), HasSubstr("operations are more than"));
    EXPECT_THAT(message_of("stencil2d:100000000", 64), HasSubstr("operations are more than"));
}

TEST(FromPattern, AllStagesAtOnce) {
    const Schedule schedule = from_pattern(*make_pattern("shift", 3), 10, Parting::none);

    EXPECT_THAT(schedule.ops(Rank{0}), ElementsAre(send(1, 10), receive(2, 10), send(2, 10), receive(1, 10)));
    for (OpIndex op = 0; op < schedule.size(); ++op) EXPECT_EQ(schedule.waits_for(op), 0u);
}

TEST(FromPattern, EachRankAfterItsOwnLastStage) {
    const Schedule schedule = from_pattern(*make_pattern("binomial", 4), 10, Parting::own);

    EXPECT_THAT(schedule.ops(Rank{1}), ElementsAre(receive(0, 10), send(3, 10)));
    EXPECT_THAT(schedule.successors(schedule.first(Rank{1})),
                ElementsAre(Successor{schedule.first(Rank{1}) + 1, false}));
    EXPECT_EQ(schedule.waits_for(schedule.first(Rank{2})), 0u);
}

TEST(FromPattern, BarrierTellsEveryone) {
    const Schedule schedule = from_pattern(*make_pattern("shift", 3), 10, Parting::barrier);

    EXPECT_THAT(schedule.ops(Rank{0}), ElementsAre(send(1, 10), receive(2, 10), send(1, 1, 1), receive(2, 1, 1),
                                                   send(2, 1, 1), receive(1, 1, 1), send(2, 10), receive(1, 10)));
    for (OpIndex op = 2; op < 8; ++op) EXPECT_EQ(schedule.waits_for(op), 2u);
    EXPECT_TRUE(balanced(schedule));
}

TEST(FromPattern, DoesNotJoinUpToEightOperations) {
    const PatternPtr twice = read_pairs("0 1\n0 2\n0 3\n0 4\n0 5\n0 6\n0 7\n0 8\n\n0 1\n", "pairs", 10);

    const Schedule schedule = from_pattern(*twice, 10, Parting::own);

    ASSERT_EQ(schedule.ops(Rank{0}).size(), 9u);
    EXPECT_EQ(schedule.waits_for(8), 8u);
}

TEST(FromPattern, EachRankAfterItsLastStageOfMany) {
    const Schedule schedule = from_pattern(*make_pattern("shift", 6), 10, Parting::own);

    for (std::uint32_t rank = 0; rank < 6; ++rank)
        for (OpIndex op = 0; op < 10; ++op)
            EXPECT_EQ(schedule.waits_for(schedule.first(Rank{rank}) + op), op < 2 ? 0u : 2u);
}

TEST(FromPattern, JoinsManyOperations) {
    const PatternPtr twice = read_pairs("0 1\n0 2\n0 3\n0 4\n0 5\n0 6\n0 7\n0 8\n0 9\n\n0 1\n0 2\n", "pairs", 10);

    const Schedule schedule = from_pattern(*twice, 10, Parting::own);

    ASSERT_EQ(schedule.ops(Rank{0}).size(), 12u);
    EXPECT_EQ(schedule.op(9).kind, OpKind::compute);
    EXPECT_EQ(schedule.waits_for(9), 9u);
    EXPECT_EQ(schedule.waits_for(10), 1u);
    EXPECT_EQ(schedule.waits_for(11), 1u);
}

}  // namespace
}  // namespace loom::traffic
