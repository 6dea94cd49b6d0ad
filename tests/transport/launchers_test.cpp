// The cases that every transport must pass, started by other people's launchers: Open MPI's mpirun and MPICH's, Slurm's
// srun; over verbs and over MPI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/process.hpp"
#include "transport/slurm.hpp"

namespace loom {
namespace {

using test::Outcome;
using test::shell;
using testing::HasSubstr;

// The MPI libraries and PMIx leave memory behind, which sanitizers would hold against us.
const std::string program = "env ASAN_OPTIONS=detect_leaks=0 '" LOOM_CONFORMANCE "'";

// Not more than a minute and a half, whatever happens.
Outcome mpirun(const std::string& library, unsigned ranks, const std::string& variables, const std::string& options) {
    const std::string more = library == "openmpi" ? " --allow-run-as-root --oversubscribe" : "";
    return shell(variables + " timeout -k 5 90 mpirun." + library + more + " -n " + std::to_string(ranks) + " " +
                 program + options);
}

void expect_all_passed(const Outcome& outcome, unsigned ranks, const std::string& how) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(std::to_string(ranks) + " ranks, " + how + ": ")) << outcome.err;
}

TEST(Launchers, OpenMpiStartsUsByPmix) {
    for (const unsigned ranks : {1u, 4u}) expect_all_passed(mpirun("openmpi", ranks, "", ""), ranks, "verbs by pmix");
}

TEST(Launchers, MpichStartsUsByMpi) {
    for (const unsigned ranks : {1u, 4u}) expect_all_passed(mpirun("mpich", ranks, "", ""), ranks, "verbs by mpi");
}

TEST(Launchers, AMisspelledSettingIsOneLineForAllRanks) {
    const Outcome outcome = mpirun("mpich", 3, "LOOM_WAITNG=spin", "");

    expect_all_passed(outcome, 3, "verbs by mpi");
    EXPECT_EQ(outcome.err, "loom: no such setting: LOOM_WAITNG; did you mean LOOM_WAITING?\n");
}

TEST(Launchers, MessagesGoByOpenMpi) {
    for (const unsigned ranks : {1u, 2u, 3u, 5u, 8u, 16u})
        expect_all_passed(mpirun("openmpi", ranks, "LOOM_TRANSPORT=mpi", ""), ranks, "mpi by pmix");
    expect_all_passed(mpirun("openmpi", 2, "LOOM_TRANSPORT=mpi LOOM_BOOTSTRAP=mpi", ""), 2, "mpi by mpi");
}

TEST(Launchers, MessagesGoByMpich) {
    for (const unsigned ranks : {1u, 2u, 3u, 5u, 8u, 16u})
        expect_all_passed(mpirun("mpich", ranks, "LOOM_TRANSPORT=mpi", ""), ranks, "mpi by mpi");
}

// How it is reported is the launcher's affair; that it ends, and not well, is ours.
TEST(Launchers, ADeadRankEndsTheJob) {
    for (const std::string library : {"openmpi", "mpich"})
        for (const std::string transport : {"verbs", "mpi"}) {
            const Outcome outcome = mpirun(library, 3, "LOOM_TRANSPORT=" + transport, " --die 2");

            EXPECT_NE(outcome.exit_code, 0) << library << transport;
            EXPECT_NE(outcome.exit_code, 124) << library << transport;
        }
}

// One that fails by an exception leaves nobody waiting either.
TEST(Launchers, AFailingRankEndsTheJob) {
    for (const std::string library : {"openmpi", "mpich"})
        for (const std::string transport : {"verbs", "mpi"}) {
            const Outcome outcome = mpirun(library, 3, "LOOM_TRANSPORT=" + transport, " --fail 1");

            EXPECT_NE(outcome.exit_code, 0) << library << transport;
            EXPECT_NE(outcome.exit_code, 124) << library << transport;
        }
}

TEST(Launchers, WithoutALauncherThereIsNoMpi) {
    const Outcome outcome = shell("LOOM_TRANSPORT=mpi " + program);

    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err,
              "conformance: the MPI transport needs a process that mpirun started; neither Open MPI's nor MPICH's "
              "did\n");
}

TEST(Launchers, APluginThatIsNotThereIsNamed) {
    const Outcome outcome = shell("LOOM_BOOTSTRAP=pmix LOOM_PLUGINS=/nowhere " + program);

    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("cannot load /nowhere/libloom-pmix.so"));
}

TEST(Launchers, SlurmStartsUsByPmix) {
    if (geteuid() != 0) GTEST_SKIP() << "Slurm's daemons need root";
    const test::Slurm slurm;

    expect_all_passed(slurm.srun("--mpi=pmix -n 4 " + program), 4, "verbs by pmix");

    const Outcome dead = slurm.srun("--mpi=pmix -n 3 " + program + " --die 1");
    EXPECT_NE(dead.exit_code, 0);
    EXPECT_NE(dead.exit_code, 124);

    const Outcome strangers = slurm.srun("-n 2 " + program);
    EXPECT_NE(strangers.exit_code, 0);
    EXPECT_THAT(strangers.err, HasSubstr("use srun --mpi=pmix"));
}

}  // namespace
}  // namespace loom
