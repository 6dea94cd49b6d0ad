#include "loom/sim/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loom/sim/setup.hpp"
#include "loom/sim/show.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Two hosts send to a third, one of them for longer; no delays.
constexpr const char* lines =
    "level flow\nswitch S 8\nhost A\nhost B\nhost \"C,c\"\nlink A S:1 4xSDR\nlink B S:2 4xSDR\nlink \"C,c\" S:3 4xSDR\n"
    "host-delay 0\ncable-delay 0\nswitch-delay 0\nwatch S:3\nwatch A:1\ncounter-tick 10ns\n"
    "flow A-C from A to \"C,c\" bytes 1MB message 8MiB\nflow B-C from B to \"C,c\" bytes 2MB message 8MiB\n";

struct Played {
    std::unique_ptr<Setup> setup = set_up(parse_scenario(lines, "test"));
    std::unique_ptr<Simulation> simulation = setup->start();
};

TEST(Record, SamplesAtTheIntervalAskedFor) {
    Played run;
    Recorder recorder(*run.simulation, {.sample = milliseconds(1), .ports = run.setup->watch});

    const State state = recorder.advance(seconds(1));
    const Recording r = recorder.recording();

    EXPECT_EQ(state, State::finished);
    EXPECT_EQ(r.level, Level::flow);
    EXPECT_THAT(r.times, ElementsAre(Time{}, milliseconds(1), milliseconds(2), milliseconds(3)));
    EXPECT_THAT(r.total, ElementsAre(0, 1'000'000, 2'000'000, 3'000'000));
    EXPECT_THAT(r.delivered[0], ElementsAre(0, 500'000, 1'000'000, 1'000'000));
    EXPECT_EQ(r.counters[0][3].xmit_data, 750'000u);
    EXPECT_EQ(r.finish(), milliseconds(3));
    EXPECT_DOUBLE_EQ(gigabits(r.flows[0], r.end), 4);
    EXPECT_NEAR(gigabits(r.flows[1], r.end), 16.0 / 3, 1e-9);
    EXPECT_THAT(slowest_flows(r, 1), ElementsAre(0u));
}

TEST(Record, FindsAnIntervalThatSuits) {
    Played run;
    Recorder recorder(*run.simulation, {});

    (void)recorder.advance(seconds(1));
    const Recording r = recorder.recording();

    EXPECT_GE(r.times.size(), 200u);
    EXPECT_LE(r.times.size(), 401u);
    EXPECT_TRUE(std::is_sorted(r.times.begin(), r.times.end()));
    EXPECT_EQ(r.times.front(), Time{});
    EXPECT_EQ(r.times.back(), r.end);
    EXPECT_EQ(r.total.back(), 3'000'000u);
    EXPECT_TRUE(std::is_sorted(r.total.begin(), r.total.end()));
}

TEST(Record, LooksOnlyAtTheEndWhenAsked) {
    Played run;
    Recorder recorder(*run.simulation, {.sample = Time{}});

    const State state = recorder.advance(never);
    const Recording r = recorder.recording();

    EXPECT_EQ(state, State::finished);
    EXPECT_TRUE(r.times.empty());
    EXPECT_EQ(r.flows.size(), 2u);
}

TEST(Record, WritesTablesOfNumbers) {
    Played run;
    Recorder recorder(*run.simulation, {.sample = milliseconds(2), .ports = run.setup->watch});
    (void)recorder.advance(seconds(1));
    const Recording r = recorder.recording();

    const std::string flows = flows_csv(*run.setup, r);
    const std::string ports = ports_csv(*run.setup, r);

    EXPECT_EQ(flows,
              "time_s,flow,from,to,from_host,to_host,delivered_bytes,gbit_per_s\n"
              "0.000000000,A-C,0,1,A,\"C,c\",0,0.000000\n0.000000000,B-C,2,3,B,\"C,c\",0,0.000000\n"
              "0.002000000,A-C,0,1,A,\"C,c\",1000000,4.000000\n0.002000000,B-C,2,3,B,\"C,c\",1000000,4.000000\n"
              "0.003000000,A-C,0,1,A,\"C,c\",1000000,0.000000\n0.003000000,B-C,2,3,B,\"C,c\",2000000,8.000000\n");
    EXPECT_THAT(ports, StartsWith("time_s,port,xmit_data,"));
    EXPECT_THAT(ports, HasSubstr("\n0.002000000,S port 3,500000,0,489,0,0,0,0,0,0,8.000000,0.0000\n"));
    EXPECT_THAT(ports, HasSubstr("\n0.002000000,A port 1,250000,0,489,0,100000,0,0,0,0,4.000000,0.5000\n"));
}

TEST(Record, DrawsAndRanks) {
    Played run;
    Recorder recorder(*run.simulation, {.ports = run.setup->watch});
    (void)recorder.advance(seconds(1));
    const Recording r = recorder.recording();

    const auto hot = hottest_ports(*run.setup, *run.simulation, 2);

    EXPECT_THAT(flows_plot(*run.setup, r).document(), HasSubstr("A-C"));
    EXPECT_THAT(ports_plot(*run.setup, r).document(), HasSubstr("S port 3"));
    EXPECT_THAT(waits_plot(*run.setup, r).document(), HasSubstr("A port 1"));
    ASSERT_EQ(hot.size(), 2u);
    EXPECT_EQ(hot[0].port, run.setup->watch[0]);
    EXPECT_NEAR(hot[0].used, 1, 1e-6);
}

TEST(Record, ServesALivingFabric) {
    Played run;
    Recorder recorder(*run.simulation, {.sample = Time{}});
    RecordedFabric living(recorder, milliseconds(2));
    std::vector<fabric::PortCounters> counters(2);

    const bool first = living.sleep_until(milliseconds(1));
    living.read(run.setup->watch, counters);
    const bool second = living.sleep_until(milliseconds(5));

    EXPECT_TRUE(first);
    EXPECT_EQ(counters[0].xmit_data, 250'000u);
    EXPECT_FALSE(second);
    EXPECT_EQ(living.now(), milliseconds(2));
}

TEST(Setup, EndlessFlowsLastUntilTheEnd) {
    const auto setup =
        set_up(parse_scenario("level flow\nuntil 1ms\nswitch S 8\nhost A\nhost B\nlink A S:1 4xSDR\nlink B S:2 4xSDR\n"
                              "flow f from A to B endless message 10kB start 100us window 2\n",
                              "test"));
    const auto simulation = setup->start();

    const State state = simulation->advance(*setup->until);

    EXPECT_EQ(state, State::running);
    EXPECT_EQ(simulation->flows()[0].begun, microseconds(100));
    EXPECT_NEAR(static_cast<double>(simulation->flows()[0].delivered), 900'000, 10'000);
}

}  // namespace
