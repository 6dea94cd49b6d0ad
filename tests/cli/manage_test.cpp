// loom manage --live, with scripts in the place of the diagnostic tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace {

using loom::test::loom_program;
using loom::test::Outcome;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Two switches, S1 with LID 1 and S2 with LID 2; port 15 of S1 leads to S2, port 23 of S2 to a host.
constexpr const char* discovered =
    "vendid=0x0\ndevid=0x0\nsysimgguid=0x10\nswitchguid=0x10(10)\n"
    "Switch\t24 \"S-0000000000000010\"\t\t# \"S1\" base port 0 lid 1 lmc 0\n"
    "[15]\t\"S-0000000000000020\"[20]\t\t# \"S2\" lid 2 4xQDR\n\n"
    "vendid=0x0\ndevid=0x0\nsysimgguid=0x20\nswitchguid=0x20(20)\n"
    "Switch\t24 \"S-0000000000000020\"\t\t# \"S2\" base port 0 lid 2 lmc 0\n"
    "[20]\t\"S-0000000000000010\"[15]\t\t# \"S1\" lid 1 4xQDR\n"
    "[23]\t\"H-0000000000000030\"[1](31) \t\t# \"D\" lid 3 4xSDR\n\n"
    "vendid=0x0\ndevid=0x0\nsysimgguid=0x30\ncaguid=0x30\n"
    "Ca\t1 \"H-0000000000000030\"\t\t# \"D\"\n"
    "[1](31) \t\"S-0000000000000020\"[23]\t\t# lid 3 lmc 0 \"S2\" lid 2 4xSDR\n";

class Manage : public testing::Test {
protected:
    void SetUp() override {
        write("fabric.out", discovered);
        write("runs", "0");
        write("rate", "128");
        // Words: nodeinfo LID.
        tool("smpquery", "printf '# Node info: Lid %s\\nGuid:.....0x%016d\\n' \"$2\" \"${2}0\"");
        // Every port waits 9,000 ticks more with every run.
        tool("perfquery",
             "runs=$(cat runs); echo $((runs + 1)) >runs\n"
             "[ -f interrupt ] && [ $runs -eq 14 ] && kill -INT $PPID\n"
             "[ \"$1\" = --xmitcc ] && { echo 'perfquery: iberror: failed: cannot query PortXmitConCtrl'; exit 255; }\n"
             "for last; do :; done; lid=$(echo \"$*\" | sed 's/.* \\([0-9]*\\) [0-9,]*$/\\1/')\n"
             "for port in $(echo $last | tr , ' '); do\n"
             "printf '# Port extended counters: Lid %s port %s (CapMask: 0x1300 CapMask2: 0x0000002)\\n' $lid $port\n"
             "printf 'PortSelect:..%s\\nPortXmitData:..1000\\nPortRcvData:..1\\nPortXmitPkts:..1\\nPortRcvPkts:..1\\n' "
             "$port\n"
             "printf 'PortXmitWait:.....%s\\n' $((runs * 9000)); done");
        // Words: SwitchPortCongestionSetting LID PORT [VALID TYPE THRESHOLD SIZE RATE].
        tool("ibccquery",
             "printf '# SwitchPortCongestionSetting: Lid %s\\nValid:..1\\nControl_Type:..0\\nThreshold:..0x0f\\n' $2\n"
             "printf 'Packet_Size:..8\\nCong_Parm_Marking_Rate:..%s\\n' $(cat rate)");
        tool("ibccconfig", "echo \"$*\" >>changes; echo $8 >rate");
    }

    void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.file(name)) << text; }
    void tool(const std::string& name, const std::string& body) const {
        write(name, "#!/bin/sh\ncd '" + folder_.path().string() + "'\n" + body + "\n");
        std::filesystem::permissions(folder_.file(name), std::filesystem::perms::owner_all);
    }
    [[nodiscard]] Outcome manage(const std::string& arguments) const {
        return loom::test::shell("PATH='" + folder_.path().string() + "':$PATH '" LOOM_PROGRAM "' manage " +
                                 folder_.file("fabric.out") + " --live --wait 1000 --sweep 10ms " + arguments);
    }
    [[nodiscard]] std::string changes() const { return loom::test::slurp(folder_.path() / "changes"); }

    loom::test::TemporaryFolder folder_;
};

TEST_F(Manage, ADryRunPrintsDecisionsAndCommands) {
    const Outcome outcome = manage("--sweeps 3 --policy paper");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Managing 2 switches, policy paper; a dry run"));
    EXPECT_THAT(outcome.out, HasSubstr("S2 port 23: marking rate 128 -> 0: leads to a host and waited"));
    EXPECT_THAT(outcome.out, HasSubstr("would run: ibccconfig SwitchPortCongestionSetting 2 23 1 0 15 8 0\n"));
    EXPECT_THAT(outcome.out, HasSubstr("marking rate 0 -> 128: the manager stops"));
    EXPECT_THAT(outcome.out,
                HasSubstr("3 sweeps: 9 ports read (0 missed), 1 rate read, 2 set; 1 congested port lowered"));
    EXPECT_THAT(outcome.err, HasSubstr("loom: S1 answers no congestion counters"));
    EXPECT_EQ(changes(), "");
}

TEST_F(Manage, AppliesAndRestores) {
    const Outcome outcome = manage("--sweeps 3 --apply --policy paper");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("ran: ibccconfig"));
    EXPECT_EQ(changes(),
              "SwitchPortCongestionSetting 2 23 1 0 15 8 0\nSwitchPortCongestionSetting 2 23 1 0 15 8 128\n");
}

TEST_F(Manage, RestoresWhenInterrupted) {
    write("interrupt", "");

    const Outcome outcome = manage("--apply --policy paper");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("marking rate 0 -> 128: the manager stops"));
    EXPECT_THAT(changes(), HasSubstr("23 1 0 15 8 0\n"));
    EXPECT_TRUE(changes().ends_with("SwitchPortCongestionSetting 2 23 1 0 15 8 128\n")) << changes();
}

TEST_F(Manage, JsonIsOneObjectWithEveryNumber) {
    const Outcome outcome = manage("--sweeps 3 --json --policy proportional --tick 1us");

    const json object = json::parse(outcome.out);
    EXPECT_EQ(outcome.err, "");
    EXPECT_FALSE(object.at("applied"));
    EXPECT_EQ(object.at("settings").at("wait"), "1000");
    EXPECT_EQ(object.at("settings").at("sweep"), "10ms");
    EXPECT_EQ(object.at("work").at("sweeps"), 3);
    const json& first = object.at("decisions").at(0);
    EXPECT_EQ(first.at("what"), "lower");
    EXPECT_EQ(first.at("why"), "host waits");
    EXPECT_EQ(first.at("port"), "S2 port 23");
    EXPECT_EQ(first.at("victim"), "S1 port 15");
    EXPECT_GT(first.at("victim_waited_ticks"), 1000);
    EXPECT_EQ(first.at("old_rate"), 128);
    EXPECT_LT(first.at("new_rate"), 128);
    EXPECT_EQ(object.at("remarks").size(), 2u);
    EXPECT_GE(object.at("commands").size(), 2u);
}

TEST_F(Manage, TellsASwitchThatDoesNotAnswerAndGoesOn) {
    tool("smpquery",
         "[ $2 = 1 ] && { echo 'smpquery: iberror: failed: node info query failed'; exit 255; }\n"
         "printf '# Node info: Lid %s\\nGuid:.....0x%016d\\n' \"$2\" \"${2}0\"");

    const Outcome outcome = manage("--sweeps 3");

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("S1 port 15: counters of its switch not read: smpquery nodeinfo 1: node info"));
    EXPECT_THAT(outcome.out, HasSubstr("S2 port 23: left alone: leads to a host and waited"));
    EXPECT_THAT(outcome.out, HasSubstr("(3 missed)"));
}

TEST_F(Manage, FailsInOneLineWhenNothingAnswers) {
    tool("smpquery", "echo 'smpquery: iberror: failed: node info query failed'; exit 255");

    const Outcome outcome = manage("");

    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.err, "loom: smpquery nodeinfo 2: node info query failed\n");
}

TEST(ManageUsage, IsExplained) {
    const auto said = [](const std::string& arguments) {
        const Outcome outcome = loom_program("manage " + arguments);
        EXPECT_EQ(outcome.exit_code, 2) << arguments;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        return outcome.err;
    };

    EXPECT_THAT(said(""), HasSubstr("say what to manage: --live"));
    EXPECT_THAT(said("--live --scenario x.scn"), HasSubstr("say what to manage: --live"));
    EXPECT_THAT(said("--scenario x.scn --apply"), HasSubstr("--apply is for --live"));
    EXPECT_THAT(said("--live --plot x.svg"),
                HasSubstr("--compare, --watch and what is written or drawn are for --scenario"));
    EXPECT_THAT(said("--scenario x.scn --compare none,paper --plot x.svg"), HasSubstr("are of one run"));
    EXPECT_THAT(said("--live --sweep fast"), HasSubstr("--sweep: expected a time like 1.5s"));
    EXPECT_THAT(said("--live --low 200 --default 100"), HasSubstr("the low marking rate must not exceed"));
    EXPECT_THAT(said("--live --policy best"), HasSubstr("--policy: expected paper"));
    EXPECT_THAT(said("--live --limit soon"), HasSubstr("--limit: expected a time"));
    EXPECT_THAT(said("--live --cc-key-file /no/such/file"), HasSubstr("/no/such/file"));
}

// The testbed of the paper, a thousand times quicker: A and B send to D, and X to Y through the same cable as A.
constexpr const char* testbed =
    "switch S1 36\nswitch S2 36\nhost A\nhost X\nhost B\nhost C\nhost D\nhost Y\n"
    "link X S1:11 4xSDR\nlink A S1:12 4xSDR\nlink S1:15 S2:20 4xQDR\nlink B S2:21 4xSDR\nlink C S2:22 4xSDR\n"
    "link D S2:23 4xSDR\nlink Y S2:24 4xSDR\n"
    "flow B-D from B to D endless message 256KiB window 2\nflow C-D from C to D endless message 256KiB window 2\n"
    "flow X-Y from X to Y endless message 256KiB window 2\n"
    "flow A-D from A to D endless message 256KiB window 2 start 5ms\nuntil 30ms\n"
    "congestion threshold 15\ncongestion marking_rate 128\ncongestion ccti_timer 75\ncongestion cct linear 128 1\n"
    "manager sweep 1.5ms\nmanager congestion 8000\nmanager wait 27400\nmanager data 30000\n";

class ManageScenario : public testing::Test {
protected:
    [[nodiscard]] Outcome manage(const std::string& arguments, const std::string& more = {}) const {
        std::ofstream(folder_.file("bed.scn")) << testbed << more;
        return loom_program("manage --scenario " + folder_.file("bed.scn") + " " + arguments);
    }

    loom::test::TemporaryFolder folder_;
};

TEST_F(ManageScenario, ProtectsTheVictimFlow) {
    const Outcome outcome = manage("--policy paper --plot " + folder_.file("flows.svg"));

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("S2 port 23: left alone: congested for"));
    EXPECT_THAT(outcome.out, HasSubstr("S2 port 23: marking rate 128 -> 0: congested for"));
    EXPECT_THAT(outcome.out, HasSubstr("and S1 port 15 waited"));
    EXPECT_THAT(outcome.out, HasSubstr("S2 port 23: marking rate 0 -> 128: low for 8 sweeps (T_I 8), 1 victim left"));
    EXPECT_THAT(outcome.out, HasSubstr("sweeps: "));
    EXPECT_THAT(outcome.out, HasSubstr("X-Y"));
    EXPECT_THAT(loom::test::slurp(folder_.path() / "flows.svg"), HasSubstr("<svg"));
}

TEST_F(ManageScenario, WritesTheSeriesOfAManagedRun) {
    const Outcome outcome =
        manage("--watch S2:23 --csv-flows " + folder_.file("flows.csv") + " --csv-ports " + folder_.file("ports.csv"));

    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(loom::test::slurp(folder_.path() / "flows.csv"), HasSubstr(",X-Y,"));
    EXPECT_THAT(loom::test::slurp(folder_.path() / "ports.csv"), HasSubstr(",S2 port 23,"));
}

TEST_F(ManageScenario, SaysWhichThresholdNoPortCanExceed) {
    const Outcome outcome = manage("--sweep 2ms --wait 27400000");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err,
                HasSubstr("--wait 27400000: no port can count more, a sweep of 2 ms has 90,909 ticks of 22 ns"));
    EXPECT_THAT(outcome.err, HasSubstr("as in the paper would be 36533"));
    EXPECT_THAT(outcome.err, testing::Not(HasSubstr("--congestion")));
}

TEST_F(ManageScenario, SetsPoliciesSideBySide) {
    const Outcome outcome = manage("--json --compare none,paper,history+proportional");

    const json rows = json::parse(outcome.out).at("policies");
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].at("policy"), "none");
    EXPECT_EQ(rows[0].at("work").at("rates_set"), 0);
    EXPECT_EQ(rows[2].at("policy"), "history+proportional");
    const double alone = rows[0].at("gbit_per_s").at("X-Y"), managed = rows[1].at("gbit_per_s").at("X-Y");
    EXPECT_GT(managed, 1.3 * alone);  // the victim flow
    EXPECT_LT(rows[2].at("work").at("ports_read"), rows[1].at("work").at("ports_read"));
    for (const json& row : rows) {  // one of the four flows begins after 5 of 30 ms
        double sum = 0;
        for (const auto& [flow, rate] : row.at("gbit_per_s").items()) sum += rate.get<double>();
        EXPECT_LE(row.at("all_gbit_per_s"), sum);
        EXPECT_GE(row.at("all_gbit_per_s"), 0.8 * sum);
    }
}

TEST_F(ManageScenario, AsPrintedNothingIsEverLowered) {
    const Outcome outcome = manage("--json --as-printed victim");

    const json object = json::parse(outcome.out);
    EXPECT_EQ(object.at("work").at("lowered"), 0);
    EXPECT_EQ(object.at("decisions").at(0).at("what"), "leave");
    EXPECT_TRUE(object.at("decisions").at(0).at("old_rate").is_null());
    EXPECT_EQ(object.at("settings").at("sweep"), "1500us");
    EXPECT_EQ(object.at("settings").at("as-printed"), "victim");
}

TEST_F(ManageScenario, FreesTheVictimOfTheExample) {
    const Outcome outcome = loom_program("manage --json --compare none,paper --scenario " +
                                         std::string(LOOM_SOURCE_DIR) + "/examples/scenarios/managed.scn");

    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json rows = json::parse(outcome.out).at("policies");
    EXPECT_LT(rows[0].at("gbit_per_s").at("X-Y"), 4);
    EXPECT_GT(rows[1].at("gbit_per_s").at("X-Y"), 6.5);
}

TEST_F(ManageScenario, WithoutCongestionControlStaysOut) {
    const Outcome outcome = manage("--set 'congestion threshold 0'");
    const Outcome compared = manage("--json --compare none,paper --set 'congestion threshold 0'");

    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("congestion control is off"));
    ASSERT_EQ(compared.exit_code, 0) << compared.err;
    EXPECT_EQ(json::parse(compared.out).at("policies")[1].at("work").at("sweeps"), 0);
}

TEST_F(ManageScenario, RefusesWhatItCannotManage) {
    EXPECT_THAT(manage("--set 'level flow'").err, HasSubstr("only the packet level has congestion control"));
    EXPECT_THAT(manage("", "manager sweep soon\n").err, HasSubstr("bed.scn:29: sweep: expected a time"));
    EXPECT_THAT(manage("", "manager speed 3\n").err, HasSubstr("bed.scn:29: expected a setting of the manager"));
    EXPECT_THAT(manage("--compare none,best").err, HasSubstr("--compare: expected none or a policy, got \"best\""));
    EXPECT_THAT(manage("--compare ''").err, HasSubstr("--compare: expected none or a policy, got \"\""));
    EXPECT_THAT(manage("--sweep 1500ms").err, HasSubstr("the traffic ended before a sweep of 1.5 s was over"));
}

}  // namespace
