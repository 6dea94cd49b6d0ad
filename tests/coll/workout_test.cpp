#include "coll/workout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>

namespace loom::coll {
namespace {

// LOOM_TEST_CASES multiplies the number of random cases.
std::uint32_t times() {
    const char* text = std::getenv("LOOM_TEST_CASES");
    return text == nullptr ? 1 : std::max(1u, static_cast<std::uint32_t>(std::atoi(text)));
}

class WorkoutOnThreads : public testing::TestWithParam<std::uint32_t> {};

TEST_P(WorkoutOnThreads, every_operation_equals_the_reference_with_ten_in_flight) {
    const std::uint32_t ranks = GetParam();
    std::mutex mutex;
    std::vector<std::string> troubles;

    // Every rank computes what all ranks should have: more ranks, fewer and smaller cases.
    Workout how{.seed = 7 + ranks, .cases = 500 * times()};
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    how.cases /= 10;
#endif
    if (ranks > 5) how = {.seed = 7 + ranks, .cases = how.cases * 3 / ranks, .largest = 500'000};

    run_local(ranks, [&](World& world) {
        const auto found = work_out(world, how);
        const std::lock_guard lock(mutex);
        troubles.insert(troubles.end(), found.begin(), found.end());
    });

    EXPECT_THAT(troubles, testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(, WorkoutOnThreads, testing::Values(1u, 2u, 3u, 5u, 8u, 16u),
                         [](const auto& each) { return "ranks_" + std::to_string(each.param); });

}  // namespace
}  // namespace loom::coll
