// The references themselves, by hand on tiny data: what they are compared with must be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reference/collective_cases.hpp"
#include "reference/plan_interpreter.hpp"

namespace loom::coll {
namespace {

using reference::Data;
using reference::RankData;

Data bytes(std::string_view text) {
    Data data;
    for (const char c : text) data.push_back(static_cast<std::byte>(c));
    return data;
}

std::string text(const Data& data) {
    std::string result;
    for (const std::byte b : data) result += static_cast<char>(b);
    return result;
}

// Keeps both: a reduction that shows the order in which it was done, for inputs of one letter in cells of three.
Reduction joining() {
    return {[](const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    std::string both =
                        text(Data(in + 3 * i, in + 3 * i + 3)) + text(Data(inout + 3 * i, inout + 3 * i + 3));
                    std::erase(both, '.');
                    both.resize(3, '.');
                    for (std::size_t k = 0; k < 3; ++k) inout[3 * i + k] = static_cast<std::byte>(both[k]);
                }
            },
            nullptr, 3, false};
}

std::vector<std::string> outputs(const Group& group, const Call& call, const std::vector<RankData>& before) {
    const Reduction op = joining();
    std::vector<std::string> result;
    const std::vector<Call> calls(group.size, call);
    for (const auto& after : reference::run_collective(group, calls, before, &op)) result.push_back(text(after.output));
    return result;
}

Call call_of(Collective what, std::uint64_t size, std::uint32_t root = 0) {
    Call call;
    call.what = what;
    call.bytes = size;
    call.root = Rank{root};
    return call;
}

TEST(Reference, moves_blocks_as_mpi_says) {
    Group group;
    group.size = 3;
    const std::vector<RankData> before{
        {bytes("abc"), bytes("---")}, {bytes("def"), bytes("+++")}, {bytes("ghi"), bytes("***")}};
    using testing::ElementsAre;

    EXPECT_THAT(outputs(group, call_of(Collective::broadcast, 2, 1), before), ElementsAre("++-", "+++", "++*"));
    EXPECT_THAT(outputs(group, call_of(Collective::gather, 1, 2), before), ElementsAre("---", "+++", "adg"));
    EXPECT_THAT(outputs(group, call_of(Collective::scatter, 1, 1), before), ElementsAre("d--", "e++", "f**"));
    EXPECT_THAT(outputs(group, call_of(Collective::allgather, 1), before), ElementsAre("adg", "adg", "adg"));
    EXPECT_THAT(outputs(group, call_of(Collective::alltoall, 1), before), ElementsAre("adg", "beh", "cfi"));
}

TEST(Reference, reduces_in_the_order_of_ranks) {
    Group group;
    group.size = 3;
    const std::vector<RankData> before{
        {bytes("a.."), bytes("---")}, {bytes("b.."), bytes("+++")}, {bytes("c.."), bytes("***")}};
    using testing::ElementsAre;

    EXPECT_THAT(outputs(group, call_of(Collective::reduce, 3, 2), before), ElementsAre("---", "+++", "abc"));
    EXPECT_THAT(outputs(group, call_of(Collective::allreduce, 3), before), ElementsAre("abc", "abc", "abc"));
    EXPECT_THAT(outputs(group, call_of(Collective::scan, 3), before), ElementsAre("a..", "ab.", "abc"));
    EXPECT_THAT(outputs(group, call_of(Collective::exscan, 3), before), ElementsAre("---", "a..", "ab."));
}

TEST(Reference, pairs_directions_on_a_closed_grid_of_two) {
    const Grid grid{{2}, {true}};
    const auto neighbours = grid_neighbours(grid);
    Group group;
    group.size = 2;
    group.neighbours = neighbours;
    group.grid = &grid;
    const std::vector<RankData> before{{bytes("ab"), bytes("--")}, {bytes("cd"), bytes("++")}};

    // What goes back arrives from ahead: 0 sends a back and b ahead, so 1 finds b behind it and a ahead.
    EXPECT_THAT(outputs(group, call_of(Collective::neighbour_alltoall, 1), before), testing::ElementsAre("dc", "ba"));
}

TEST(GridNeighbours, are_before_and_behind_in_each_dimension) {
    const auto all = grid_neighbours({{2, 3}, {false, true}});

    ASSERT_EQ(all.size(), 6u);
    EXPECT_THAT(all[0].sources, testing::ElementsAre(no_rank, Rank{3}, Rank{2}, Rank{1}));
    EXPECT_THAT(all[5].destinations, testing::ElementsAre(Rank{2}, no_rank, Rank{4}, Rank{3}));
}

TEST(Interpreter, finds_operations_that_race) {
    Writer writer(2, Rank{0});
    writer.send(Rank{1}, output(), 8);
    writer.receive(Rank{1}, output(4), 8);

    EXPECT_THAT(reference::find_race(writer.finish()), testing::HasSubstr("touch the same bytes"));
}

TEST(Interpreter, finds_messages_that_cannot_be_told_apart) {
    Writer writer(2, Rank{0});
    writer.send(Rank{1}, input(), 8);
    writer.send(Rank{1}, input(8), 8);

    EXPECT_THAT(reference::find_race(writer.finish()), testing::HasSubstr("one peer and tag"));
}

TEST(Interpreter, finds_ranks_that_wait_for_each_other_and_sizes_that_differ) {
    const auto run = [](std::uint64_t sent, std::uint64_t received, bool waits) {
        std::vector<Plan> plans;
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            Writer writer(2, Rank{rank});
            const auto here = writer.receive(Rank{1 - rank}, output(), received);
            if (waits)
                writer.send(Rank{1 - rank}, input(), sent, {here});
            else
                writer.send(Rank{1 - rank}, input(), sent);
            plans.push_back(writer.finish());
        }
        std::vector<RankData> data(2, {Data(8), Data(8)});
        reference::run_plans(plans, data, nullptr, 1);
    };

    EXPECT_NO_THROW(run(8, 8, false));
    EXPECT_THROW(run(8, 8, true), std::runtime_error);
    EXPECT_THROW(run(8, 4, false), std::runtime_error);
    EXPECT_THROW(run(9, 9, false), std::runtime_error);
}

}  // namespace
}  // namespace loom::coll
