// The congestion manager's experiments hold with Loomband's parts, and stop holding when a mechanism that they rest on
// is switched off.
#include <gtest/gtest.h>

#include "reproduce/broken_parts.hpp"
#include "reproduce/testbed.hpp"

namespace loom::reproduce {
namespace {

Parts without_credits() {
    return with_options([](sim::Options& options) { options.packet.flow_control = sim::FlowControl::infinite; });
}
Parts without_congestion_control() {
    return with_options([](sim::Options& options) { options.packet.congestion = {}; });
}
Parts without_shared_buffer() {
    return with_options([](sim::Options& options) { options.packet.buffer_use = sim::BufferUse::per_output; });
}
Parts without_throttling() {
    return with_options([](sim::Options& options) { options.packet.congestion.table.clear(); });
}
Parts with_settings(std::function<void(manager::Settings&)> change) {
    Parts parts = standard_parts();
    parts.manage = [change = std::move(change), manage = parts.manage](
                       const fabric::Fabric& fabric, fabric::CounterSource& counters,
                       fabric::CongestionParameters& parameters, fabric::Clock& clock, const manager::Settings& asked,
                       const manager::OnDecision& decided) {
        manager::Settings settings = asked;
        change(settings);
        return manage(fabric, counters, parameters, clock, settings, decided);
    };
    return parts;
}

void expect_all_hold(const Result& result) {
    for (const Row& row : result.rows) EXPECT_TRUE(result.holds(row)) << row.name;
    for (const Claim& claim : result.claims) EXPECT_TRUE(claim.holds) << claim.text;
    EXPECT_TRUE(result.holds());
}

// As the paper prints them, scaled down; counts of sweeps, rates and timers are not.
TEST(TheTestbed, HasThePapersSettings) {
    const manager::Settings settings = testbed_settings(12);
    const sim::Options options = testbed_options(75, 128);

    EXPECT_EQ(settings.congestion, 8'000'000u / 250);
    EXPECT_EQ(settings.wait, 27'400'000u / 250);
    EXPECT_EQ(settings.sweep, scaled_down(testbed_sweep));
    EXPECT_EQ(settings.intervals, 12u);
    EXPECT_EQ(settings.low, 0);
    EXPECT_EQ(settings.normal, 128);
    EXPECT_EQ(settings.policy, manager::Policy{});
    EXPECT_EQ(options.packet.congestion.switches.threshold, 15);
    EXPECT_EQ(options.packet.congestion.switches.marking_rate, 128);
    for (const sim::HostControl& host : options.packet.congestion.hosts) {
        EXPECT_EQ(host.ccti_timer, 75);
        EXPECT_EQ(host.ccti_increase, 1);
    }
}

TEST(DcmsExperiment1, Holds) {
    const Result result = dcms_experiment_1(standard_parts(), quick());

    expect_all_hold(result);
    EXPECT_EQ(result.rows.size(), 5u);
}

TEST(DcmsExperiment1, NeedsCredits) {
    EXPECT_FALSE(dcms_experiment_1(without_credits(), quick()).holds());
}

TEST(DcmsExperiment1, NeedsCongestionControl) {
    EXPECT_FALSE(dcms_experiment_1(without_congestion_control(), quick()).holds());
}

TEST(DcmsExperiment1, NeedsAdaptersThatThrottle) {
    EXPECT_FALSE(dcms_experiment_1(without_throttling(), quick()).holds());
}

TEST(DcmsExperiment1, NeedsTheSharedBuffer) {
    EXPECT_FALSE(dcms_experiment_1(without_shared_buffer(), quick()).holds());
}

TEST(DcmsExperiment1, NeedsTheTimer) {
    const Parts parts = with_options([](sim::Options& options) {
        for (sim::HostControl& host : options.packet.congestion.hosts) host.ccti_timer = 75;
    });

    EXPECT_FALSE(dcms_experiment_1(parts, quick()).holds());
}

// Said in the remarks: the rows at marking rate 0 rest on it.
TEST(DcmsExperiment1, NeedsAdaptersThatDoNotKeepStep) {
    const Parts parts = with_options([](sim::Options& options) { options.packet.congestion.jitter = 0; });

    const Result result = dcms_experiment_1(parts, quick());

    EXPECT_FALSE(result.holds(result.rows.at(0)));
    EXPECT_FALSE(result.holds());
}

// Each row at marking rate 0 counts, not the last alone.
TEST(DcmsExperiment1, OneRowThatWaitsIsEnough) {
    const Parts parts = with_options([](sim::Options& options) {
        sim::CongestionControl& control = options.packet.congestion;
        if (control.switches.marking_rate == 0 && control.hosts[0].ccti_timer == 75) control = {};
    });

    const Result result = dcms_experiment_1(parts, quick());

    EXPECT_GT(result.rows.at(0).values.at(3).ours, 1);
    const Claim& never_waits = result.claims.at(1);
    ASSERT_TRUE(never_waits.text.starts_with("marking rate 0: (S1, 15) never waits"));
    EXPECT_FALSE(never_waits.holds);
}

// How the random numbers fall decides nothing.
TEST(DcmsExperiment1, HoldsWithAnySeed) {
    for (const std::uint64_t seed : {2u, 3u}) {
        const Parts parts = with_options([&](sim::Options& options) { options.seed = seed; });

        EXPECT_TRUE(dcms_experiment_1(parts, quick()).holds()) << seed;
    }
}

TEST(DcmsExperiment2, Holds) {
    const Result result = dcms_experiment_2(standard_parts(), quick());

    expect_all_hold(result);
    EXPECT_EQ(result.rows.size(), 10u);
    EXPECT_TRUE(result.picture.has_value());
}

TEST(DcmsExperiment2, NeedsCredits) {
    EXPECT_FALSE(dcms_experiment_2(without_credits(), quick()).holds());
}

TEST(DcmsExperiment2, NeedsCongestionControl) {
    EXPECT_FALSE(dcms_experiment_2(without_congestion_control(), quick()).holds());
}

TEST(DcmsExperiment2, NeedsTheSharedBuffer) {
    EXPECT_FALSE(dcms_experiment_2(without_shared_buffer(), quick()).holds());
}

TEST(DcmsExperiment2, NeedsTheManager) {
    Parts parts = standard_parts();
    parts.manage = [](auto&&...) { return manager::Work{}; };

    EXPECT_FALSE(dcms_experiment_2(parts, quick()).holds());
}

TEST(DcmsExperiment2, EachLineOfThePaperAsPrintedFails) {
    using manager::Reading;
    const Parts victim = with_settings([](manager::Settings& s) { s.readings.victim = Reading::literal; });
    const Parts count = with_settings([](manager::Settings& s) { s.readings.count = Reading::literal; });
    const Parts restore = with_settings([](manager::Settings& s) { s.readings.restore = Reading::literal; });

    EXPECT_FALSE(dcms_experiment_2(victim, quick()).holds());
    EXPECT_FALSE(dcms_experiment_2(count, quick()).holds());
    EXPECT_FALSE(dcms_experiment_2(restore, quick()).holds());
}

TEST(DcmsExperiment2, NeedsBothDurations) {
    EXPECT_FALSE(dcms_experiment_2(with_settings([](manager::Settings& s) { s.intervals = 12; }), quick()).holds());
    EXPECT_FALSE(dcms_experiment_2(with_settings([](manager::Settings& s) { s.intervals = 6; }), quick()).holds());
}

}  // namespace
}  // namespace loom::reproduce
