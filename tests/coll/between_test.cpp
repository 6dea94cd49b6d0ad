// Collectives between two groups against what they mean, on random calls.
#include "loom/coll/between.hpp"

#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/coll/world.hpp"
#include "reference/between.hpp"
#include "reference/plan_interpreter.hpp"

namespace loom::coll {
namespace {

using reference::BetweenCase;
using reference::RankData;

constexpr Collective all[] = {Collective::barrier,    Collective::broadcast,      Collective::gather,
                              Collective::gatherv,    Collective::scatter,        Collective::scatterv,
                              Collective::allgatherv, Collective::alltoallv,      Collective::reduce,
                              Collective::allreduce,  Collective::reduce_scatter, Collective::reduce_scatter_block};

std::vector<Plan> plans_of(const BetweenCase& one) {
    std::vector<Plan> plans;
    for (std::uint32_t r = 0; r < one.groups.size; ++r) plans.push_back(plan_between(one.seen_by(r), one.calls[r]));
    return plans;
}

// Once beyond a segment, where messages are cut.
std::uint64_t most_bytes(std::uint64_t seed, Collective what) {
    const bool cut = what == Collective::broadcast || what == Collective::reduce || what == Collective::allreduce;
    return cut && seed % 10 == 0 ? 150000 : 200;
}

class BetweenGroups : public testing::TestWithParam<Collective> {};

TEST_P(BetweenGroups, gives_the_others_what_it_means) {
    constexpr std::uint32_t sizes[][2] = {{1, 1}, {1, 2}, {3, 1}, {2, 3}, {5, 3}, {4, 4}, {9, 2}};

    for (const auto& [first, second] : sizes)
        for (std::uint64_t seed = 1; seed <= 30; ++seed) {
            const auto one =
                reference::random_case_between(seed, GetParam(), first, second, most_bytes(seed, GetParam()));

            const auto plans = plans_of(*one);
            std::vector<RankData> data = one->before;
            reference::run_plans(plans, data, &one->op, seed);

            const auto expected = reference::run_between(*one);
            for (std::uint32_t r = 0; r < one->groups.size; ++r) {
                const auto where = testing::Message() << first << " and " << second << " ranks, seed " << seed
                                                      << ", rank " << r << ", root " << one->calls[0].root.value;
                ASSERT_EQ(reference::find_race(plans[r]), "") << where;
                ASSERT_EQ(data[r].input, one->before[r].input) << where;
                ASSERT_EQ(data[r].output, expected[r]) << where;
            }
        }
}

TEST_P(BetweenGroups, runs_on_a_communicator_of_both) {
    const auto one = reference::random_case_between(7, GetParam(), 2, 3, 5000);
    std::vector<RankData> data = one->before;

    run_local(5, [&](World& world) {
        const std::uint32_t me = world.rank().value;
        auto plan = std::make_shared<const Plan>(plan_between(one->seen_by(me), one->calls[me]));
        world.communicator().start(std::move(plan), {data[me].input.data(), data[me].output.data()}, &one->op).wait();
    });

    const auto expected = reference::run_between(*one);
    for (std::uint32_t r = 0; r < 5; ++r) EXPECT_EQ(data[r].output, expected[r]);
}

INSTANTIATE_TEST_SUITE_P(, BetweenGroups, testing::ValuesIn(all),
                         [](const auto& name) { return std::string(to_string(name.param)); });

TEST(BetweenTwoGroups, refuses_what_cannot_be) {
    const TwoGroups groups{2, 4, Rank{0}};
    Call call;
    call.what = Collective::scan;
    EXPECT_THROW((void)plan_between(groups, call), UsageError);
    call.what = Collective::broadcast;
    call.root = Rank{4};
    EXPECT_THROW((void)plan_between(groups, call), UsageError);
    call.root = Rank{3};
    call.in_place = true;
    EXPECT_THROW((void)plan_between(groups, call), UsageError);
    call.in_place = false;
    call.what = Collective::alltoallv;
    EXPECT_THROW((void)plan_between(groups, call), UsageError);
    call.what = Collective::gatherv;
    EXPECT_THROW((void)plan_between(groups, call), UsageError);
}

TEST(BetweenTwoGroups, leaves_the_others_of_the_roots_group_alone) {
    const TwoGroups groups{2, 4, Rank{1}};
    Call call;
    call.what = Collective::reduce;
    call.bytes = 8;

    EXPECT_EQ(plan_between(groups, call).schedule.size(), 0u);
}

}  // namespace
}  // namespace loom::coll
