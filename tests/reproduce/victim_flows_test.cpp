// Holds with Loomband's parts and stops holding when what makes or frees victims is switched off.
#include <gtest/gtest.h>

#include "reproduce/broken_parts.hpp"

namespace loom::reproduce {
namespace {

bool claim(const Result& result, std::string_view begins) {
    for (const Claim& claim : result.claims)
        if (claim.text.starts_with(begins)) return claim.holds;
    ADD_FAILURE() << "no claim begins with " << begins;
    return false;
}

TEST(VictimFlows, Holds) {
    const Result result = victim_flows(standard_parts(), quick());

    EXPECT_EQ(result.rows.size(), 6u);
    for (const Claim& claim : result.claims) EXPECT_TRUE(claim.holds) << claim.text;
    EXPECT_TRUE(result.holds());
    EXPECT_TRUE(result.picture.has_value());
}

TEST(VictimFlows, WithoutCreditsThereAreNoVictims) {
    const Result result = victim_flows(
        with_options([](sim::Options& options) { options.packet.flow_control = sim::FlowControl::infinite; }), quick());

    EXPECT_FALSE(result.holds());
    EXPECT_FALSE(claim(result, "without congestion control"));
}

TEST(VictimFlows, WithABufferForEachOutputThereAreNoVictims) {
    const Result result = victim_flows(
        with_options([](sim::Options& options) { options.packet.buffer_use = sim::BufferUse::per_output; }), quick());

    EXPECT_FALSE(result.holds());
    EXPECT_FALSE(claim(result, "without congestion control"));
}

TEST(VictimFlows, WithoutThrottlingNobodyIsFreed) {
    const Result result =
        victim_flows(with_options([](sim::Options& options) { options.packet.congestion.table.clear(); }), quick());

    EXPECT_FALSE(result.holds());
    EXPECT_TRUE(claim(result, "without congestion control"));
    EXPECT_FALSE(claim(result, "with DCMS"));
}

// The two cases of the testbed; the third is victim-flows' own.
TEST(ManagerPolicies, TheDefaultHolds) {
    const Result result = manager_policies(standard_parts(), quick());

    EXPECT_EQ(result.rows.size(), 26u);
    for (const Claim& claim : result.claims) EXPECT_TRUE(claim.holds) << claim.text;
    EXPECT_TRUE(result.holds());
}

TEST(ManagerPolicies, DoNotHoldWhenAllAreThePapers) {
    Parts parts = standard_parts();
    parts.manage = [manage = parts.manage](const fabric::Fabric& fabric, fabric::CounterSource& counters,
                                           fabric::CongestionParameters& parameters, fabric::Clock& clock,
                                           const manager::Settings& asked, const manager::OnDecision& decided) {
        manager::Settings settings = asked;
        settings.policy = {};
        return manage(fabric, counters, parameters, clock, settings, decided);
    };

    EXPECT_FALSE(manager_policies(parts, quick()).holds());
}

}  // namespace
}  // namespace loom::reproduce
