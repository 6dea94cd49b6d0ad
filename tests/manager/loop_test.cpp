// The loop around the algorithm: trouble with a living fabric, policies, and what is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/manager/dcms.hpp"
#include "support/living.hpp"

namespace loom::manager {
namespace {

using test::FakeFabric;
using test::FakeParameters;
using test::Testbed;
using testing::ElementsAre;
using testing::HasSubstr;

class Loop : public testing::Test {
protected:
    Work run(const Settings& settings) {
        return run_manager(testbed.fabric, living, parameters, living, settings,
                           [&](const Decision& decision) { decisions.push_back(decision); });
    }
    [[nodiscard]] std::vector<What> story() const {
        std::vector<What> result;
        for (const Decision& decision : decisions) result.push_back(decision.what);
        return result;
    }
    [[nodiscard]] std::string line(std::size_t index, const Settings& settings = {}) const {
        return describe(decisions.at(index), testbed.fabric, settings);
    }

    Testbed testbed;
    FakeParameters parameters;
    FakeFabric living{testbed.behaviour(parameters, seconds(4.5), seconds(18), seconds(1000)), seconds(30)};
    std::vector<Decision> decisions;
};

TEST_F(Loop, ReadsEveryConnectedSwitchPortOnceASweep) {
    Settings settings = paper_settings();
    settings.sweeps = 4;

    const Work work = run(settings);

    EXPECT_EQ(work.sweeps, 4u);
    EXPECT_EQ(work.reads, 4u * 8u);  // 3 ports of S1, 5 of S2
    EXPECT_EQ(living.read_calls, 4u * 2u);
    EXPECT_THAT(living.slept, ElementsAre(seconds(1.5), seconds(1.5), seconds(1.5)));
}

TEST_F(Loop, LeavesNoPortLowWhenItStops) {
    Settings settings = paper_settings();
    settings.sweeps = 6;

    const Work work = run(settings);

    EXPECT_THAT(story(), ElementsAre(What::lower, What::restore));
    EXPECT_EQ(decisions[1].why, Why::stopped);
    EXPECT_EQ(parameters.rates.at(testbed.root.value), 128);
    EXPECT_EQ(work.writes, 2u);
    EXPECT_EQ(work.rate_reads, 1u);
}

TEST_F(Loop, LeavesNoPortLowWhenTheFabricGoesSilent) {
    living.broken = [](PortIndex, Time now) { return now > seconds(7); };

    EXPECT_THROW((void)run({}), Error);

    EXPECT_EQ(parameters.rates.at(testbed.root.value), 128);
    EXPECT_EQ(decisions.back().what, What::restore);
}

TEST_F(Loop, GivesUpAtOnceWhenNothingCanBeRead) {
    living.broken = [](PortIndex, Time) { return true; };

    EXPECT_THROW((void)run({}), Error);

    EXPECT_EQ(living.read_calls, 2u);
}

TEST_F(Loop, PassesOverASwitchThatDoesNotAnswer) {
    living.broken = [&](PortIndex port, Time now) {
        return testbed.fabric.port(port).node == testbed.s1 && now == seconds(6);
    };
    Settings settings = paper_settings();
    settings.sweeps = 7;

    const Work work = run(settings);

    EXPECT_EQ(work.missed, 3u);
    ASSERT_GE(decisions.size(), 3u);
    EXPECT_THAT(line(0), HasSubstr("6.000 s  S1 port 11: counters of its switch not read: no answer"));
    EXPECT_EQ(decisions[1].what, What::leave);  // congested at 6 s, and nobody known to wait
    EXPECT_EQ(decisions[2].what, What::lower);  // one sweep later
    EXPECT_EQ(decisions[2].time, seconds(7.5));
    EXPECT_EQ(decisions[2].victim_waited, 42'000'000u);  // 84,000,000 in the two sweeps since it was read
}

TEST_F(Loop, TriesARefusedPortAgainLater) {
    parameters.refuse = [](PortIndex, std::uint16_t rate) { return rate == 0; };
    Settings settings = paper_settings();
    settings.intervals = 4;

    const Work work = run(settings);

    EXPECT_EQ(work.lowered, 0u);
    EXPECT_EQ(work.writes, 0u);
    ASSERT_EQ(decisions.size(), 5u);  // at 6, 12, 18, 24, 30 s
    EXPECT_THAT(story(), testing::Each(What::refused));
    EXPECT_EQ(decisions[1].sweep - decisions[0].sweep, 4u);
    EXPECT_THAT(line(0), HasSubstr("S2 port 23: marking rate 128 -> 0 was refused: not on this switch"));
}

TEST_F(Loop, InsistsOnRestoring) {
    parameters.refuse = [&](PortIndex, std::uint16_t rate) { return rate == 128 && parameters.calls < 4; };
    Settings settings = paper_settings();
    settings.intervals = 3;
    settings.sweeps = 10;

    (void)run(settings);

    EXPECT_THAT(story(), testing::ElementsAre(What::lower, What::refused, What::refused, What::restore, What::lower,
                                              What::restore));
}

TEST_F(Loop, RestoresWhatItFoundWhenToldNoDefault) {
    parameters.rates[testbed.root.value] = 77;
    Settings settings = paper_settings();
    settings.normal = std::nullopt;
    settings.sweeps = 6;

    (void)run(settings);

    EXPECT_EQ(decisions[0].old_rate, 77);
    EXPECT_EQ(parameters.rates.at(testbed.root.value), 77);
}

TEST_F(Loop, EveryDecisionIsALineWithItsNumbers) {
    (void)run(paper_settings());

    ASSERT_GE(decisions.size(), 5u);
    EXPECT_EQ(line(0),
              "     6.000 s  S2 port 23: marking rate 128 -> 0: congested for 9,000,000 ticks (T_C 8,000,000), and S1 "
              "port 15 waited 42,000,000 ticks (T_W 27,400,000)");
    EXPECT_EQ(line(1), "    16.500 s  S2 port 23: marking rate 0 -> 128: low for 8 sweeps (T_I 8), 1 victim left");
    EXPECT_EQ(decisions[2].what, What::lower);
    EXPECT_EQ(line(3),
              "    19.500 s  S2 port 23: S1 port 15 is a victim no more: it sent 60,000,000 words after 270,000,000 "
              "(T_D 30,000,000); 0 victims left");
    EXPECT_EQ(line(4), "    19.500 s  S2 port 23: marking rate 0 -> 128: no victims are left after 2 sweeps");
}

TEST_F(Loop, TwoStepSweepsSlowlyUntilSomethingIsCongested) {
    Settings settings = paper_settings();
    settings.policy = *parse_policy("two-step");
    settings.calm_sweep = seconds(3);
    settings.sweeps = 5;

    (void)run(settings);

    EXPECT_THAT(living.slept, ElementsAre(seconds(3), seconds(3), seconds(3), seconds(1.5)));
    EXPECT_EQ(decisions[0].what, What::lower);
    EXPECT_EQ(decisions[0].time, seconds(9));
    EXPECT_EQ(decisions[0].congested, 9'000'000u);  // 18,000,000 in the slow sweep, which is two quick ones
}

TEST_F(Loop, HistoryReadsWhatWasCongestedAndItsNeighbours) {
    Settings settings = paper_settings();
    settings.policy = *parse_policy("history");
    settings.survey = 4;
    settings.sweeps = 12;

    const Work work = run(settings);

    // Sweeps 1, 2, 4, 8, 12 read all 8 ports; 3, 5, 6, 7 none; 9, 10, 11 the root and the port that faces its switch.
    EXPECT_EQ(work.reads, 5u * 8u + 3u * 2u);
    EXPECT_EQ(decisions[0].what, What::lower);
    EXPECT_EQ(decisions[0].sweep, 8u);
}

TEST_F(Loop, ProportionalMarksAsMuchAsVictimsWait) {
    Settings settings = paper_settings();
    settings.policy = *parse_policy("proportional");
    settings.sweeps = 7;

    (void)run(settings);

    // It waited 42,000,000 ticks of 22 ns in 1.5 s: 61.6 percent; a quarter of that is marked, 1/129 was before.
    ASSERT_GE(decisions.size(), 3u);
    EXPECT_EQ(decisions[0].new_rate, 5);
    EXPECT_EQ(decisions[1].what, What::mark_more);  // nothing but 0 does on this testbed
    EXPECT_EQ(decisions[1].new_rate, 2);
    EXPECT_THAT(line(1), HasSubstr("marking rate 5 -> 2: S1 port 15 waited 42,000,000 ticks (T_W 27,400,000) still"));
}

TEST_F(Loop, BackoffTriesLessAndLessOftenWhereThereIsNoVictimFlow) {
    living = FakeFabric(testbed.behaviour(parameters, seconds(4.5), Time{}, seconds(1000)), seconds(60));
    Settings settings = paper_settings();
    settings.policy = *parse_policy("backoff");
    settings.longest_backoff = 4;

    (void)run(settings);

    std::vector<std::uint64_t> lowered;
    for (const Decision& decision : decisions)
        if (decision.what == What::lower) lowered.push_back(decision.sweep);
    // Low for one sweep, then left alone for 2, 4, 4, ... sweeps.
    EXPECT_THAT(lowered, ElementsAre(5, 9, 15, 21, 27, 33, 39));
}

TEST_F(Loop, BackoffForgetsWhenThereWasAVictimFlow) {
    Settings settings = paper_settings();
    settings.policy = *parse_policy("backoff");

    (void)run(settings);

    ASSERT_GE(decisions.size(), 3u);
    EXPECT_EQ(decisions[1].why, Why::duration);
    EXPECT_EQ(decisions[2].what, What::lower);
    EXPECT_EQ(decisions[2].sweep, decisions[1].sweep + 1);
}

TEST(Policies, HaveNames) {
    std::vector<std::string> names(policy_names().begin(), policy_names().end());
    EXPECT_THAT(names, testing::ElementsAre("paper", "two-step", "history", "proportional", "backoff"));
    names.emplace_back("two-step+history+proportional+backoff");
    for (const std::string& name : names) {
        const auto policy = parse_policy(name);

        ASSERT_TRUE(policy.has_value()) << name;
        EXPECT_EQ(to_string(*policy), name);
    }
    for (const char* name : {"", "+", "paper+history", "history+", "Paper"}) EXPECT_FALSE(parse_policy(name)) << name;
}

TEST(OutOfReach, IsAThresholdThatASweepHasNotTheTicksFor) {
    Settings settings;
    settings.sweep = milliseconds(15);  // a hundredth of the default
    settings.wait = 1000;

    EXPECT_FALSE(out_of_reach(settings, &Settings::wait, microseconds(1)).has_value());
    settings.wait = 15'000;
    const auto found = out_of_reach(settings, &Settings::wait, microseconds(1));

    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->threshold, 15'000u);
    EXPECT_EQ(found->ticks, 15'000u);
    EXPECT_EQ(found->as_usual, 274'000u);
}

TEST(SettingsCheck, RefusesNonsense) {
    const auto refuses = [](auto&& change) {
        Settings settings = paper_settings();
        change(settings);
        EXPECT_THROW(check(settings), UsageError);
    };

    EXPECT_NO_THROW(check({}));
    refuses([](Settings& s) { s.sweep = {}; });
    refuses([](Settings& s) { s.intervals = 0; });
    refuses([](Settings& s) { s.low = 129; });
    refuses([](Settings& s) { s.policy.sweeping = Sweeping::two_step, s.calm_sweep = seconds(1); });
    refuses([](Settings& s) { s.policy.attention = Attention::history, s.survey = 0; });
    refuses([](Settings& s) { s.policy.marking = Marking::proportional, s.tick = {}; });
    refuses([](Settings& s) { s.policy.marking = Marking::proportional, s.gain = 0; });
    refuses([](Settings& s) { s.policy.patience = Patience::backoff, s.longest_backoff = 0; });
}

TEST(SettingsCheck, TakesWhatIsJustSensible) {
    const auto takes = [](auto&& change) {
        Settings settings = paper_settings();
        change(settings);
        EXPECT_NO_THROW(check(settings));
    };

    takes([](Settings& s) { s.intervals = 1; });
    takes([](Settings& s) { s.low = 128; });
    takes([](Settings& s) { s.policy.sweeping = Sweeping::two_step, s.calm_sweep = s.sweep; });
    takes([](Settings& s) { s.policy.attention = Attention::history, s.survey = s.memory = 1; });
    takes([](Settings& s) { s.policy.marking = Marking::proportional, s.gain = 1; });
    takes([](Settings& s) { s.policy.patience = Patience::backoff, s.longest_backoff = 1; });
}

TEST(SettingsCheck, AFabricWithoutSwitchPortsIsRefused) {
    fabric::Fabric fabric;
    (void)fabric.add_node(fabric::NodeKind::switch_, 4, "alone");
    FakeParameters parameters;
    FakeFabric living([](Time, auto&) {}, seconds(10));

    EXPECT_THROW((void)run_manager(fabric, living, parameters, living, {}, {}), Error);
}

TEST(SettingsText, ComesBackAsItWent) {
    Settings settings;
    set(settings, "sweep", "13.3ms");
    set(settings, "congestion", "80000");
    set(settings, "default", "found");
    set(settings, "policy", "history+two-step");
    set(settings, "as-printed", "restore,victim");

    EXPECT_EQ(settings.sweep, microseconds(13'300));
    EXPECT_EQ(settings.congestion, 80'000u);
    EXPECT_EQ(settings.normal, std::nullopt);
    EXPECT_EQ(settings.readings, (Readings{Reading::literal, Reading::corrected, Reading::literal}));
    Settings again;
    for (const SettingInfo& info : setting_keys()) set(again, info.key, get(settings, info.key));
    for (const SettingInfo& info : setting_keys()) EXPECT_EQ(get(again, info.key), get(settings, info.key));
}

TEST(SettingsText, SaysWhatWasExpected) {
    const auto refused = [](const char* key, const char* value) -> std::string {
        Settings settings = paper_settings();
        try {
            set(settings, key, value);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "taken";
    };

    EXPECT_THAT(refused("speed", "1"), HasSubstr("expected a setting of the manager (sweep, congestion, "));
    EXPECT_EQ(refused("sweep", "fast"), "sweep: expected a time like 1.5s or 200us, got \"fast\"");
    EXPECT_EQ(refused("low", "65536"), "low: expected a whole number from 0 to 65535, got \"65536\"");
    EXPECT_EQ(refused("intervals", "0"), "intervals: expected a whole number from 1 to 4294967295, got \"0\"");
    EXPECT_EQ(refused("gain", "2"), "gain: expected a number above 0, at most 1, got \"2\"");
    EXPECT_THAT(refused("gain", "nan"), HasSubstr("above 0"));
    EXPECT_THAT(refused("policy", "best"), HasSubstr("policy: expected paper, or two-step"));
    EXPECT_THAT(refused("as-printed", "victim,"), HasSubstr("as-printed: expected victim, count, restore"));
}

}  // namespace
}  // namespace loom::manager
