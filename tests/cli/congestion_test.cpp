#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

// A folder with a tree of 16 hosts on four leaves, two uplinks each: half the bandwidth.
class CongestionCommands : public testing::Test {
protected:
    void SetUp() override {
        const Outcome made = loom_program("fabric new pgft -m 4,4 -w 1,2 -q -o " + tree);
        ASSERT_EQ(made.exit_code, 0) << made.err;
    }

    TemporaryFolder folder;
    std::string tree = folder.file("tree.json");
};

TEST_F(CongestionCommands, ContentionOfAThinTreeIsTwo) {
    const Outcome run =
        loom_program("congestion " + tree + " --engine minhop --json --csv " + folder.file("stages.csv"));

    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["pattern"], "shift");
    EXPECT_EQ(result["stages"], 15);
    EXPECT_EQ(result["flows"], 240);
    EXPECT_EQ(result["worst"], 2);
    EXPECT_EQ(result["per_stage"].size(), 15u);
    EXPECT_FALSE(result["hottest"].empty());
    EXPECT_THAT(slurp(folder.file("stages.csv")), StartsWith("stage,contention\n1,"));
}

TEST_F(CongestionCommands, TextNamesTheHottestLinks) {
    const Outcome run = loom_program("congestion " + tree + " --engine minhop --pattern gather --mappings 20");

    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    EXPECT_THAT(run.out, HasSubstr("worst contention 15"));
    EXPECT_THAT(run.out, HasSubstr("L0-0 port 1 -> host00 port 1"));
    EXPECT_THAT(run.out, HasSubstr("20 random mappings"));
}

TEST_F(CongestionCommands, PicturesAndVerdicts) {
    const std::string picture = folder.file("h.svg");

    const Outcome drawn =
        loom_program("congestion " + tree + " --engine minhop --at-most 2 --histogram-svg " + picture);
    const Outcome refused = loom_program("congestion " + tree + " --engine minhop --at-most 1");
    const Outcome narrow =
        loom_program("bisection " + tree + " --engine minhop --at-least 0.99 --histogram-svg " + folder.file("b.svg"));

    EXPECT_EQ(drawn.exit_code, 0);
    EXPECT_THAT(slurp(picture), HasSubstr("<svg"));
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(narrow.exit_code, 1);
    EXPECT_THAT(slurp(folder.file("b.svg")), HasSubstr("<svg"));
}

TEST_F(CongestionCommands, BisectionIsBetweenTheRatedHalfAndOne) {
    const Outcome run = loom_program("bisection " + tree + " --engine minhop --json");

    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["hosts"], 16);
    EXPECT_GT(result["effective_bisection_bandwidth"], 0.5);
    EXPECT_LT(result["effective_bisection_bandwidth"], 1.0);
    EXPECT_LE(result["half_width"], 0.005);
    // Each leaf's 4 hosts send to 12 others over 2 uplinks.
    EXPECT_EQ(result["forwarding_index"]["mean"], 24.0);
    EXPECT_EQ(result["forwarding_index"]["deviation"], 0.0);
}

TEST_F(CongestionCommands, MapWritesAPlacementThatCongestionReads) {
    const std::string hosts = folder.file("hosts.txt");
    const std::string job = tree + " --engine minhop --pattern bruck";

    const Outcome map = loom_program("map " + job + " --metric 3 --moves 20000 --json -o " + hosts);
    const Outcome after = loom_program("congestion " + job + " --json --place " + hosts);

    ASSERT_EQ(map.exit_code, 0) << map.err;
    const json result = json::parse(map.out);
    EXPECT_EQ(result["before"]["link_traversals"], 216);
    EXPECT_LE(result["after"]["link_traversals"], 204);
    EXPECT_EQ(result["mapping"].size(), 16u);
    ASSERT_EQ(after.exit_code, 0) << after.err;
    EXPECT_EQ(json::parse(after.out)["ranks"], 16);
}

TEST_F(CongestionCommands, HostsAndPlaces) {
    const Outcome list = loom_program("congestion " + tree + " --engine minhop --hosts 'host[00-02,12]' --json");
    const Outcome random = loom_program("congestion " + tree + " --engine minhop --place random --seed 7 --json");
    const Outcome again =
        loom_program("congestion " + tree + " --engine minhop --place random --seed 7 --threads 1 --json");

    EXPECT_EQ(json::parse(list.out)["ranks"], 4);
    EXPECT_EQ(random.exit_code, 0) << random.err;
    EXPECT_EQ(random.out, again.out);
}

TEST_F(CongestionCommands, PatternsAreListed) {
    const Outcome run = loom_program("congestion --pattern help");

    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("recursive-doubling"));
}

TEST_F(CongestionCommands, BadUsageIsOneLine) {
    for (const std::string& arguments :
         {std::string("congestion"), "congestion " + tree, "congestion " + tree + " --engine minhop --pattern nothing",
          "congestion " + tree + " --engine nothing", "congestion " + tree + " --engine minhop --lid 300",
          "congestion " + tree + " --engine minhop --hosts 'host['",
          "congestion " + tree + " --engine minhop --place /nonexistent", "bisection " + tree + " " + tree,
          "map " + tree + " --engine minhop", "map " + tree + " --engine minhop --pattern ring --metric 4",
          "bisection " + tree + " --engine minhop --samples 0"}) {
        const Outcome run = loom_program(arguments);

        EXPECT_EQ(run.exit_code, 2) << arguments << run.err;
        EXPECT_EQ(run.out, "") << arguments;
        EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    }
}

}  // namespace
