// The cases over MPI, by both MPIs' launchers, and under loom run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace loom {
namespace {

using test::Outcome;
using test::shell;
using testing::HasSubstr;

const std::string program = "env ASAN_OPTIONS=detect_leaks=0 '" LOOM_WINDOW_CONFORMANCE "'";

Outcome mpirun(const std::string& library, unsigned ranks) {
    const std::string more = library == "openmpi" ? " --allow-run-as-root --oversubscribe" : "";
    return shell("LOOM_TRANSPORT=mpi timeout -k 5 90 mpirun." + library + more + " -n " + std::to_string(ranks) + " " +
                 program);
}

TEST(WindowLaunchers, PassTheCasesOverBothMpis) {
    for (const std::string library : {"openmpi", "mpich"})
        for (const unsigned ranks : {1u, 2u, 3u, 5u, 8u}) {
            const Outcome outcome = mpirun(library, ranks);

            EXPECT_EQ(outcome.exit_code, 0) << library << ", " << ranks << " ranks: " << outcome.err;
            EXPECT_THAT(outcome.out, HasSubstr(std::to_string(ranks) + " ranks, mpi: ")) << outcome.err;
        }
}

TEST(WindowLaunchers, StartOpenShmemPrograms) {
    for (const std::string hosts : {"", "LOOM_HOSTS=each "})
        for (const unsigned ranks : {1u, 2u, 3u, 5u}) {
            const Outcome outcome =
                shell(hosts + "LOOM_HCA=soft ASAN_OPTIONS=detect_leaks=0 '" LOOM_PROGRAM "' run -n " +
                      std::to_string(ranks) + " --timeout 100 '" LOOM_WINDOW_SHMEM "'");

            EXPECT_EQ(outcome.exit_code, 0) << ranks << " ranks: " << outcome.err;
            EXPECT_EQ(outcome.out, std::to_string(ranks) + " PEs: all right\n");
        }
}

TEST(WindowLaunchers, OpenShmemErrorsAreALine) {
    const Outcome outcome = shell("LOOM_HCA=soft SHMEM_SYMMETRIC_SIZE=much '" LOOM_WINDOW_SHMEM "'");

    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("SHMEM_SYMMETRIC_SIZE='much': expected a size, like 64M"));
}

}  // namespace
}  // namespace loom
