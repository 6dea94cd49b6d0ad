#include "loom/sim/suffering.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace loom;
using namespace loom::sim;
using testing::HasSubstr;
using testing::IsEmpty;

// Two switches: A, B and C send to D; X sends to Y over the link that A uses too.
constexpr const char* testbed =
    "switch S1 24\nswitch S2 24\nhost A\nhost X\nhost B\nhost C\nhost D\nhost Y\n"
    "link A S1:12 4xSDR\nlink X S1:11 4xSDR\nlink B S2:1 4xSDR\nlink C S2:2 4xSDR\nlink D S2:23 4xSDR\n"
    "link Y S2:24 4xSDR\nlink S1:15 S2:20 4xQDR\n"
    "flow A-D from A to D bytes 2MB message 128KiB window 2\nflow B-D from B to D bytes 2MB message 128KiB window 2\n"
    "flow C-D from C to D bytes 2MB message 128KiB window 2\nflow X-Y from X to Y bytes 2MB message 128KiB window 2\n";

struct Played {
    explicit Played(const std::string& lines) : setup(set_up(parse_scenario(lines, "test"))) {
        simulation = setup->start();
        Recorder recorder(*simulation, {.sample = Time{}});
        (void)recorder.advance(setup->until.value_or(never));
        recording = recorder.recording();
        sufferers = find_sufferers(*setup, *simulation, recording);
    }
    [[nodiscard]] PortIndex port(const std::string& node, std::uint8_t number) const {
        for (std::uint32_t i = 0; i < setup->fabric.node_count(); ++i)
            if (setup->fabric.node(NodeId{i}).name == node) return setup->fabric.port_index(NodeId{i}, PortNum{number});
        return no_port;
    }

    std::unique_ptr<Setup> setup;
    std::unique_ptr<Simulation> simulation;
    Recording recording;
    std::vector<Sufferer> sufferers;
};

TEST(Suffering, FindsTheVictimWhereItWaitsAndForWhom) {
    const Played run(testbed);

    ASSERT_EQ(run.sufferers.size(), 1u);
    const Sufferer& victim = run.sufferers[0];
    EXPECT_EQ(run.setup->flow_name(victim.flow, run.recording.flows[victim.flow]), "X-Y");
    EXPECT_LT(victim.got, 4);
    EXPECT_NEAR(victim.fair, 8, 0.1);
    EXPECT_EQ(victim.cause, Cause::behind);
    EXPECT_EQ(victim.waits_at, run.port("S1", 15));
    EXPECT_EQ(victim.full, run.port("S2", 23));
    EXPECT_THAT(describe(victim, *run.setup, run.recording), HasSubstr("behind packets for S2 port 23"));
}

// The victim goes on long after the others are done; its own way is then the fullest of all, seen over the whole run.
TEST(Suffering, LooksAtTheTimeInWhichOthersWereThere) {
    const Played run(std::string(testbed) + "flow X-Y2 from X to Y bytes 8MB message 128KiB window 2\n");

    ASSERT_GE(run.sufferers.size(), 1u);
    EXPECT_EQ(run.sufferers[0].cause, Cause::behind);
    EXPECT_EQ(run.sufferers[0].full, run.port("S2", 23));
}

TEST(Suffering, IsUnknownWhereOutputsShareNoBuffer) {
    const Played run(std::string(testbed) + "buffer-use per-output\n");

    EXPECT_THAT(run.sufferers, IsEmpty());
}

TEST(Suffering, FollowsAWaitingPortToTheFullOne) {
    const Played run(
        "switch S1 8\nswitch S2 8\nswitch S3 8\nhost A\nhost X\nhost B\nhost C\nhost D\nhost Y\n"
        "link A S1:1 4xSDR\nlink X S1:2 4xSDR\nlink S1:3 S2:1 4xQDR\nlink Y S2:2 4xSDR\nlink S2:3 S3:1 4xQDR\n"
        "link B S3:2 4xSDR\nlink C S3:3 4xSDR\nlink D S3:4 4xSDR\n"
        "flow A-D from A to D bytes 2MB message 128KiB window 2\nflow B-D from B to D bytes 2MB message 128KiB window "
        "2\nflow C-D from C to D bytes 2MB message 128KiB window 2\nflow X-Y from X to Y bytes 2MB message 128KiB "
        "window 2\n");

    ASSERT_EQ(run.sufferers.size(), 1u);
    EXPECT_EQ(run.sufferers[0].waits_at, run.port("S1", 3));
    EXPECT_EQ(run.sufferers[0].full, run.port("S3", 4));
}

// Three flows through one input get together what the fourth gets alone.
TEST(Suffering, TellsTurnsOfInputsFromVictims) {
    const Played run(
        "switch S1 8\nswitch S2 8\nhost A\nhost B\nhost C\nhost D\nhost E\n"
        "link A S1:1 4xSDR\nlink B S1:2 4xSDR\nlink C S1:3 4xSDR\nlink S1:4 S2:1 4xQDR\nlink D S2:2 4xSDR\n"
        "link E S2:3 4xSDR\n"
        "flow A-E from A to E endless message 128KiB window 2\nflow B-E from B to E endless message 128KiB window 2\n"
        "flow C-E from C to E endless message 128KiB window 2\nflow D-E from D to E endless message 128KiB window 2\n"
        "until 5ms\n");

    ASSERT_EQ(run.sufferers.size(), 3u);
    for (const Sufferer& sufferer : run.sufferers) {
        EXPECT_EQ(sufferer.cause, Cause::turns);
        EXPECT_EQ(sufferer.full, run.port("S2", 3));
    }
}

TEST(Suffering, TellsThrottledFlows) {
    const Played run(std::string(testbed) + "congestion threshold 15\ncongestion ccti_timer 300\n");

    ASSERT_EQ(run.sufferers.size(), 3u);
    for (const Sufferer& sufferer : run.sufferers) EXPECT_EQ(sufferer.cause, Cause::throttled);
}

TEST(Suffering, IsNotLookedForAtOtherLevelsOrInPatterns) {
    EXPECT_THAT(Played(std::string(testbed) + "level flow\n").sufferers, IsEmpty());
    EXPECT_THAT(Played("switch S 2\nhost A\nhost B\nlink A S:1\nlink B S:2\npattern ring\n").sufferers, IsEmpty());
}

TEST(Suffering, IsLeftToTheTroubleOfADeadlock) {
    std::string ring;
    for (int i = 0; i < 6; ++i)
        ring += fmt::format("switch S{0} 4\nhost A{0}\nhost B{0}\nlink A{0} S{0}:1\nlink B{0} S{0}:4\n", i);
    for (int i = 0; i < 6; ++i) ring += fmt::format("link S{}:2 S{}:3\n", i, (i + 1) % 6);
    for (int i = 0; i < 6; ++i)
        for (const char host : {'A', 'B'})
            ring += fmt::format("flow {0}{1} from {0}{1} to {0}{2} bytes 4MB window 4\n", host, i, (i + 2) % 6);
    const Played run(ring + "buffer 8KiB\nengine minhop\n");

    EXPECT_EQ(run.recording.state, State::deadlocked);
    EXPECT_THAT(run.sufferers, IsEmpty());
    EXPECT_FALSE(run.recording.trouble.empty());
}

}  // namespace
