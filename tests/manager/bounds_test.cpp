// Where a choice of the manager begins and ends: the last sweep that counts, the least and the most it marks, the port
// it names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/manager/dcms.hpp"
#include "support/living.hpp"

namespace loom::manager {
namespace {

using test::FakeFabric;
using test::FakeParameters;
using test::Testbed;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;

// A manager that is led by hand: what each port counts in a sweep, and one port's counters at rest everywhere else.
class ByHand {
public:
    ByHand(const fabric::Fabric& fabric, const Settings& settings) : dcms(fabric, settings), sweep_(settings.sweep) {}

    void sweep(const std::map<std::uint32_t, fabric::PortCounters>& counted = {}) {
        const std::vector<PortIndex> wanted(dcms.wanted().begin(), dcms.wanted().end());
        for (const auto& [port, more] : counted) {
            totals_[port].xmit_cong_time += more.xmit_cong_time;
            totals_[port].xmit_wait += more.xmit_wait;
            totals_[port].xmit_data += more.xmit_data;
        }
        for (const PortIndex port : wanted) dcms.observe(port, now_, totals_[port.value]);
        decisions.clear();
        dcms.judge(now_, parameters, [&](const Decision& decision) { decisions.push_back(decision); });
        now_ += sweep_;
    }

    Dcms dcms;
    FakeParameters parameters;
    std::vector<Decision> decisions;  // of the last sweep

private:
    Time sweep_;
    Time now_;
    std::map<std::uint32_t, fabric::PortCounters> totals_;
};

fabric::PortCounters congested() {
    fabric::PortCounters counters;
    counters.xmit_cong_time = 9'000'000;
    return counters;
}
fabric::PortCounters waiting(std::uint64_t ticks) {
    fabric::PortCounters counters;
    counters.xmit_wait = ticks;
    return counters;
}

TEST(Bounds, HistoryRemembersForSoManySweeps) {
    const Testbed testbed;
    Settings settings;
    settings.policy = *parse_policy("history");
    settings.memory = 2;
    settings.survey = 1000;
    ByHand manager(testbed.fabric, settings);
    manager.sweep();
    manager.sweep({{testbed.root.value, congested()}});

    const std::vector<PortIndex> third(manager.dcms.wanted().begin(), manager.dcms.wanted().end());
    manager.sweep();
    const std::vector<PortIndex> fourth(manager.dcms.wanted().begin(), manager.dcms.wanted().end());
    manager.sweep();
    const std::vector<PortIndex> fifth(manager.dcms.wanted().begin(), manager.dcms.wanted().end());

    EXPECT_THAT(third, Contains(testbed.root));
    EXPECT_THAT(fourth, Contains(testbed.root));
    EXPECT_THAT(fifth, IsEmpty());
}

TEST(Bounds, TwoStepSweepsQuicklyWhileAPortIsLow) {
    const Testbed testbed;
    Settings settings;
    settings.policy = *parse_policy("two-step");
    settings.intervals = 3;
    ByHand manager(testbed.fabric, settings);
    manager.sweep();
    manager.sweep({{testbed.root.value, congested()}, {testbed.victim.value, waiting(30'000'000)}});

    std::vector<Time> intervals{manager.dcms.interval()};
    for (int i = 0; i < 2; ++i) {  // nothing is congested any more; the second restores
        manager.sweep();
        intervals.push_back(manager.dcms.interval());
    }

    EXPECT_THAT(intervals, ElementsAre(settings.sweep, settings.sweep, settings.calm_sweep));
    ASSERT_EQ(manager.decisions.size(), 1u);
    EXPECT_EQ(manager.decisions[0].what, What::restore);
}

// Half of a wait is worth a rate of 5 where 128 is usual; this port marks every fourth packet already.
TEST(Bounds, ProportionalNeverMarksLessThanItFound) {
    const Testbed testbed;
    Settings settings;
    settings.policy = *parse_policy("proportional");
    settings.normal = 128;
    ByHand manager(testbed.fabric, settings);
    manager.parameters.rates[testbed.root.value] = 3;
    manager.sweep();

    manager.sweep({{testbed.root.value, congested()}, {testbed.victim.value, waiting(42'000'000)}});

    ASSERT_EQ(manager.decisions.size(), 1u);
    EXPECT_EQ(manager.decisions[0].what, What::lower);
    EXPECT_EQ(manager.decisions[0].new_rate, 3);
    EXPECT_EQ(manager.parameters.rates.at(testbed.root.value), 3);
}

TEST(Bounds, ProportionalMarksNoMoreThanTheLowRate) {
    const Testbed testbed;
    FakeParameters parameters;
    FakeFabric living(testbed.behaviour(parameters, seconds(4.5), seconds(18), seconds(1000)), seconds(30));
    std::vector<std::uint16_t> asked;
    parameters.refuse = [&](PortIndex, std::uint16_t rate) {
        asked.push_back(rate);
        return false;
    };
    Settings settings;
    settings.policy = *parse_policy("proportional");
    settings.gain = 1;
    settings.low = 1;

    (void)run_manager(testbed.fabric, living, parameters, living, settings, {});

    EXPECT_THAT(asked, Contains(1));
    EXPECT_THAT(asked, Each(Ge(1)));
}

TEST(Bounds, TheVictimThatWaitedLongestIsNamedAndTheOthersBesideIt) {
    Testbed testbed;
    const NodeId s3 = testbed.fabric.add_node(fabric::NodeKind::switch_, 36, "S3");
    testbed.fabric.connect(s3, PortNum{15}, testbed.s2, PortNum{19});
    const PortIndex other = testbed.fabric.port_index(s3, PortNum{15});
    ByHand manager(testbed.fabric, {});
    manager.sweep();

    manager.sweep({{testbed.root.value, congested()},
                   {testbed.victim.value, waiting(30'000'000)},
                   {other.value, waiting(40'000'000)}});

    ASSERT_EQ(manager.decisions.size(), 2u);
    EXPECT_EQ(manager.decisions[0].what, What::lower);
    EXPECT_EQ(manager.decisions[0].victim, other);
    EXPECT_EQ(manager.decisions[0].victim_waited, 40'000'000u);
    EXPECT_EQ(manager.decisions[1].what, What::add_victim);
    EXPECT_EQ(manager.decisions[1].victim, testbed.victim);
}

TEST(Bounds, ThreeSilentSweepsInARowAreTooMany) {
    const Testbed testbed;
    FakeParameters parameters;
    FakeFabric silent([](Time, auto&) {}, seconds(30));
    silent.broken = [](PortIndex, Time now) { return now > seconds(1); };
    FakeFabric stutters([](Time, auto&) {}, seconds(30));
    stutters.broken = [](PortIndex, Time now) { return now.ps / seconds(1.5).ps % 3 != 0; };

    EXPECT_THROW((void)run_manager(testbed.fabric, silent, parameters, silent, {}, {}), Error);
    const Work work = run_manager(testbed.fabric, stutters, parameters, stutters, {}, {});

    EXPECT_EQ(silent.read_calls, 4u * 2u);  // two switches, in one sweep that answers and three that do not
    EXPECT_EQ(work.sweeps, 21u);
    EXPECT_EQ(work.missed, 14u * 8u);
}

// Every switch takes a while to answer.
class SlowFabric : public fabric::CounterSource, public fabric::Clock {
public:
    void read(std::span<const PortIndex>, std::span<fabric::PortCounters>) override { now_ += seconds(0.2); }
    Time now() override { return now_; }
    bool sleep_until(Time time) override {
        woken.push_back(time);
        now_ = time;
        return true;
    }

    std::vector<Time> woken;

private:
    Time now_;
};

TEST(Bounds, SweepsBeginAtEvenIntervalsHoweverLongReadingTakes) {
    const Testbed testbed;
    FakeParameters parameters;
    SlowFabric slow;
    Settings settings;
    settings.policy = {};
    settings.sweep = seconds(1.5);
    settings.sweeps = 4;

    (void)run_manager(testbed.fabric, slow, parameters, slow, settings, {});

    EXPECT_THAT(slow.woken, ElementsAre(seconds(1.5), seconds(3), seconds(4.5)));
}

TEST(Bounds, ASweepShorterThanItsReadingsBeginsTheNextAtOnce) {
    const Testbed testbed;
    FakeParameters parameters;
    SlowFabric slow;
    Settings settings;
    settings.policy = {};
    settings.sweep = seconds(0.3);
    settings.sweeps = 3;

    (void)run_manager(testbed.fabric, slow, parameters, slow, settings, {});

    EXPECT_THAT(slow.woken, ElementsAre(seconds(0.4), seconds(0.8)));
}

// Nothing can be said of a span without length: the second of two reads at one moment is as if it had not been.
TEST(Bounds, AReadAtTheSameMomentIsNotCompared) {
    const Testbed testbed;
    Settings settings;
    Dcms dcms(testbed.fabric, settings);
    FakeParameters parameters;
    std::vector<Decision> decisions;
    const auto read = [&](Time when, std::uint64_t ticks) {
        dcms.observe(testbed.victim, when, waiting(ticks));
        dcms.observe(testbed.root, when, ticks == 0 ? fabric::PortCounters{} : congested());
    };
    read(Time{}, 0);
    dcms.judge(Time{}, parameters, {});

    read(Time{}, 30'000'000);
    dcms.judge(Time{}, parameters, [&](const Decision& decision) { decisions.push_back(decision); });
    const std::size_t at_once = decisions.size();
    read(settings.sweep, 30'000'000);
    dcms.judge(settings.sweep, parameters, [&](const Decision& decision) { decisions.push_back(decision); });

    EXPECT_EQ(at_once, 0u);
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_EQ(decisions[0].what, What::lower);
    EXPECT_EQ(decisions[0].victim_waited, 30'000'000u);
}

}  // namespace
}  // namespace loom::manager
