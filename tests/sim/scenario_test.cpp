#include "loom/sim/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/sim/setup.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* two_switches = R"(# Two switches
title  Two switches
switch S1 24
switch S2 24
host A
host "Big D"
link A S1:12 4xSDR
link "Big D" S2:23 4xSDR
link S1:15 S2:20 4xQDR
)";

TEST(Scenario, ReadsFabricTrafficAndSettings) {
    const Scenario s =
        parse_scenario(std::string(two_switches) +
                           "flow A-D from A to \"Big D\" bytes 3GB message 128MiB start 8s window 2 sl 3\n"
                           "level flow\nuntil 20s\nsample 100ms\nseed 7\nmtu 4096\nbuffer 64KiB\n"
                           "watch S1:15   # the link between\nmanager sweep 1.4s\n",
                       "two.scn");

    EXPECT_EQ(s.title, "Two switches");
    EXPECT_EQ(s.fabric.node_count(), 4u);
    EXPECT_EQ(s.fabric.link_count(), 3u);
    EXPECT_EQ(s.fabric.port(NodeId{0}, PortNum{15}).rate.megabits(), 32'000u);
    ASSERT_EQ(s.flows.size(), 1u);
    EXPECT_EQ(s.flows[0].to, "Big D");
    EXPECT_EQ(s.flows[0].bytes, 3'000'000'000u);
    EXPECT_EQ(s.flows[0].message, 128u << 20);
    EXPECT_EQ(s.flows[0].start, seconds(8));
    EXPECT_EQ(s.flows[0].window, 2u);
    EXPECT_EQ(s.flows[0].sl, 3);
    EXPECT_EQ(s.level, Level::flow);
    EXPECT_EQ(s.until, seconds(20));
    EXPECT_EQ(s.sample, milliseconds(100));
    EXPECT_EQ(s.options.seed, 7u);
    EXPECT_EQ(s.options.packet.mtu, 4096u);
    EXPECT_EQ(s.options.packet.buffer_bytes, 65536u);
    ASSERT_EQ(s.watch.size(), 1u);
    EXPECT_EQ(s.watch[0].port, 15u);
    ASSERT_EQ(s.manager.size(), 1u);
    EXPECT_EQ(s.manager[0].key, "sweep");
    EXPECT_EQ(s.manager[0].value, "1.4s");
    EXPECT_EQ(s.manager[0].source.line, 18u);
}

TEST(Scenario, ReadsCongestionControl) {
    const Scenario s = parse_scenario(
        "fabric tree.json\npattern shift\nbytes 64KiB\nlids spread\npaths adaptive\nsl-to-vl 2 1\n"
        "arbitration high 0:4 1:8\narbitration limit 10\n"
        "congestion threshold 15\ncongestion marking_rate 2048\ncongestion packet_size 3\ncongestion victim_mask on\n"
        "congestion ccti_timer 75\ncongestion ccti_timer 300 sl 2\ncongestion cct linear 4 0.5\ncongestion jitter "
        "0.25\n",
        "s");

    const CongestionControl& control = s.options.packet.congestion;
    EXPECT_EQ(s.fabric_file, "tree.json");
    EXPECT_EQ(s.bytes, 65536u);
    EXPECT_EQ(control.switches.threshold, 15);
    EXPECT_EQ(control.switches.marking_rate, 2048);
    EXPECT_EQ(control.switches.packet_size, 3);
    EXPECT_TRUE(control.switches.victim_mask);
    EXPECT_EQ(control.hosts[0].ccti_timer, 75);
    EXPECT_EQ(control.hosts[2].ccti_timer, 300);
    EXPECT_THAT(control.table, ElementsAre(0, 0.5, 1, 1.5));
    EXPECT_EQ(control.jitter, 0.25);
    EXPECT_EQ(s.options.packet.lids, LidChoice::spread);
    EXPECT_EQ(s.options.flow.lids, LidChoice::spread);
    EXPECT_EQ(s.options.packet.paths, PathChoice::adaptive);
    EXPECT_EQ(s.options.packet.sl_to_vl[2], 1);
    EXPECT_EQ(s.options.packet.arbitration.high.size(), 2u);
    EXPECT_EQ(s.options.packet.arbitration.high_limit, 10);
}

TEST(Scenario, HalvesInjectionRatesWhereAsked) {
    const auto table_of = [](const std::string& line) {
        return parse_scenario("fabric tree.json\npattern shift\ncongestion cct " + line, "s")
            .options.packet.congestion.table;
    };

    EXPECT_THAT(table_of("halving 4"), ElementsAre(0, 1, 3, 7));
    EXPECT_EQ(table_of("halving"), halving_table());
}

// Marks that throttle nobody would be a surprise.
TEST(Scenario, HalvesInjectionRatesWhereSwitchesMarkAndNoTableIsGiven) {
    const std::string traffic = std::string(two_switches) + "flow f from A to \"Big D\" bytes 1\n";
    const auto table_of = [&](const std::string& lines) {
        return set_up(parse_scenario(traffic + lines, "s"))->options.packet.congestion.table;
    };

    EXPECT_THAT(table_of(""), IsEmpty());
    EXPECT_EQ(table_of("congestion threshold 15\n"), halving_table());
    EXPECT_THAT(table_of("congestion threshold 15\ncongestion cct 0\n"), ElementsAre(0));
}

// Each message waits for the one that is a window before it, and for that alone.
TEST(Scenario, AWindowIsThatManyMessages) {
    for (const std::uint32_t window : {1u, 2u, 3u}) {
        const auto setup = set_up(parse_scenario(std::string(two_switches) +
                                                     "flow f from A to \"Big D\" bytes 500 message 100 window " +
                                                     std::to_string(window) + "\n",
                                                 "test"));
        const traffic::Schedule& schedule = setup->schedule;

        ASSERT_EQ(schedule.ops(Rank{0}).size(), 5u);
        for (std::uint32_t i = 0; i < 5; ++i) {
            EXPECT_EQ(schedule.waits_for(i), i < window ? 0u : 1u) << i << " of window " << window;
            if (i + window < 5)
                EXPECT_THAT(schedule.successors(i), ElementsAre(traffic::Successor{i + window, false}));
            else
                EXPECT_THAT(schedule.successors(i), IsEmpty());
        }
    }
}

TEST(Scenario, ReadsTheMessageLevelWithoutAFabric) {
    const Scenario s = parse_scenario(
        "level message\nranks 8\npattern ring\nloggops L 1us o 200ns G 400 S 4KiB\nlocal-copy 50\n", "s");

    EXPECT_EQ(s.level, Level::message);
    EXPECT_EQ(s.options.message.parameters.L, microseconds(1));
    EXPECT_EQ(s.options.message.parameters.G, 400);
    EXPECT_EQ(s.options.message.parameters.S, 4096u);
    EXPECT_EQ(s.options.local.copy, 50);
}

struct Bad {
    const char* line;
    const char* message;
};

constexpr Bad bad_lines[] = {{"frobnicate 3", "expected a keyword such as fabric"},
                             {"switch S1 24", "already"},
                             {"switch S3 0", "expected the number of the switch's ports from 1 to 254, got \"0\""},
                             {"link A S1:1", "no free port"},
                             {"link S1:25 S2:1", "from 1 to 24"},
                             {"link S1:1 S9:1", "expected a node declared above"},
                             {"link S1:1 S2:1 4xWDR", "expected a rate such as 4xQDR"},
                             {"link S1:15 S2:1", "S1 port 15"},
                             {"fabric x.json", "nodes were declared above"},
                             {"flow g from A to A bytes 1", "expected two hosts"},
                             {"flow g from A to S1 bytes 1", "expected a host declared above"},
                             {"flow g from A to \"Big D\"", "expected a flow such as"},
                             {"flow g from A to \"Big D\" bytes 1 endless", "got both"},
                             {"flow g from A to \"Big D\" endless", "expected until TIME"},
                             {"flow g from A to \"Big D\" bytes -1", "expected a number of bytes"},
                             {"flow g from A to \"Big D\" bytes 1 message 0", "expected the bytes of a message"},
                             {"flow g from \"A", "expected a closing double quote"},
                             {"mtu 1500", "256, 512, 1024, 2048 or 4096"},
                             {"until 0", "above 0"},
                             {"until 20", "expected a time to end at such as"},
                             {"until 2s 3s", "expected the end of the line, got \"3s\""},
                             {"watch S1", "expected NODE:PORT"},
                             {"watch S1:99", "from 1 to 24"},
                             {"level quantum", "expected packet, flow or message"},
                             {"congestion", "expected threshold"},
                             {"congestion threshold 16", "from 0 to 15"},
                             {"congestion cct", "injection delays"},
                             {"congestion cct 1 -2", "from 0 to 1e+06"},
                             {"congestion cct halving 16", "from 1 to 15"},
                             {"congestion cct halving 6 7", "expected the end of the line"},
                             {"arbitration high 0", "LANE:WEIGHT"},
                             {"sl-to-vl 16 0", "from 0 to 15"},
                             {"loggops X 1us", "L, o, g, G, O or S"},
                             {"manager sweep", "a value of it"},
                             {"buffer 2GiB", "the bytes of a buffer"}};

TEST(Scenario, RefusesBadLinesWithLineAndExpectation) {
    for (const Bad& bad : bad_lines) {
        std::string message;
        std::size_t line = 0;

        try {
            (void)parse_scenario(std::string(two_switches) + bad.line + "\nflow f from A to \"Big D\" bytes 1\n",
                                 "bad");
        } catch (const ParseError& error) {
            message = error.what();
            line = error.line();
        }

        EXPECT_THAT(message, HasSubstr(bad.message)) << bad.line;
        EXPECT_EQ(line, 10u) << bad.line;
    }
}

TEST(Scenario, SaysWhatIsMissing) {
    EXPECT_THROW((void)parse_scenario("", "s"), ParseError);
    EXPECT_THROW((void)parse_scenario("pattern shift\n", "s"), ParseError);
    EXPECT_THROW((void)parse_scenario("level message\npattern shift\n", "s"), ParseError);
    EXPECT_THROW((void)parse_scenario("fabric f\npattern shift\ngoal g\n", "s"), ParseError);
    EXPECT_THROW((void)parse_scenario("fabric f\npattern shift\nplace random\nhosts a[1-2]\n", "s"), ParseError);
    EXPECT_THROW((void)parse_scenario("fabric f\npattern shift\ntables t\nengine minhop\n", "s"), ParseError);
    EXPECT_THROW((void)read_scenario("no-such-file.scn"), IoError);
}

}  // namespace
