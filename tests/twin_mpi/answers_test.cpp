// Known answers of every function, on one to nine ranks.
#include <gtest/gtest.h>

#include "twin_mpi/answers/cases.hpp"
#include "twin_mpi/play.hpp"

namespace loom::twin_mpi {
namespace {

class Answers : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Answers, AreThoseOfTheStandard) {
    for (const answers::Case& each : answers::all_cases()) {
        const Outcome outcome = play(ranks(GetParam()), each.run);

        EXPECT_EQ(outcome.failure, "") << each.name;
        EXPECT_EQ(outcome.result.state, sim::State::finished)
            << each.name << ": " << testing::PrintToString(outcome.result.trouble);
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Answers, testing::Range(1u, 10u));

TEST(Answers, AreTheSameInOneJob) {
    const Outcome outcome = play(ranks(5), [] {
        for (const answers::Case& each : answers::all_cases()) {
            each.run();
            MPI_Barrier(MPI_COMM_WORLD);  // some receive from anybody
        }
    });

    EXPECT_EQ(outcome.failure, "");
    EXPECT_EQ(outcome.result.state, sim::State::finished);
}

}  // namespace
}  // namespace loom::twin_mpi
