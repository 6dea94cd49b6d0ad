// The workout (tests/mpi/workout), an MPI program that knows nothing of Loomband, with the library preloaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "loom/base/file.hpp"
#include "mpi/launch.hpp"
#include "support/process.hpp"

namespace {

using loom::test::mpirun;
using loom::test::Outcome;
using loom::test::TemporaryFolder;
using loom::test::with_library;
using loom::test::without_leaks;
using testing::HasSubstr;

struct Job {
    const char* mpi;
    int ranks;
    int cases;
    const char* more = "";       // arguments
    const char* variables = "";  // "NAME=VALUE ..."
};

void PrintTo(const Job& job, std::ostream* out) {
    *out << job.mpi << " -n " << job.ranks << " --cases " << job.cases << " " << job.more << " " << job.variables;
}

std::string launch(const Job& job, const std::string& report, const std::string& program) {
    return mpirun(job.mpi, job.ranks) + with_library(job.mpi, report) + job.variables + " " + program;
}

// The workout's own blocking calls where those are not asked for, and one scenario's broadcast that nobody could pack.
bool may_be_handed_back(const std::string& name, const std::string& why) {
    return why.starts_with("blocking, not asked for") || (name == "MPI_Ibcast" && why == "elements of 2 GiB and more");
}

class Workout : public testing::TestWithParam<Job> {};

TEST_P(Workout, IsRightAndTakenOver) {
    const Job& run = GetParam();
    const TemporaryFolder folder;
    // Thousands of cases on demand: LOOM_WORKOUT_TIMES=20.
    const char* times = std::getenv("LOOM_WORKOUT_TIMES");
    const int cases = run.cases * (times == nullptr ? 1 : std::atoi(times));
    const std::string program =
        std::string(LOOM_WORKOUT) + "_" + run.mpi + " --cases " + std::to_string(cases) + " " + run.more;

    const Outcome outcome = loom::test::shell(launch(run, folder.file("report"), program));

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
    const auto report = nlohmann::json::parse(loom::test::slurp(folder.file("report")));
    for (const auto& [name, call] : report["calls"].items())
        for (const auto& [why, count] : call["handed_back"].items())
            EXPECT_TRUE(may_be_handed_back(name, why)) << count << " of " << name << ": " << why;
    EXPECT_GT(report["taken_over"], 0);
    EXPECT_EQ(report["ranks"], run.ranks);
}

// MPICH's own calls take tens of milliseconds where there are more ranks than cores: few cases.
INSTANTIATE_TEST_SUITE_P(
    Mpi, Workout,
    testing::Values(Job{"openmpi", 1, 110}, Job{"openmpi", 2, 220, "--blocking"},
                    Job{"openmpi", 3, 110, "", "LOOM_MPI_BLOCKING=0"}, Job{"openmpi", 4, 110, "--blocking --seed 3"},
                    Job{"openmpi", 5, 60}, Job{"openmpi", 8, 60, "--seed 5"},
                    Job{"openmpi", 4, 30, "--threads --seed 9"},
                    Job{"openmpi", 3, 60, "--seed 11", "LOOM_PROGRESS=thread"}, Job{"mpich", 1, 110},
                    Job{"mpich", 2, 220, "--blocking"}, Job{"mpich", 2, 30, "--threads --seed 9"},
                    Job{"mpich", 3, 20, "--scenario ring_of_one_or_two"}, Job{"mpich", 5, 10, "--no-scenarios"},
                    Job{"mpich", 2, 0, "--scenario sends_finished_while_waiting", "LOOM_PROGRESS=manual"},
                    Job{"mpich", 2, 0, "--scenario sends_finished_beside_an_early_message", "LOOM_PROGRESS=manual"},
                    Job{"mpich", 2, 0, "--scenario windows_closed_while_waiting", "LOOM_PROGRESS=manual"},
                    Job{"mpich", 3, 0, "--scenario windows_closed_while_waiting", "LOOM_PROGRESS=thread"},
                    Job{"mpich", 2, 0, "--scenario window_tested_behind_a_barrier", "LOOM_PROGRESS=manual"},
                    Job{"mpich", 2, 0, "--scenario wide_receive_while_broadcasting", "LOOM_PROGRESS=manual"},
                    Job{"openmpi", 4, 0, "--scenario neighbours_of_few",
                        "LOOM_COLL=neighbour_alltoall=distance,neighbour_allgather=distance"}),
    [](const auto& one) {
        return std::string(one.param.mpi) + "_" + std::to_string(one.index) + "_on_" + std::to_string(one.param.ranks);
    });

TEST(MpiLibrary, SwitchedOffHandsEverythingBackAndSaysWhy) {
    const TemporaryFolder folder;
    const Job run{"openmpi", 2, 10, "", "LOOM_MPI=off"};
    const std::string program = std::string(LOOM_WORKOUT) + "_openmpi --cases 10 --no-scenarios";

    const Outcome outcome = loom::test::shell(launch(run, folder.file("report"), program));

    ASSERT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
    const auto report = nlohmann::json::parse(loom::test::slurp(folder.file("report")));
    EXPECT_EQ(report["share_taken_over"], 0.0);
    EXPECT_EQ(report["not_in_use"], "switched off by LOOM_MPI");
}

TEST(MpiLibrary, WithoutATransportHandsEverythingBackAndSaysWhy) {
    const TemporaryFolder folder;
    const Job run{"openmpi", 2, 10, "", "LOOM_TRANSPORT=carrier-pigeon"};
    const std::string program = std::string(LOOM_WORKOUT) + "_openmpi --cases 10 --no-scenarios";

    const Outcome outcome = loom::test::shell(launch(run, folder.file("report"), program));

    ASSERT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
    const auto report = nlohmann::json::parse(loom::test::slurp(folder.file("report")));
    EXPECT_THAT(report["not_in_use"].get<std::string>(), HasSubstr("carrier-pigeon"));
}

// What one rank alone is told, and what the account of all says.
struct Trouble {
    const char* mpi;
    const char* variable;
    const char* said;
};

void PrintTo(const Trouble& trouble, std::ostream* out) {
    *out << trouble.mpi << " " << trouble.variable;
}

class OneRankInTrouble : public testing::TestWithParam<Trouble> {};

TEST_P(OneRankInTrouble, LeavesNobodyWaiting) {
    const auto& [mpi, variable, said] = GetParam();
    const TemporaryFolder folder;
    const std::string variables = with_library(mpi, folder.file("report"));
    const std::string program = std::string(" ") + LOOM_WORKOUT + "_" + mpi + " --cases 0 --no-scenarios";

    const Outcome outcome =
        loom::test::shell(mpirun(mpi, 1) + variables + program + " : -n 1 " + variables + variable + program);

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
    const auto report = nlohmann::json::parse(loom::test::slurp(folder.file("report")));
    EXPECT_THAT(report["not_in_use"].get<std::string>(), HasSubstr(said));
}

INSTANTIATE_TEST_SUITE_P(Mpi, OneRankInTrouble,
                         testing::Values(Trouble{"openmpi", "LOOM_EAGER=bogus", "rank 1: LOOM_EAGER='bogus'"},
                                         Trouble{"mpich", "LOOM_EAGER=bogus", "rank 1: LOOM_EAGER='bogus'"},
                                         Trouble{"openmpi", "LOOM_EAGER=4096", "other values of LOOM_RING"},
                                         Trouble{"openmpi", "LOOM_PROGRESS=bogus", "rank 1: LOOM_PROGRESS='bogus'"},
                                         Trouble{"mpich", "LOOM_RANK_ORDER=absent", "rank 1: LOOM_RANK_ORDER: absent"},
                                         Trouble{"openmpi", "LOOM_COLL=allreduce=ring", "different LOOM_COLL"},
                                         Trouble{"mpich", "LOOM_COLL=rings", "rank 1: LOOM_COLL: rings"},
                                         Trouble{"openmpi", "LOOM_MPI_BLOCKING=0", "LOOM_MPI_BLOCKING is not the same"},
                                         Trouble{"mpich", "LOOM_MPI=off", "rank 1: switched off by LOOM_MPI"},
                                         Trouble{"openmpi", "LOOM_MPI_REPORT=0", ""}));

TEST(MpiLibrary, OfRanksInDifferentOrdersIsNotUsed) {
    const TemporaryFolder folder;
    loom::write_file(folder.file("order"), "1 0\n");
    const std::string variables = with_library("openmpi", folder.file("report"));
    const std::string program = std::string(" ") + LOOM_WORKOUT + "_openmpi --cases 0 --no-scenarios";

    const Outcome outcome = loom::test::shell(mpirun("openmpi", 1) + variables + program + " : -n 1 " + variables +
                                              "LOOM_RANK_ORDER=" + folder.file("order") + program);

    ASSERT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
    const auto report = nlohmann::json::parse(loom::test::slurp(folder.file("report")));
    EXPECT_THAT(report["not_in_use"].get<std::string>(), HasSubstr("different LOOM_RANK_ORDER"));
}

TEST(MpiLibrary, PrintsItsAccountForPeople) {
    const Job run{"openmpi", 2, 10, "", "LOOM_MPI_BLOCKING=0"};
    const std::string program =
        std::string(LOOM_WORKOUT) + "_openmpi --cases 10 --scenario blocking_collective_while_broadcasting";

    const Outcome outcome = loom::test::shell(launch(run, "1", program));

    EXPECT_THAT(outcome.err, HasSubstr("collectives were taken over")) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("blocking, not asked for"));
}

class Nbc : public testing::TestWithParam<std::tuple<const char*, int>> {
protected:
    [[nodiscard]] static Outcome run(const std::string& program, const std::string& variables = "") {
        const auto& [mpi, ranks] = GetParam();
        return loom::test::shell(mpirun(mpi, ranks) + without_leaks + variables + LOOM_NBC_PROGRAM + program);
    }
    [[nodiscard]] static std::string mpi() { return std::get<0>(GetParam()); }
};

TEST_P(Nbc, ExamplesAreRight) {
    const Outcome outcome = run("examples_" + mpi());

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
}

TEST_P(Nbc, WhatLibNbcHasComputesWhatMpiComputes) {
    const Outcome outcome = run("libnbc_" + mpi());

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("*** NBC_TIMES: start: "));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("start: 0.000000")));
}

TEST_P(Nbc, TheMpiLibraryServesWhatWeDoNot) {
    const Outcome outcome = run("libnbc_" + mpi() + " native", "LOOM_MPI=off ");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("all right")) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Mpi, Nbc,
                         testing::Values(std::tuple{"openmpi", 1}, std::tuple{"openmpi", 2}, std::tuple{"openmpi", 3},
                                         std::tuple{"openmpi", 4}, std::tuple{"mpich", 1}, std::tuple{"mpich", 2},
                                         std::tuple{"mpich", 3}, std::tuple{"mpich", 4}));

}  // namespace
