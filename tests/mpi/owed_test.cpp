// `loom mpi run --report` of programs that give no account: it says so, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mpi/launch.hpp"
#include "support/process.hpp"

namespace {

using loom::test::mpirun;
using loom::test::Outcome;
using loom::test::TemporaryFolder;
using testing::HasSubstr;
using testing::Not;

class Owed : public testing::TestWithParam<std::string> {
protected:
    // With a folder for temporary files of its own: none must be left there.
    Outcome report(const std::string& option, const std::string& program) {
        const std::string variables =
            "TMPDIR='" + folder_.path().string() + "' ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 ";
        return loom::test::shell(variables + "'" LOOM_PROGRAM "' mpi run " + option + " --mpi " + GetParam() + " -- " +
                                 mpirun(GetParam(), 2) + program);
    }
    std::string unseen(const std::string& how) { return LOOM_UNSEEN "_" + GetParam() + " " + how; }

    TemporaryFolder folder_;
};

TEST_P(Owed, SaysThatMpiInitWasNotSeen) {
    const Outcome outcome = report("--report", unseen("pmpi"));

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("Loomband: nothing was taken over: MPI was initialised by a call that"));
}

TEST_P(Owed, SaysItInTheFile) {
    const Outcome outcome = report("--report=" + folder_.file("report"), unseen("pmpi"));

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(loom::test::slurp(folder_.file("report")));
    EXPECT_THAT(report["not_in_use"].get<std::string>(), HasSubstr("MPI was initialised by a call that"));
    EXPECT_EQ(report["taken_over"], 0);
}

TEST_P(Owed, SaysThatTheProgramEndedEarly) {
    EXPECT_THAT(report("--report", unseen("early")).err, HasSubstr("ended without MPI_Finalize"));
    EXPECT_THAT(report("--report", unseen("crash")).err, HasSubstr("ended without MPI_Finalize"));
}

TEST_P(Owed, SaysThatNobodyCalledMpi) {
    const Outcome outcome = report("--report", "true");

    EXPECT_THAT(outcome.err, HasSubstr("no process here called MPI_Init with libloom-mpi loaded"));
}

TEST_P(Owed, SaysNothingWhereThereIsAnAccount) {
    const Outcome outcome = report("--report", LOOM_WORKOUT "_" + GetParam() + " --cases 1 --no-scenarios");

    EXPECT_THAT(outcome.err, HasSubstr("collectives were taken over"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("nothing was taken over")));
    EXPECT_TRUE(loom::test::shell("ls '" + folder_.path().string() + "' | grep loom-report").out.empty());
}

INSTANTIATE_TEST_SUITE_P(Mpi, Owed, testing::Values("openmpi", "mpich"), [](const auto& one) { return one.param; });

}  // namespace
