#include "loom/coll/plan.hpp"

#include <gtest/gtest.h>

namespace loom::coll {
namespace {

TEST(Plan, holds_one_ranks_operations_with_their_places_and_edges) {
    Writer writer(4, Rank{2});
    const Place room = writer.take_scratch(8);
    const auto received = writer.receive(Rank{1}, room, 8);
    const auto reduced = writer.reduce(room, output(), 8, {received});
    writer.send(Rank{3}, output(), 8, {reduced});

    const Plan plan = writer.finish();

    EXPECT_EQ(plan.schedule.ranks(), 4u);
    EXPECT_EQ(plan.schedule.ops(Rank{2}).size(), 3u);
    EXPECT_EQ(plan.schedule.ops(Rank{0}).size(), 0u);
    EXPECT_EQ(plan.scratch, 64u);
    EXPECT_EQ(plan.schedule.waits_for(0), 0u);
    ASSERT_EQ(plan.schedule.successors(0).size(), 1u);
    EXPECT_EQ(plan.schedule.successors(0)[0].op, 1u);
    EXPECT_EQ(plan.places[1].from, room);
    EXPECT_EQ(plan.places[2].from, output());
}

}  // namespace
}  // namespace loom::coll
