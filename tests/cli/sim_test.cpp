#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using loom::test::slurp;
using loom::test::TemporaryFolder;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

const std::string scenarios = std::string(LOOM_SOURCE_DIR) + "/examples/scenarios/";
const std::string golden = std::string(LOOM_SOURCE_DIR) + "/tests/cli/golden/";

class SimCommand : public testing::Test {
protected:
    void SetUp() override {
        const Outcome made = loom_program("fabric new kary 4 2 -q -o " + tree);
        ASSERT_EQ(made.exit_code, 0) << made.err;
    }

    TemporaryFolder folder;
    std::string tree = folder.file("tree.json");
};

class Example : public testing::TestWithParam<const char*> {};

// The examples' exact output at the flow level, which is the same on every machine.
TEST_P(Example, SaysAtFlowLevelWhatItSaidBefore) {
    const Outcome run = loom_program("sim -q --level flow -s " + scenarios + GetParam() + ".scn");

    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.err, "");
    EXPECT_EQ(run.out, slurp(golden + GetParam() + ".flow.txt"));
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Example, testing::Values("testbed", "victim"));

TEST_F(SimCommand, PlaysAPatternOnATree) {
    const Outcome run = loom_program("sim " + tree + " --engine ftree --level flow -p shift:3 --bytes 1MB --json");

    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["level"], "flow");
    EXPECT_EQ(result["state"], "finished");
    EXPECT_EQ(result["engine"], "ftree");
    EXPECT_EQ(result["flow_count"], 16);
    EXPECT_EQ(result["flows"].size(), 16u);
    EXPECT_EQ(result["delivered_bytes"], 16'000'000);
    // 1 MB at 200 Gbit/s and 0.2 us; then four cables, three switches and 0.2 us.
    EXPECT_NEAR(result["flows"][15]["ended_s"].get<double>(), 40e-6 + 0.2e-6 + 0.2e-6 + 0.3e-6 + 0.2e-6, 1e-12);
    EXPECT_FALSE(result["hottest_ports"].empty());
    EXPECT_FALSE(result.contains("samples"));
}

TEST_F(SimCommand, PlaysFlowsAndWritesSeries) {
    const Outcome run = loom_program(
        "sim " + tree + " --level flow --flow host00:host07 --bytes 1MB --flow 'late from host01 to host07 bytes 1MB " +
        "start 10us' --sample 5us --watch L0-1:4 --csv-flows " + folder.file("f.csv") + " --csv-ports " +
        folder.file("p.csv") + " --plot " + folder.file("f.svg") + " --plot-ports " + folder.file("p.svg"));

    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("host00-host07"));
    EXPECT_THAT(run.err, HasSubstr("events a second"));
    EXPECT_THAT(slurp(folder.file("f.csv")),
                HasSubstr("\n0.000005000,host00-host07,0,1,host00,host07,120000,192.000000\n"));
    EXPECT_THAT(slurp(folder.file("p.csv")), StartsWith("time_s,port,xmit_data"));
    EXPECT_THAT(slurp(folder.file("f.svg")), HasSubstr("late"));
    EXPECT_THAT(slurp(folder.file("p.svg")), HasSubstr("L0-1 port 4"));
}

// Fair shares leave X-Y its own link; packets that wait in shared buffers do not.
TEST_F(SimCommand, WritesTheSeriesOfEveryFlow) {
    const std::string large = folder.file("large.json"), csv = folder.file("flows.csv");
    (void)loom_program("fabric new kary 6 2 -q -o " + large);

    const Outcome run =
        loom_program("sim " + large + " --level flow --pattern shift --bytes 1KiB --sample 1ms --csv-flows " + csv);

    ASSERT_EQ(run.exit_code, 0) << run.err;
    std::set<std::string> flows;
    std::istringstream lines(slurp(csv));
    for (std::string line; std::getline(lines, line);)
        flows.insert(line.substr(0, line.find(')')).substr(line.find(',')));
    EXPECT_EQ(flows.size(), 1 + 36u * 35u);  // and the heading
}

TEST_F(SimCommand, LevelsDisagreeAboutVictims) {
    const auto rate_of_victim = [&](const std::string& level) {
        const Outcome run = loom_program("sim --json --level " + level + " -s " + scenarios + "testbed.scn");
        EXPECT_EQ(run.exit_code, 0) << run.err;
        const json result = json::parse(run.out);
        EXPECT_EQ(result["level"], level);
        return result["flows"][1]["gbit_per_s"].get<double>();
    };

    EXPECT_GT(rate_of_victim("flow"), 7.9);
    EXPECT_LT(rate_of_victim("packet"), 4);
}

TEST_F(SimCommand, SaysWhoSuffersAndWhy) {
    const Outcome run = loom_program("sim -q -s " + scenarios + "testbed.scn");

    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("X-Y: 3."));
    EXPECT_THAT(run.out, HasSubstr("where a fair share is 8.00; it waits at S1 port 15"));
    EXPECT_THAT(run.out, HasSubstr("behind packets for S2 port 23"));
}

TEST_F(SimCommand, PlaysTheMessageLevelWithoutAFabric) {
    const Outcome run = loom_program("sim --level message --schedule ring --ranks 4 --bytes 8 --json");

    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["level"], "message");
    EXPECT_EQ(result["ranks"], 4);
    EXPECT_TRUE(result["engine"].is_null());
    EXPECT_GT(result["finish_s"].get<double>(), 0);
}

TEST_F(SimCommand, SamplesGoIntoJson) {
    const Outcome run = loom_program("sim --json --level flow --until 1ms -s " + scenarios + "testbed.scn");

    ASSERT_EQ(run.exit_code, 0) << run.err;
    const json result = json::parse(run.out);
    EXPECT_EQ(result["state"], "running");
    EXPECT_EQ(result["samples"]["times_s"].size(), 3u);
    EXPECT_EQ(result["samples"]["flows"].size(), 4u);
    EXPECT_EQ(result["samples"]["ports"][1]["port"], "S2 port 23");
}

TEST_F(SimCommand, ScenariosFindTheirFilesBesideThem) {
    std::ofstream(folder.file("a.scn")) << "fabric tree.json\nlevel flow\nengine ftree\npattern ring\nbytes 4KiB\n";
    std::ofstream(folder.file("p.txt")) << "0 1\n2 3\n";
    std::ofstream(folder.file("p.scn")) << "fabric tree.json\nlevel flow\npattern pairs:p.txt\n";
    std::ofstream(folder.file("b.scn")) << "fabric tree.json\nlevel flow\n\nflow f from host00 to nobody bytes 1\n";

    const Outcome found = loom_program("sim -s " + folder.file("a.scn"));
    const Outcome pairs = loom_program("sim --json -s " + folder.file("p.scn"));
    const Outcome nobody = loom_program("sim -s " + folder.file("b.scn"));

    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_THAT(found.out, HasSubstr("pattern ring, 4.0 KiB a message, 16 ranks, tables of ftree"));
    ASSERT_EQ(pairs.exit_code, 0) << pairs.err;
    EXPECT_EQ(json::parse(pairs.out)["flow_count"], 2);
    EXPECT_EQ(nobody.exit_code, 2);
    EXPECT_THAT(nobody.err,
                HasSubstr("b.scn:4: expected a host of the fabric that is connected to a switch, got \"nobody\""));
}

TEST_F(SimCommand, SaysNoWhenTrafficIsStuck) {
    std::ofstream(folder.file("stuck.goal")) << "num_ranks 2\nrank 0 {\nl1: recv 8b from 1\n}\nrank 1 {\n}\n";

    const Outcome run = loom_program("sim " + tree + " --level flow --goal " + folder.file("stuck.goal"));

    EXPECT_EQ(run.exit_code, 1);
    EXPECT_THAT(run.out, HasSubstr("stuck after 0 s"));
    EXPECT_THAT(run.out, HasSubstr("rank 0 waits for 8 bytes from rank 1"));
}

// Shortest ways round a ring close a circle of waiting buffers; with lanes they do not.
TEST_F(SimCommand, SaysNoWhenPacketsDeadlock) {
    const std::string ring = folder.file("ring.json");
    ASSERT_EQ(loom_program("fabric new torus 6 --hosts 2 -q -o " + ring).exit_code, 0);

    const Outcome locked = loom_program("sim " + ring + " --engine minhop -p shift:4 --bytes 256KiB --buffer 8KiB");
    const Outcome lanes = loom_program("sim " + ring + " --engine dfsssp -p shift:4 --bytes 256KiB --buffer 8KiB");

    EXPECT_EQ(locked.exit_code, 1);
    EXPECT_THAT(locked.out, HasSubstr("deadlocked after"));
    EXPECT_THAT(locked.out, HasSubstr("waits for the buffer of"));
    EXPECT_EQ(lanes.exit_code, 0) << lanes.err;
}

TEST_F(SimCommand, WritesTheScheduleThatItPlays) {
    const std::string goal = folder.file("ring.goal");

    const Outcome made =
        loom_program("sim --level message --schedule ring:3 --ranks 4 --bytes 100 --json --write-goal " + goal);
    const Outcome again = loom_program("sim --level message --json --goal " + goal);

    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(slurp(goal), StartsWith("num_ranks 4\n"));
    EXPECT_EQ(json::parse(again.out)["finish_s"], json::parse(made.out)["finish_s"]);
    EXPECT_EQ(json::parse(again.out)["rank_ends_s"], json::parse(made.out)["rank_ends_s"]);
    EXPECT_EQ(json::parse(made.out)["rank_ends_s"].size(), json::parse(made.out)["ranks"].get<std::size_t>());
}

TEST_F(SimCommand, NamesHostsAsRealFabricsDo) {
    const std::string net = folder.file("cluster.out");
    std::ofstream(net) << "Switch\t36 \"S-0000000000000001\"\t# \"MF0;leaf:SX6036/U1\" base port 0 lid 1 lmc 0\n"
                          "[1]\t\"H-0000000000000010\"[1]\t# \"a01 mlx4_0\" lid 2 4xQDR\n"
                          "[2]\t\"H-0000000000000020\"[1]\t# \"a02 mlx4_0\" lid 3 4xQDR\n\n"
                          "Ca\t1 \"H-0000000000000010\"\t# \"a01 mlx4_0\"\n"
                          "[1]\t\"S-0000000000000001\"[1]\t# lid 2 lmc 0 \"MF0;leaf:SX6036/U1\" lid 1 4xQDR\n\n"
                          "Ca\t1 \"H-0000000000000020\"\t# \"a02 mlx4_0\"\n"
                          "[1]\t\"S-0000000000000001\"[2]\t# lid 3 lmc 0 \"MF0;leaf:SX6036/U1\" lid 1 4xQDR\n";
    const std::string common = "sim -q --json --sample 1us " + net;

    const Outcome full = loom_program(common + " --flow 'a01 mlx4_0:a02 mlx4_0' --watch 'MF0;leaf:SX6036/U1:2'");
    const Outcome word = loom_program(common + " --flow a01:a02 --watch a01:1");

    ASSERT_EQ(full.exit_code, 0) << full.err;
    ASSERT_EQ(word.exit_code, 0) << word.err;
    const json first = json::parse(full.out), second = json::parse(word.out);
    EXPECT_EQ(first["flows"][0]["from_host"], "a01 mlx4_0");
    EXPECT_EQ(first["flows"][0]["to_host"], "a02 mlx4_0");
    EXPECT_EQ(first["flows"][0]["ended_s"], second["flows"][0]["ended_s"]);
    EXPECT_EQ(first["samples"]["ports"][0]["port"], "MF0;leaf:SX6036/U1 port 2");
    EXPECT_EQ(second["samples"]["ports"][0]["port"], "a01 mlx4_0 port 1");
    EXPECT_EQ(first["hottest_ports"][0]["rate"], "4xQDR");
}

TEST_F(SimCommand, RefusesWhatMakesNoSense) {
    for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
             {"sim", "expected traffic"},
             {"sim --level flow -p shift", "level flow needs a fabric"},
             {"sim " + tree + " -p shift --level quantum", "--level: expected packet, flow or message"},
             {"sim " + tree + " -p nonsense --level flow", "nonsense"},
             {"sim " + tree + " -p shift --goal x", "one kind of traffic"},
             {"sim --level message --ranks 8 --goal x", "a GOAL file says itself how many ranks"},
             {"sim --level message --bytes 8 --goal x", "a GOAL file says itself how large"},
             {"sim " + tree + " --level flow --flow 'f from host00 to host01'", "--flow: expected a flow such as"},
             {"sim " + tree + " --level flow --flow 'f from host[00-01] to host02 bytes 1'", "no lists of hosts"},
             {"sim " + tree + " --level flow --flow 'f from - to host02 bytes 1'", "got \"-\""},
             {"sim " + tree + " --level flow -p shift --lid 3", "--lid: expected 0 or spread"},
             {"sim " + tree + " --level flow --flow host00:host01 --until 5", "--until: expected a time to end at"},
             {"sim " + tree + " --level flow -p shift --ranks 17", "17 ranks were asked for"},
             {"sim " + tree + " --level flow -p shift --set 'congestion nothing 3'", "--set: expected threshold"},
             {"sim " + tree + " --level flow -p shift --plot x.csv", "--plot x.csv"},
             {"sim " + tree + " --level flow -p shift --json --plot -", "--json needs standard output"}}) {
        const Outcome run = loom_program(arguments);

        EXPECT_EQ(run.exit_code, 2) << arguments;
        EXPECT_THAT(run.err, HasSubstr(message)) << arguments;
        EXPECT_EQ(run.out, "") << arguments;
    }
}

}  // namespace
