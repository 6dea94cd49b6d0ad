#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::shell;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TEST(Run, TagsWholeLines) {
    const Outcome outcome = loom_program("run -n 3 -l sh -c 'printf \"a$LOOM_RANK\\nb\"; echo c >&2'");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(lines_of(outcome.out), UnorderedElementsAre("[0] a0", "[0] b", "[1] a1", "[1] b", "[2] a2", "[2] b"));
    EXPECT_THAT(lines_of(outcome.err), UnorderedElementsAre("[0] c", "[1] c", "[2] c"));
}

TEST(Run, LeavesTheProgramItsOptions) {
    for (const char* words : {"-n 2 echo -n --json -l x", "-n 2 -- echo -n --json -l x", "-n2 echo -n --json -l x",
                              "--ranks=2 --grace 3 echo -n --json -l x"})
        EXPECT_EQ(loom_program(std::string("run ") + words).out, "--json -l x--json -l x") << words;
}

TEST(Run, GivesStandardInputToTheFirstRank) {
    EXPECT_EQ(shell("echo hello | '" LOOM_PROGRAM "' run -n 3 cat").out, "hello\n");
}

TEST(Run, AnswersWithTheFirstFailure) {
    const Outcome failed = loom_program("run -n 3 sh -c '[ $LOOM_RANK = 1 ] && exit 7; exit 0'");
    const Outcome killed = loom_program("run -q -n 2 --grace 0 sh -c '[ $LOOM_RANK = 0 ] && kill -9 $$; sleep 1000'");

    EXPECT_EQ(failed.exit_code, 7);
    EXPECT_EQ(failed.err, "loom: rank 1 ended with exit code 7\n");
    EXPECT_EQ(killed.exit_code, 137);
    EXPECT_EQ(killed.err, "");
}

TEST(Run, StopsWhenTheTimeIsUp) {
    const Outcome outcome = loom_program("run -n 2 --timeout 0.1 sleep 1000");

    EXPECT_EQ(outcome.exit_code, 124);
    EXPECT_THAT(outcome.err, HasSubstr("the time is up"));
}

TEST(Run, PrintsJsonAndNothingElse) {
    const Outcome outcome = loom_program("run -n 2 --json sh -c 'echo text; exit $((3 * LOOM_RANK))'");

    const json object = json::parse(outcome.out);
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("text\n"));
    EXPECT_EQ(object["exit_code"], 3);
    EXPECT_EQ(object["first_failed"], 1);
    EXPECT_EQ(object["ranks"][0]["exit_code"], 0);
}

TEST(Run, RefusesBadUsage) {
    for (const char* words : {"", "-n 2", "-n 0 true", "-n 1025 true", "-n x true", "-n 2 --nothing true",
                              "-n 2 no-such-program", "-n 2 /", "--timeout 0 true", "-l --json true"}) {
        const Outcome outcome = loom_program(std::string("run ") + words);

        EXPECT_EQ(outcome.exit_code, 2) << words;
        EXPECT_EQ(lines_of(outcome.err).size(), 1u) << outcome.err;
    }
}

bool lives(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
    std::string number, command, state;
    return static_cast<bool>(status >> number >> command >> state) && state != "Z" && state != "X";
}

// Starts ranks with children of their own, does something to the launcher, and looks whether anybody stays.
void expect_nobody_stays(const std::string& signal) {
    const TemporaryFolder folder;
    const Outcome outcome =
        shell("'" LOOM_PROGRAM "' run -q -n 2 --grace 0 sh -c 'sleep 1000 & echo $$ $! > " +
              folder.file("$LOOM_RANK.new") + "; mv " + folder.file("$LOOM_RANK.new") + " " +
              folder.file("$LOOM_RANK") + "; wait' & pid=$!\n" + "until [ -e " + folder.file("0") + " ] && [ -e " +
              folder.file("1") + " ]; do sleep 0.01; done\nkill -" + signal + " $pid; wait $pid");

    EXPECT_NE(outcome.exit_code, 0);
    std::istringstream pids(slurp(folder.file("0")) + slurp(folder.file("1")));
    unsigned count = 0;
    for (pid_t pid = 0; pids >> pid; ++count) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (lives(pid) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
        EXPECT_FALSE(lives(pid)) << pid << " after " << signal;
    }
    EXPECT_EQ(count, 4u);
}

TEST(Run, LeavesNobodyBehind) {
    for (const char* signal : {"KILL", "TERM", "INT", "HUP"}) expect_nobody_stays(signal);
}

}  // namespace
