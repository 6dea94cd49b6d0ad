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

TEST(Processes, ARankWithOtherRulesIsNamedByAll) {
    const Outcome outcome =
        test::shell(std::string(LOOM_PROGRAM) +
                    " twin run -n 4 sh -c 'if [ $LOOM_RANK = 2 ]; then export LOOM_COLL=barrier=linear; fi; exec " +
                    LOOM_TWIN_PROGRAM + " straggler'");

    EXPECT_EQ(outcome.exit_code, 1);
    const std::string line = "rank 0 and rank 2 have different LOOM_COLL ('' and 'barrier=linear')";
    std::size_t said = 0;
    for (std::size_t at = outcome.err.find(line); at != std::string::npos; at = outcome.err.find(line, at + 1)) ++said;
    EXPECT_EQ(said, 4u) << outcome.err;
}

const std::string scenario = "--scenario " LOOM_SOURCE_DIR "/examples/scenarios/ranks.scn ";

TEST(Processes, AScenarioSaysWhereTheyRunAndWhatElseDoes) {
    const auto finish = [](const std::string& options) {
        const Outcome outcome = twin_run("--json " + scenario + options, "stream");
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        const json object = json::parse(outcome.out);
        EXPECT_EQ(object["ranks"].size(), 2u);
        EXPECT_EQ(object["ranks"][0]["host"], "X");
        EXPECT_EQ(object["ranks"][1]["host"], "Y");
        if (options.find("--manage") != std::string::npos) {
            EXPECT_THAT(object["decisions"][0].get<std::string>(), HasSubstr("S1 port 15"));
        } else {
            EXPECT_EQ(object["decisions"].size(), 0u);
        }
        return object["finish_ps"].get<std::int64_t>();
    };
    const std::int64_t unmarked = finish("--set 'congestion threshold 0'");
    const std::int64_t managed = finish("--manage");
    // 16 MiB at 8 Gbit/s take 16.8 ms where nothing is in the way, and three times that behind the incast.
    EXPECT_GT(unmarked, 40'000'000'000);
    EXPECT_LT(managed, unmarked * 3 / 4);
}

TEST(Processes, AScenarioMayKillARank) {
    const Outcome outcome = twin_run(scenario + "--set 'kill 5ms rank 1'", "stream");

    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 is gone"));
    EXPECT_THAT(outcome.err, HasSubstr("5 ms: rank 1 is killed"));
}

TEST(Processes, RanksOfAScenarioAreItsPlacesUnlessSaidOtherwise) {
    EXPECT_THAT(twin_run(scenario + "-n 3 --per-host 1", "clocks").err, HasSubstr("there is room for 2"));
    EXPECT_THAT(twin_run(scenario + "--per-host 2", "stream").err, HasSubstr("4 ranks"));
    EXPECT_THAT(twin_run(scenario + "--place random", "clocks").err, HasSubstr("expected --set 'place random'"));
    EXPECT_THAT(twin_run("--manage", "clocks").err, HasSubstr("expected --scenario"));
    EXPECT_THAT(twin_run("--set 'until 1s'", "clocks").err, HasSubstr("expected --scenario"));
    EXPECT_THAT(twin_run(scenario + "--manage --set 'congestion threshold 0'", "clocks").err,
                HasSubstr("congestion control is off"));
}

TEST(Processes, ExplorationFindsAnOrderThatMatters) {
    const Outcome found = twin_run("-n 3 --explore 100 --json", "first");
    ASSERT_EQ(found.exit_code, 1) << found.err;
    const json object = json::parse(found.out);
    EXPECT_EQ(object["failure"], "answers differently");
    const auto seed = object["seed"].get<std::uint64_t>();

    const Outcome undisturbed = twin_run("-q -n 3", "first");
    const Outcome again = twin_run("-q -n 3 --disturb " + std::to_string(seed) + " --longest-delay " +
                                       std::to_string(object["longest_delay_ps"].get<std::int64_t>()) + "ps",
                                   "first");
    EXPECT_EQ(undisturbed.out, "rank 0 was first\n");
    EXPECT_EQ(again.out, "rank 1 was first\n");
}

TEST(Processes, ExplorationOfAProgramWithOneAnswer) {
    const Outcome found = twin_run("-n 4 --explore 10", "stream");

    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_THAT(found.out, HasSubstr("10 seeds with"));
    EXPECT_THAT(found.out, HasSubstr("all end, with one answer"));
    EXPECT_THAT(twin_run("-n 3 --explore 10", "dies").out, HasSubstr("the undisturbed run ends with an exception"));
    EXPECT_THAT(twin_run("-n 3 --explore 10", "circle").out, HasSubstr("the undisturbed run is stuck"));
    EXPECT_THAT(twin_run("-n 3 --explore 10 --plot x.svg", "clocks").err, HasSubstr("of which run?"));
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
