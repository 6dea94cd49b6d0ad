// Holds with Loomband's parts and stops holding when a mechanism that it rests on is switched off.
#include <gtest/gtest.h>

#include "reproduce/broken_parts.hpp"

namespace loom::reproduce {
namespace {

TEST(ZahaviFigure6, Holds) {
    const Result result = zahavi_figure_6(standard_parts(), quick());

    EXPECT_EQ(result.rows.size(), 9u);
    for (const Row& row : result.rows) EXPECT_TRUE(result.holds(row)) << row.name;
    for (const Claim& claim : result.claims) EXPECT_TRUE(claim.holds) << claim.text;
    EXPECT_TRUE(result.holds());
    EXPECT_TRUE(result.picture.has_value());
}

// Reductions hardly differ between the two speeds; times do.
TEST(ZahaviFigure6, DdrLinksTakeHalfTheTime) {
    const Result result = zahavi_figure_6(standard_parts(), quick());

    ASSERT_EQ(result.columns.at(1).name, "SDR ftree, us");
    ASSERT_EQ(result.columns.at(4).name, "DDR ftree, us");
    for (const Row& row : result.rows) {
        EXPECT_NEAR(row.values.at(4).ours / row.values.at(1).ours, 0.5, 0.05) << row.name;
        EXPECT_NEAR(row.values.at(5).ours / row.values.at(2).ours, 0.5, 0.05) << row.name;
    }
}

TEST(ZahaviFigure6, DoesNotHoldWithOneRoutingForBoth) {
    EXPECT_FALSE(zahavi_figure_6(with_engine("ftree", "minhop"), quick()).holds());
    EXPECT_FALSE(zahavi_figure_6(with_engine("minhop", "ftree"), quick()).holds());
}

TEST(ZahaviFigure6, DoesNotHoldWithRandomRoutes) {
    EXPECT_FALSE(zahavi_figure_6(with_engine("ftree", "random"), quick()).holds());
}

// Row 12 is the tree that Figure 5 might be taken for; minimum-hop routing is worse there.
TEST(ZahaviFigure6, DoesNotHoldOnTheOtherHalfTree) {
    Parts parts = standard_parts();
    parts.tree = [](const fabric::TreePreset&) { return fabric::zahavi_table1().at(11).make(); };

    EXPECT_FALSE(zahavi_figure_6(parts, quick()).holds());
}

TEST(ZahaviFigure6, DoesNotHoldWhenPacketsChooseTheirPath) {
    const Parts parts = with_options([](sim::Options& options) { options.packet.paths = sim::PathChoice::adaptive; });

    EXPECT_FALSE(zahavi_figure_6(parts, quick()).holds());
}

// With turns of a packet, long messages do not cross each other's paths one after the other.
TEST(ZahaviFigure6, DoesNotHoldWhenMessagesLeaveTogether) {
    const Parts parts = with_options([](sim::Options& options) { options.packet.host_turns = sim::HostTurns::packet; });

    EXPECT_FALSE(zahavi_figure_6(parts, quick()).holds());
}

// 31 messages on the way from each host find room in 32 KiB buffers nearly always: the load decides.
TEST(ZahaviFigure6, IsHardlyMovedByCredits) {
    const Result with = zahavi_figure_6(standard_parts(), quick());

    const Result without = zahavi_figure_6(
        with_options([](sim::Options& options) { options.packet.flow_control = sim::FlowControl::infinite; }), quick());

    for (std::size_t r = 0; r < with.rows.size(); ++r)
        for (const std::size_t column : {0u, 3u})
            EXPECT_NEAR(with.rows[r].values[column].ours, without.rows[r].values[column].ours, 0.1);
}

}  // namespace
}  // namespace loom::reproduce
