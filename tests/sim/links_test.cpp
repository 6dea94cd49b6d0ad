#include "loom/sim/links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "loom/sim/setup.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::HasSubstr;
using testing::IsEmpty;

// Two switches: A, B and C send to D; X sends to Y over the link that A uses too. Ranks are numbered flow by flow.
constexpr const char* testbed =
    "switch S1 24\nswitch S2 24\nhost A\nhost X\nhost B\nhost C\nhost D\nhost Y\n"
    "link A S1:12 4xSDR\nlink X S1:11 4xSDR\nlink B S2:1 4xSDR\nlink C S2:2 4xSDR\nlink D S2:23 4xSDR\n"
    "link Y S2:24 4xSDR\nlink S1:15 S2:20 4xQDR\n"
    "flow A-D from A to D bytes 2MB message 128KiB window 2\nflow B-D from B to D bytes 2MB message 128KiB window 2\n"
    "flow C-D from C to D bytes 2MB message 128KiB window 2\nflow X-Y from X to Y bytes 2MB message 128KiB window 2\n";

struct Played {
    explicit Played(Level level) : setup(set_up(parse_scenario(testbed, "test"))) {
        simulation = make_simulation(level, setup->network(), setup->schedule, setup->options);
        (void)simulation->advance(never);
        answers = look_at_links(setup->network(), setup->options, *simulation);
    }
    std::unique_ptr<Setup> setup;
    std::unique_ptr<Simulation> simulation;
    LinkAnswers answers;
};

TEST(Links, NamesTheHottestWithBothEnds) {
    const Played run(Level::packet);

    ASSERT_FALSE(run.answers.hottest.empty());
    const LinkUse& hottest = run.answers.hottest.front();
    EXPECT_EQ(hottest.from, "S2 port 23");
    EXPECT_EQ(hottest.to, "D port 1");
    EXPECT_GT(hottest.bytes, 6'000'000u);
    EXPECT_GT(hottest.busy, 0.9);
    EXPECT_EQ(run.answers.busy[hottest.port.value], hottest.busy);
}

TEST(Links, NamesTheVictimAndBehindWhomItWaits) {
    const Played run(Level::packet);

    const auto jam = std::find_if(run.answers.jams.begin(), run.answers.jams.end(),
                                  [](const Jam& each) { return each.cause == Cause::behind; });
    ASSERT_NE(jam, run.answers.jams.end());
    EXPECT_EQ(jam->waits_at_name, "S1 port 15");
    EXPECT_EQ(jam->full_name, "S2 port 23");
    EXPECT_EQ(jam->victim_count, 1u);
    ASSERT_EQ(jam->victims.size(), 1u);
    EXPECT_EQ(jam->victims[0].from, Rank{6});  // X
    EXPECT_EQ(jam->victims[0].to, Rank{7});
    ASSERT_EQ(jam->behind.size(), 1u);
    EXPECT_EQ(jam->behind[0].from, Rank{0});  // A
    EXPECT_EQ(jam->behind[0].bytes, 2'000'000u);
    EXPECT_GT(jam->waited, Time{});
    EXPECT_GT(jam->share, 0.1);
    EXPECT_THAT(describe(*jam), HasSubstr("behind packets for S2 port 23: 6 -> 7, behind 0 -> 1"));
}

TEST(Links, TheFlowLevelKnowsNoJams) {
    const Played run(Level::flow);

    ASSERT_FALSE(run.answers.hottest.empty());
    EXPECT_EQ(run.answers.hottest.front().from, "S2 port 23");
    EXPECT_THAT(run.answers.jams, IsEmpty());
    EXPECT_THAT(run.answers.remarks, testing::ElementsAre(HasSubstr("flow level")));
}

TEST(Links, TheMessageLevelKnowsNoLinks) {
    const Played run(Level::message);

    EXPECT_THAT(run.answers.hottest, IsEmpty());
    EXPECT_THAT(run.answers.jams, IsEmpty());
}

}  // namespace
