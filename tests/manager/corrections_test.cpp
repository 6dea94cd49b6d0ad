// Three places in which the printed algorithm cannot work: each as printed, failing, beside the corrected one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/manager/dcms.hpp"
#include "support/living.hpp"

namespace loom::manager {
namespace {

using test::FakeFabric;
using test::FakeParameters;
using test::Testbed;

struct Story {
    std::vector<Decision> decisions;
    Work work;
    std::uint16_t rate_at_end = 0;  // before the manager stops

    [[nodiscard]] std::vector<std::pair<What, std::uint64_t>> story() const {
        std::vector<std::pair<What, std::uint64_t>> result;
        for (const Decision& decision : decisions)
            if (decision.why != Why::stopped) result.emplace_back(decision.what, decision.sweep);
        return result;
    }
    [[nodiscard]] std::size_t count(What what) const {
        std::size_t result = 0;
        for (const auto& [one, sweep] : story()) result += one == what ? 1 : 0;
        return result;
    }
};

// Contributors from 4.5 s to the end; the victim flow ends at `victim_ends`.
Story play(const Settings& settings, double victim_ends = 1000) {
    const Testbed testbed;
    FakeParameters parameters;
    FakeFabric living(testbed.behaviour(parameters, seconds(4.5), seconds(victim_ends), seconds(1000)), seconds(150));
    Story run;
    run.work = run_manager(testbed.fabric, living, parameters, living, settings, [&](const Decision& decision) {
        if (decision.why == Why::stopped) run.rate_at_end = decision.old_rate;
        run.decisions.push_back(decision);
    });
    return run;
}

TEST(Corrections, AVictimFacesAnyPortOfTheCongestedSwitch) {
    Settings printed = paper_settings();
    printed.readings.victim = Reading::literal;

    const Story literal = play(printed);
    const Story corrected = play(paper_settings());

    EXPECT_EQ(literal.work.lowered, 0u);  // (S1, 15) faces (S2, 20), never (S2, 23)
    ASSERT_FALSE(corrected.decisions.empty());
    EXPECT_EQ(corrected.decisions.front().what, What::lower);
    EXPECT_EQ(corrected.decisions.front().port, Testbed().root);
    EXPECT_EQ(corrected.decisions.front().victim, Testbed().victim);
}

TEST(Corrections, ALoweredPortIsPassedOverOnce) {
    Settings printed = paper_settings();
    printed.readings.count = Reading::literal;

    const Story literal = play(printed);
    const Story corrected = play(paper_settings());

    EXPECT_EQ(literal.count(What::lower), 1u);
    EXPECT_EQ(literal.count(What::restore), 0u);  // 97 sweeps later its count is still 1
    EXPECT_EQ(literal.decisions.back().intervals, 1u);
    ASSERT_GE(corrected.decisions.size(), 2u);
    EXPECT_EQ(corrected.decisions[1].what, What::restore);
    EXPECT_EQ(corrected.decisions[1].why, Why::duration);
    EXPECT_EQ(corrected.decisions[1].sweep - corrected.decisions[0].sweep, Settings{}.intervals - 1);
}

TEST(Corrections, RestoringClearsWhatASecondCycleNeeds) {
    Settings printed = paper_settings();
    printed.readings.restore = Reading::literal;

    const Story literal = play(printed);
    const Story corrected = play(paper_settings());

    EXPECT_EQ(literal.count(What::lower), 1u);  // the victim is known already, and known victims start nothing
    EXPECT_EQ(literal.count(What::restore), 1u);
    EXPECT_GE(corrected.count(What::lower), 10u);
    EXPECT_GE(corrected.count(What::restore), 10u);
}

TEST(Corrections, TheDurationMayBeOneSweep) {
    Settings one = paper_settings();
    one.intervals = 1;
    Settings printed = one;
    printed.readings.restore = Reading::literal;

    const Story literal = play(printed);
    const Story corrected = play(one);

    EXPECT_EQ(literal.count(What::restore), 0u);  // the count is 2 when it is first compared with 1
    EXPECT_GE(corrected.count(What::restore), 10u);
}

TEST(Corrections, AsPrintedNothingEverHappens) {
    Settings printed = paper_settings();
    printed.readings = as_printed();

    const Story run = play(printed);

    EXPECT_EQ(run.work.writes, 0u);
}

TEST(Dcms, EndsAnEventWhenTheVictimFlowEnds) {
    const Story run = play(paper_settings(), 12);

    const auto story = run.story();
    ASSERT_GE(story.size(), 3u);
    EXPECT_EQ(story[0], (std::pair{What::lower, std::uint64_t{5}}));  // contributors from 4.5 s, seen at 6 s
    EXPECT_EQ(story[1].first, What::drop_victim);
    EXPECT_EQ(story[2].first, What::restore);
    EXPECT_EQ(run.decisions[2].why, Why::no_victims);
    EXPECT_EQ(run.decisions[2].time, run.decisions[1].time);
}

TEST(Dcms, RestoresSoonWhereAVictimPortCarriesNoVictimFlow) {
    const Story run = play(paper_settings(), 0);

    const auto story = run.story();
    ASSERT_GE(story.size(), 3u);
    EXPECT_EQ(story[1], (std::pair{What::drop_victim, story[0].second + 1}));  // the port slackened: only contributors
    EXPECT_EQ(story[2], (std::pair{What::restore, story[0].second + 1}));
}

TEST(Dcms, LeavesLocalisedCongestionAlone) {
    const Testbed testbed;
    FakeParameters parameters;
    FakeFabric living([&](Time, auto& speed) { speed[testbed.root.value].xmit_cong_time = 6'000'000; }, seconds(30));
    std::vector<Decision> decisions;

    const Work work = run_manager(testbed.fabric, living, parameters, living, {},
                                  [&](const Decision& decision) { decisions.push_back(decision); });

    EXPECT_EQ(work.writes, 0u);
    EXPECT_EQ(work.left, 1u);
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_EQ(decisions[0].what, What::leave);
    EXPECT_EQ(decisions[0].congested, 9'000'000u);
}

TEST(Dcms, ASlowHostIsCongestionToo) {
    const Testbed testbed;
    FakeParameters parameters;
    FakeFabric living(
        [&](Time, auto& speed) {
            speed[testbed.root.value].xmit_wait = 28'000'000;
            speed[testbed.victim.value].xmit_wait = 28'000'000;
        },
        seconds(10));
    std::vector<Decision> decisions;

    (void)run_manager(testbed.fabric, living, parameters, living, {},
                      [&](const Decision& decision) { decisions.push_back(decision); });

    ASSERT_FALSE(decisions.empty());
    EXPECT_EQ(decisions[0].what, What::lower);
    EXPECT_EQ(decisions[0].why, Why::host_waits);
    EXPECT_EQ(decisions[0].port, testbed.root);
}

}  // namespace
}  // namespace loom::manager
