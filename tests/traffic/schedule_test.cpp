#include "loom/traffic/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"

namespace loom::traffic {
namespace {

using testing::ElementsAre;

template <class Work>
std::string message_of(Work&& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(Schedule, IsEmptyWithoutRanks) {
    const Schedule schedule = ScheduleBuilder(0).build();

    EXPECT_EQ(schedule.ranks(), 0u);
    EXPECT_EQ(schedule.size(), 0u);
    EXPECT_EQ(Schedule{}.ranks(), 0u);
}

TEST(Schedule, KeepsOperationsOfARankTogether) {
    ScheduleBuilder builder(3);

    const auto second = builder.send(Rank{2}, Rank{0}, 10, 5);
    const auto first = builder.compute(Rank{0}, nanoseconds(7), 1);
    const auto third = builder.receive(Rank{0}, Rank{2}, 10, 5);
    const Schedule schedule = builder.build();

    EXPECT_EQ(first, 0u);
    EXPECT_EQ(second, 0u);
    EXPECT_EQ(third, 1u);
    EXPECT_EQ(schedule.ranks(), 3u);
    EXPECT_THAT(schedule.ops(), ElementsAre(Op{.amount = 7000, .peer = {}, .kind = OpKind::compute, .cpu = 1},
                                            Op{.amount = 10, .peer = Rank{2}, .tag = 5, .kind = OpKind::receive},
                                            Op{.amount = 10, .peer = Rank{0}, .tag = 5, .kind = OpKind::send}));
    EXPECT_EQ(schedule.ops(Rank{0}).size(), 2u);
    EXPECT_EQ(schedule.ops(Rank{1}).size(), 0u);
    EXPECT_EQ(schedule.first(Rank{2}), 2u);
    EXPECT_GE(schedule.bytes(), 3 * sizeof(Op));
}

TEST(Schedule, LeadsFromAnOperationToThoseThatWait) {
    ScheduleBuilder builder(2);
    for (int i = 0; i < 3; ++i) builder.compute(Rank{1}, nanoseconds(1));
    builder.compute(Rank{0}, nanoseconds(1));

    builder.require(Rank{1}, 2, 0);
    builder.require(Rank{1}, 2, 1, true);
    builder.require(Rank{1}, 1, 0);
    const Schedule schedule = builder.build();

    EXPECT_THAT(schedule.successors(0), ElementsAre());
    EXPECT_THAT(schedule.successors(1), ElementsAre(Successor{3, false}, Successor{2, false}));
    EXPECT_THAT(schedule.successors(2), ElementsAre(Successor{3, true}));
    EXPECT_EQ(schedule.waits_for(0), 0u);
    EXPECT_EQ(schedule.waits_for(1), 0u);
    EXPECT_EQ(schedule.waits_for(2), 1u);
    EXPECT_EQ(schedule.waits_for(3), 2u);
}

TEST(Schedule, BuilderIsEmptyAfterwards) {
    ScheduleBuilder builder(1);
    builder.compute(Rank{0}, nanoseconds(1));
    const Schedule one = builder.build();

    const Schedule none = builder.build();

    EXPECT_EQ(one.size(), 1u);
    EXPECT_EQ(none.ranks(), 1u);
    EXPECT_EQ(none.size(), 0u);
}

TEST(Schedule, IsTheSameInTheMemoryOfAnother) {
    const auto add = [](ScheduleBuilder& builder) {
        const std::uint32_t first = builder.compute(Rank{1}, nanoseconds(5));
        builder.require(Rank{1}, builder.send(Rank{1}, Rank{0}, 8), first);
        (void)builder.receive(Rank{0}, Rank{1}, 8);  // out of order
    };
    ScheduleBuilder builder(7);
    for (int i = 0; i < 9; ++i) builder.send(Rank{6}, Rank{0}, 8);
    Schedule schedule = builder.build();
    ScheduleBuilder fresh(2);
    add(fresh);

    builder.reset(2);
    builder.send(Rank{0}, Rank{2}, 8);
    EXPECT_THROW(builder.build_into(schedule), ScheduleError);
    add(builder);
    builder.build_into(schedule);

    EXPECT_EQ(schedule, fresh.build());
    EXPECT_EQ(builder.build().size(), 0u);
}

TEST(Schedule, TakesAMessageFromAnyone) {
    ScheduleBuilder builder(1);

    builder.receive(Rank{0}, any_rank, 1, any_tag);
    const Schedule schedule = builder.build();

    EXPECT_EQ(schedule.op(0).peer, any_rank);
}

TEST(Schedule, RefusesWhatDoesNotExist) {
    ScheduleBuilder builder(2);

    EXPECT_THAT(message_of([&] { builder.send(Rank{2}, Rank{0}, 1); }), testing::HasSubstr("rank 2 does not exist"));
    EXPECT_THAT(message_of([&] { builder.require(Rank{2}, 1, 0); }), testing::HasSubstr("rank 2 does not exist"));
    builder.send(Rank{1}, Rank{2}, 1);
    EXPECT_THAT(message_of([&] { (void)builder.build(); }),
                testing::HasSubstr("rank 1, operation 0: its peer is rank 2"));
    builder.send(Rank{1}, any_rank, 1);
    EXPECT_THAT(message_of([&] { (void)builder.build(); }), testing::HasSubstr("rank 1, operation 0"));
    builder.send(Rank{1}, Rank{0}, 1, any_tag);
    EXPECT_THAT(message_of([&] { (void)builder.build(); }), testing::HasSubstr("a send needs a tag of its own"));
    builder.compute(Rank{0}, nanoseconds(1));
    builder.require(Rank{0}, 0, 1);
    EXPECT_THAT(message_of([&] { (void)builder.build(); }), testing::HasSubstr("operation 0 waits for operation 1"));
    EXPECT_THAT(message_of([&] { builder.compute(Rank{0}, nanoseconds(-1)); }), testing::HasSubstr("negative"));
}

TEST(Schedule, RefusesACircle) {
    ScheduleBuilder builder(2);
    for (int i = 0; i < 4; ++i) builder.compute(Rank{1}, nanoseconds(1));

    builder.require(Rank{1}, 1, 0);
    builder.require(Rank{1}, 2, 1);
    builder.require(Rank{1}, 3, 2);
    builder.require(Rank{1}, 1, 3, true);

    EXPECT_THAT(message_of([&] { (void)builder.build(); }), testing::HasSubstr("rank 1: operation 1 waits for itself"));
}

TEST(Schedule, TakesEdgesToEarlierOperationsInEveryRank) {
    ScheduleBuilder builder(3);
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
        for (int i = 0; i < 3; ++i) builder.compute(Rank{rank}, nanoseconds(1));
        builder.require(Rank{rank}, 0, 2);
    }

    const Schedule schedule = builder.build();

    for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(schedule.waits_for(schedule.first(Rank{rank})), 1u);
}

TEST(Schedule, RefusesAnOperationThatWaitsForItself) {
    ScheduleBuilder builder(1);
    builder.compute(Rank{0}, nanoseconds(1));

    builder.require(Rank{0}, 0, 0);

    EXPECT_THAT(message_of([&] { (void)builder.build(); }), testing::HasSubstr("waits for itself"));
}

}  // namespace
}  // namespace loom::traffic
