// loom sim and settings that would change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class SimSettings : public testing::Test {
protected:
    void SetUp() override {
        std::ofstream(scenario) << "switch S 4\nhost A\nhost B\nlink A S:1\nlink B S:2\n"
                                   "flow A-B from A to B bytes 100kB\ncongestion threshold 15\n";
    }
    loom::test::TemporaryFolder folder;
    const std::string scenario = folder.file("pair.scn");
    const std::string played = "sim --scenario " + scenario;
};

TEST_F(SimSettings, ThatALevelLacksAreRefused) {
    for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
             {" --level flow --paths adaptive", "--paths: level flow has no packets"},
             {" --level flow --threshold 15", "--threshold: level flow has no packets"},
             {" --level message --mtu 256", "--mtu: level message has neither links"},
             {" --level message --engine ftree", "--engine: level message has neither links nor tables"},
             {" --level message --watch S:1 --csv-ports p.csv", "--watch: level message"},
             {" --level message --csv-ports p.csv", "level message has no ports"},
             {" --loggops 'G 80'", "--loggops: only level message"},
             {" --level flow --set 'lanes 2'", "--set: lanes is not used: level flow"},
             {" --stages barrier", "--stages: only a pattern has stages"},
             {" --bytes 36MB", "--bytes: flows say themselves how large they are"},
             {" --place random", "--place: flows name their hosts"},
             {" --set 'manager foo bar'", "expected a setting of the manager"}}) {
        const Outcome run = loom_program(played + arguments);

        EXPECT_EQ(run.exit_code, 2) << arguments;
        EXPECT_THAT(run.err, HasSubstr(message)) << arguments;
        EXPECT_EQ(run.out, "") << arguments;
    }
}

TEST_F(SimSettings, OfAFileThatALevelLacksAreRemarkedOn) {
    const Outcome flow = loom_program(played + " --level flow");
    const Outcome packet = loom_program(played);

    EXPECT_EQ(flow.exit_code, 0);
    EXPECT_THAT(flow.err, HasSubstr("not used: congestion threshold"));
    EXPECT_THAT(packet.err, Not(HasSubstr("not used")));
}

TEST_F(SimSettings, TablesAndAnEngineAreOneTooMany) {
    const std::string tree = folder.file("tree.json");
    ASSERT_EQ(loom_program("fabric new kary 2 2 -q -o " + tree).exit_code, 0);

    const Outcome run = loom_program("sim " + tree + " " + tree + " --engine ftree --pattern ring --level flow");

    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("expected either a TABLES file or --engine NAME"));
}

TEST_F(SimSettings, TheMessageLevelTellsItsParametersAndNoTables) {
    const Outcome text = loom_program(played + " --level message --loggops 'G 80ps'");
    const Outcome object = loom_program(played + " --level message --loggops 'G 80' --json");

    ASSERT_EQ(text.exit_code, 0) << text.err;
    EXPECT_THAT(text.out, Not(HasSubstr("tables of")));
    EXPECT_THAT(text.out, HasSubstr("LogGOPS with L 2.5 us, o 1.5 us, g 1 us, G 80 ps/B, O 0 ps/B, S 65,535 bytes"));
    EXPECT_EQ(json::parse(object.out)["engine"], json());
    EXPECT_EQ(json::parse(object.out)["loggops"]["G_ps"], 80);
}

TEST_F(SimSettings, TablesOfFlowsNameHosts) {
    const std::string csv = folder.file("flows.csv");

    ASSERT_EQ(loom_program(played + " --level flow --csv-flows " + csv).exit_code, 0);

    EXPECT_THAT(slurp(csv), HasSubstr("time_s,flow,from,to,from_host,to_host,delivered_bytes,gbit_per_s\n"));
    EXPECT_THAT(slurp(csv), HasSubstr(",A-B,0,1,A,B,100000,"));
}

}  // namespace
