// Holds with Loomband's parts and stops holding when what makes or frees victims is switched off.
#include <gtest/gtest.h>

#include <map>

#include "loom/congestion/routes.hpp"
#include "reproduce/broken_parts.hpp"
#include "reproduce/victims.hpp"

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
    for (const Row& row : result.rows) {
        const double mean = row.values.at(0).ours, slowest = row.values.at(1).ours;
        EXPECT_GT(slowest, mean / 10) << row.name;
        EXPECT_LE(slowest, mean * (1 + 1e-9)) << row.name;
    }
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

// Thresholds are counted in a sweep and grow with it; T_I is counted in sweeps and lasts as long as before.
TEST(ManagerPolicies, ALongerSweepKeepsWhatLasts) {
    const manager::Settings usual = small_settings({});

    const manager::Settings twice = with_sweep(usual, 2), quarter = with_sweep(usual, 0.25);

    EXPECT_EQ(twice.sweep, usual.sweep * 2);
    EXPECT_EQ(twice.wait, usual.wait * 2);
    EXPECT_EQ(twice.congestion, usual.congestion * 2);
    EXPECT_EQ(twice.data, usual.data * 2);
    EXPECT_EQ(twice.intervals * 2, usual.intervals);
    EXPECT_EQ(quarter.sweep * 4, usual.sweep);
    EXPECT_EQ(quarter.intervals, usual.intervals * 4);
}

// As victims.hpp says: a victim shares its first link with a contributor and no other with anybody, a bystander none.
TEST(VictimFlows, AreWhoTheyAreSaidToBe) {
    const Case meeting = incast(standard_parts(), Contributors::present);
    const congestion::Routes routes(*meeting.network.graph, *meeting.network.tables, meeting.network.placement);
    std::map<congestion::LinkIndex, unsigned> contributors, others;
    std::vector<std::vector<congestion::LinkIndex>> ways(meeting.roles.size());

    for (std::uint32_t i = 0; i < ways.size(); ++i) {
        ASSERT_EQ(routes.path(Rank{2 * i}, Rank{2 * i + 1}, ways[i]), congestion::Fate::arrives);
        for (const congestion::LinkIndex link : ways[i])
            ++(meeting.roles[i] == Role::contributor ? contributors : others)[link];
    }

    std::map<Role, unsigned> count;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        ++count[*meeting.roles[i]];
        if (meeting.roles[i] == Role::contributor) continue;
        for (std::size_t hop = 0; hop < ways[i].size(); ++hop) {
            const bool shared_with_contributors = meeting.roles[i] == Role::victim && hop == 0;
            EXPECT_EQ(contributors.contains(ways[i][hop]), shared_with_contributors) << i << " " << hop;
            EXPECT_EQ(others.at(ways[i][hop]), 1u) << i << " " << hop;
        }
    }
    EXPECT_EQ(count[Role::contributor], 24u);
    EXPECT_EQ(count[Role::victim], 24u);
    EXPECT_EQ(count[Role::bystander], 8u);
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
