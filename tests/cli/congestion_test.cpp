#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
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

TEST_F(CongestionCommands, AWorstContentionOfZeroCanBeAskedFor) {
    const Outcome refused = loom_program("congestion " + tree + " --engine minhop --at-most 0");

    EXPECT_EQ(refused.exit_code, 1);
}

// Tables from before a cable was cut lose pairs, however good the others are.
TEST_F(CongestionCommands, LostPairsAreNeverAYes) {
    const std::string damaged = folder.file("damaged.json"), tables = folder.file("old.lft");
    loom_program("route " + tree + " -q --engine minhop -o " + tables);
    const Outcome cut = loom_program("fabric damage " + tree + " --cut L0-0:5 -q -o " + damaged);
    ASSERT_EQ(cut.exit_code, 0) << cut.err;

    for (const std::string& command : {std::string("congestion"), std::string("bisection")})
        for (const std::string wish : {"", command == "congestion" ? " --at-most 100" : " --at-least 0"}) {
            const Outcome lost = loom_program(command + " " + damaged + " " + tables + wish);

            EXPECT_EQ(lost.exit_code, 1) << command << wish;
            EXPECT_THAT(lost.err, HasSubstr("are lost")) << command << wish;
        }
    const Outcome report = loom_program("report " + damaged + " " + tables + " -o " + folder.file("page.html"));

    EXPECT_EQ(report.exit_code, 1);
    EXPECT_THAT(report.out, HasSubstr("tables not valid"));
    EXPECT_THAT(slurp(folder.file("page.html")), HasSubstr("</html>"));
}

TEST_F(CongestionCommands, TheLimitOfSamplesIsNamedWhenItEndsTheSearch) {
    const std::string command = "bisection " + tree + " --engine minhop --samples 10 --precision ";

    const Outcome short_of = loom_program(command + "0.000001");
    const Outcome enough = loom_program(command + "0.9");
    const Outcome as_json = loom_program(command + "0.000001 --json");

    EXPECT_THAT(short_of.out, HasSubstr("stopped at the 10 bisects of --samples"));
    EXPECT_THAT(enough.out, Not(HasSubstr("stopped at")));
    EXPECT_EQ(json::parse(as_json.out)["precision_reached"], false);
}

TEST_F(CongestionCommands, StandardOutputHasOneUser) {
    const std::string run = tree + " --engine minhop";
    for (const std::string& arguments :
         {"congestion " + run + " --json --csv -", "congestion " + run + " --csv - --histogram-svg -",
          "bisection " + run + " --json --histogram-svg -", "map " + run + " -p ring --json -o -",
          "report " + tree + " --json -o page.html --picture -", "report " + tree + " -o - --picture -"}) {
        const Outcome both = loom_program(arguments);

        EXPECT_EQ(both.exit_code, 2) << arguments;
        EXPECT_EQ(both.out, "") << arguments;
        EXPECT_THAT(both.err, HasSubstr("standard output")) << arguments;
    }
    const Outcome alone = loom_program("congestion " + run + " --csv -");

    EXPECT_EQ(alone.exit_code, 0);
    EXPECT_THAT(alone.out, StartsWith("stage,contention\n1,"));
    EXPECT_EQ(std::count(alone.out.begin(), alone.out.end(), '\n'), 16);
}

TEST_F(CongestionCommands, NonsenseIsRefusedWithWhatIsExpected) {
    const std::string run = tree + " --engine minhop ";
    const std::pair<std::string, const char*> cases[] = {
        {"map " + run + "-p ring --duplex x", "--duplex: expected full or half, got \"x\""},
        {"map " + run + "-p ring --metric 4", "--metric: expected 1, 2, 3, maxima, routes or traversals, got \"4\""},
        {"map " + run + "-p ring --seconds -1", "--seconds: expected a number of at least 0, got \"-1\""},
        {"bisection " + run + "--samples 0", "--samples: expected a whole number of at least 1, got \"0\""},
        {"bisection " + run + "--precision -1", "--precision: expected a number of at least 0, got \"-1\""},
        {"bisection " + run + "--precision nan", "--precision: expected a number of at least 0, got \"nan\""},
        {"congestion " + run + "--hot -1", "--hot: expected a whole number, got \"-1\""},
        {"congestion " + run + "--seed -1", "--seed: expected a whole number, got \"-1\""},
        {"congestion " + run + "--threads 99999", "--threads: expected a whole number from 0 to 4096"},
        {"congestion " + run + "--lid 5", "the hosts have 1 LID each (LMC 0), expected 0"},
        {"congestion " + run + "--hosts ''", "--hosts: expected a list of hosts, got nothing"},
        {"congestion " + run + "--hosts host00 --place random", "--place and --hosts both say where ranks sit"},
        {"congestion " + run + "--csv x.svg", "--csv x.svg: the name of a picture, but this writes a table"},
        {"congestion - -", "standard input can be used once"},
    };

    for (const auto& [arguments, why] : cases) {
        const Outcome outcome = loom_program(arguments);

        EXPECT_EQ(outcome.exit_code, 2) << arguments;
        EXPECT_EQ(outcome.out, "") << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(why));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
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

TEST_F(CongestionCommands, RandomPlacesFollowTheSeed) {
    std::set<std::string> results;

    for (int seed = 1; seed <= 5; ++seed)
        results.insert(loom_program("congestion " + tree +
                                    " --engine minhop --pattern ring --json --place random --seed " +
                                    std::to_string(seed))
                           .out);

    EXPECT_GT(results.size(), 1u);
}

TEST_F(CongestionCommands, JustWhatWasAskedForIsEnough) {
    const std::string crossbar = folder.file("crossbar.json");
    (void)loom_program("fabric new kary 8 1 -q -o " + crossbar);

    const Outcome bisection = loom_program("bisection " + crossbar + " --engine minhop --at-least 1");
    const Outcome contention = loom_program("congestion " + crossbar + " --engine minhop --at-most 1");

    EXPECT_EQ(bisection.exit_code, 0) << bisection.out;
    EXPECT_EQ(contention.exit_code, 0) << contention.out;
}

TEST_F(CongestionCommands, MapWritesTheOldRankOfEachNewOne) {
    const std::string order = folder.file("order.txt");

    const Outcome map = loom_program(
        "map " + tree + " --engine minhop --pattern bruck --metric 3 --moves 20000 --json " + "--order " + order);

    ASSERT_EQ(map.exit_code, 0) << map.err;
    const json mapping = json::parse(map.out)["mapping"];
    std::string expected = "# rank i is the process that was rank ...\n";
    std::vector<std::size_t> inverse(mapping.size());
    for (std::size_t i = 0; i < mapping.size(); ++i) {
        expected += std::to_string(mapping[i].get<std::size_t>()) + "\n";
        inverse[mapping[i].get<std::size_t>()] = i;
    }
    EXPECT_EQ(slurp(order), expected);
    EXPECT_NE(json(inverse), mapping);  // else this would prove nothing
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
