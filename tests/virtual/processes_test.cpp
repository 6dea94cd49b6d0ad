// Programs as they are, each rank a process in virtual time: `loom twin run` and tests/virtual/program/main.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace loom::twin {
namespace {

using nlohmann::json;
using test::Outcome;
using testing::HasSubstr;

Outcome twin_run(const std::string& options, const std::string& what) {
    return test::shell(std::string(LOOM_PROGRAM) + " twin run --timeout 60 " + options + " " + LOOM_TWIN_PROGRAM + " " +
                       what);
}

TEST(Processes, ClocksAndSleepsAreVirtual) {
    const Outcome outcome = twin_run("-n 2", "clocks");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "3600 s, 3600 s after 2000\n");
    EXPECT_THAT(outcome.err, HasSubstr("level message: 2 ranks, computation declared\nfinished after "));
}

TEST(Processes, ABarrierWaitsForTheLast) {
    const Outcome outcome = twin_run("-q -n 5", "straggler");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "2\n");
    EXPECT_EQ(outcome.err, "");
}

TEST(Processes, ALoopThatReadsTheClockEnds) {
    const Outcome outcome = twin_run("--json --look 1us -n 1", "polls");

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json object = json::parse(outcome.out);
    EXPECT_EQ(object["state"], "finished");
    EXPECT_GE(object["finish_ps"], 1'000'000'000);
    EXPECT_LE(object["finish_ps"], 1'010'000'000);
}

TEST(Processes, TheSameEachTime) {
    const test::TemporaryFolder folder;
    const std::string tree = folder.file("tree.json");
    ASSERT_EQ(test::shell(std::string(LOOM_PROGRAM) + " fabric new kary 2 3 -o " + tree).exit_code, 0);
    const std::string options = "--json -n 12 --per-host 2 --place random --seed 3 --fabric " + tree;
    json first;
    for (int time = 0; time < 3; ++time) {
        const Outcome outcome = twin_run(options, "straggler");
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        json object = json::parse(outcome.out);
        object.erase("seconds");
        if (time == 0) first = object;
        EXPECT_EQ(object, first);
    }
    EXPECT_EQ(first["level"], "packet");
    EXPECT_EQ(first["ranks"].size(), 12u);
    EXPECT_GT(first["packets"], 0);
}

TEST(Processes, AJobWithoutEndIsStoppedAndExplained) {
    const Outcome outcome = twin_run("-n 3", "circle");

    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("ranks wait for each other in a circle: 0 for 1 for 2 for 0"));
    EXPECT_THAT(outcome.err, HasSubstr("rank 2 waits for a message of 4 bytes from rank 0"));
}

TEST(Processes, ARankThatIsKilledIsLostToTheOthers) {
    const Outcome outcome = twin_run("-n 3", "dies");

    EXPECT_EQ(outcome.exit_code, 137);
    EXPECT_THAT(outcome.err, HasSubstr("rank 0 heard: rank 1 is gone: it ended"));
    EXPECT_THAT(outcome.err, HasSubstr("rank 2 heard: rank 1 is gone: it ended"));
}

TEST(Processes, WhatMakesNoSenseIsRefused) {
    EXPECT_THAT(twin_run("-n 2 --level packet", "clocks").err, HasSubstr("--level packet needs --fabric"));
    EXPECT_THAT(twin_run("-n 2 --level wire", "clocks").err, HasSubstr("expected packet, flow or message"));
    EXPECT_THAT(twin_run("-n 2 --look 5", "clocks").err, HasSubstr("expected a time with a unit"));
    const Outcome missing = test::shell(std::string(LOOM_PROGRAM) + " twin run -n 2 ./there_is_no_such_program");
    EXPECT_EQ(missing.exit_code, 2);
}

}  // namespace
}  // namespace loom::twin
