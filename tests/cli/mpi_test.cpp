// loom mpi, and what loom says of MPI programs that are started in the wrong way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using testing::HasSubstr;
using testing::Not;

TEST(MpiCommand, SaysHowAnOptionTakesItsFile) {
    for (const char* option : {"--report", "--trace"}) {
        const std::string command = option == std::string("--report") ? "mpi run" : "verbs run";

        const Outcome outcome = loom_program(command + " " + option + " a.txt -- true");

        EXPECT_EQ(outcome.exit_code, 2);
        EXPECT_THAT(outcome.err, HasSubstr(std::string(option) + " takes a value as " + option + "=a.txt"));
    }
}

TEST(MpiCommand, WarnsOfTheOtherMpisLauncher) {
    const Outcome wrong = loom_program("mpi env --mpi mpich -- mpirun.openmpi -n 2 true");
    const Outcome right = loom_program("mpi env --mpi openmpi -- mpirun.openmpi -n 2 true");

    EXPECT_EQ(wrong.exit_code, 0);
    EXPECT_THAT(wrong.err, HasSubstr("is a launcher of openmpi, and the program needs mpich"));
    EXPECT_THAT(right.err, Not(HasSubstr("launcher")));
}

TEST(RunCommand, WarnsOfMpiPrograms) {
    const Outcome several = loom_program("run -n 2 /usr/bin/ompi_info --version");
    const Outcome alone = loom_program("run -n 1 /usr/bin/ompi_info --version");

    EXPECT_EQ(several.exit_code, 0);
    EXPECT_THAT(several.err, HasSubstr("to MPI each rank is alone"));
    EXPECT_THAT(alone.err, Not(HasSubstr("alone")));
}

}  // namespace
