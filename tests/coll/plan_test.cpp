#include "loom/coll/plan.hpp"

#include <gtest/gtest.h>

// What all of these declare may be used in one source: no name stands for two things.
#include "coll/algorithms/parts.hpp"
#include "coll/program.hpp"
#include "loom/coll/communicator.hpp"

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

TEST(Plan, is_compiled_step_by_step_from_pieces_that_a_layout_of_the_user_becomes) {
    const std::vector<std::size_t> counts{1, 2};
    const Layout layout(counts);
    const std::vector<std::uint64_t> bytes{8 * layout.counts.span()[0], 8 * layout.counts.span()[1]};
    const BlockPieces pieces = BlockPieces::packed(bytes);
    const std::vector<Rank> members{Rank{5}, Rank{7}};
    Writer writer(2, Rank{0});
    const Step sent = writer.send(Rank{1}, output() + pieces[1].at, pieces[1].bytes);
    writer.receive(Rank{1}, output(), pieces[0].bytes, {sent});

    const Program program = compile(writer.finish(), members);

    ASSERT_EQ(program.steps.size(), 2u);
    const ProgramStep& first = program.steps[0];
    EXPECT_EQ(first.peer, 7u);
    EXPECT_EQ(first.from, 8u);
    EXPECT_EQ(first.bytes, 16u);
}

}  // namespace
}  // namespace loom::coll
