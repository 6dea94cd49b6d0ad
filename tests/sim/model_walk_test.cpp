// The message level and the walk of `model`, two engines that were written apart, give the same times.
#include <gtest/gtest.h>

#include "loom/model/walk.hpp"
#include "reference/random_schedules.hpp"
#include "sim/engines.hpp"

namespace loom::sim {
namespace {

class BothEngines : public testing::TestWithParam<reference::RandomSchedule> {};

TEST_P(BothEngines, EndEveryRankAtTheSameTime) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const traffic::Schedule schedule = reference::make_random(GetParam(), seed);
        Random random(seed);
        Options options;
        options.message.parameters = {.L = nanoseconds(random.below(6)),
                                      .o = nanoseconds(random.below(4)),
                                      .g = nanoseconds(random.below(5)),
                                      .G = 1000 * random.below(3),
                                      .O = 1000 * random.below(2),
                                      .S = 20};
        options.local.step = nanoseconds(random.below(3));
        const auto simulation = make_message_simulation(schedule, options);
        const State state = simulation->advance(never);

        const model::Prediction prediction =
            model::walk(schedule, model::charges(options.message.parameters, options.local));

        ASSERT_EQ(prediction.finished, state == State::finished) << seed;
        ASSERT_EQ(prediction.ends, simulation->rank_ends()) << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Random, BothEngines,
                         testing::Values(reference::RandomSchedule{.local = true},
                                         reference::RandomSchedule{.ranks = 12, .messages = 120, .narrow = true},
                                         reference::RandomSchedule{.ranks = 3, .messages = 10, .wild = true},
                                         reference::RandomSchedule{.cores = 2, .adapters = 3}));

}  // namespace
}  // namespace loom::sim
