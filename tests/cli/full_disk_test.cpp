// Where there is no room left: one line, exit code 2, nothing half-written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "support/process.hpp"

namespace {

using loom::test::Outcome;
using loom::test::shell;
using loom::test::TemporaryFolder;
using testing::HasSubstr;

void expect_refused(const Outcome& outcome, const std::string& what, const std::string& why) {
    EXPECT_EQ(outcome.exit_code, 2) << what;
    EXPECT_THAT(outcome.err, HasSubstr(why)) << what;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(FullDisk, IsToldByWhatPrints) {
    for (const std::string arguments :
         {"coll list", "coll list --json", "coll show allreduce --all", "coll export allreduce --goal -",
          "coll explain allreduce", "model plot --coll allreduce", "model plot --coll allreduce --json",
          "model plot --coll allreduce -o -", "measure loggp -n 2", "measure loggp -n 2 --json",
          "run -l -n 2 echo word"})
        expect_refused(shell("'" LOOM_PROGRAM "' " + arguments + " >/dev/full"), arguments, "cannot write");
}

// A limit to what a process may write to a file stands for it: ordinary users cannot fill a disk of their own.
TEST(FullDisk, LeavesNothingHalfWritten) {
    const TemporaryFolder folder;
    const std::pair<std::string, std::string> cases[] = {
        {"coll export allreduce -n 64 -b 64KiB --goal ", folder.file("c.goal")},
        {"coll export alltoall -n 64 --pairs ", folder.file("c.pairs")},
        {"model plot --coll allreduce -o ", folder.file("m.svg")},
        {"model predict --coll allreduce --draw ", folder.file("d.svg")},
    };
    for (const auto& [arguments, file] : cases) {
        const Outcome outcome = shell("( ulimit -f 1; trap '' XFSZ; '" LOOM_PROGRAM "' " + arguments + file + " )");

        expect_refused(outcome, arguments, file + ": cannot write: ");
        EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << arguments;
    }
}

}  // namespace
