// Holds with Loomband's parts and stops holding when one of them is broken.
#include <gtest/gtest.h>

#include "reproduce/broken_parts.hpp"

namespace loom::reproduce {
namespace {

TEST(ZahaviTable1, Holds) {
    const Result result = zahavi_table_1(standard_parts(), {});

    EXPECT_EQ(result.rows.size(), 21u);
    for (const Row& row : result.rows) EXPECT_TRUE(result.holds(row)) << row.name;
    EXPECT_TRUE(result.holds());
}

TEST(ZahaviTable1, DoesNotHoldWithRandomRoutes) {
    EXPECT_FALSE(zahavi_table_1(with_engine("ftree", "random"), quick()).holds());
}

TEST(ZahaviTable1, DoesNotHoldWithMinimumHopRoutes) {
    EXPECT_FALSE(zahavi_table_1(with_engine("ftree", "minhop"), quick()).holds());
}

TEST(ZahaviTable1, DoesNotHoldWithOtherRoutesForMinimumHop) {
    EXPECT_FALSE(zahavi_table_1(with_engine("minhop", "ftree"), quick()).holds());
}

TEST(ZahaviTable1, DoesNotHoldWithABrokenGenerator) {
    Parts parts = standard_parts();
    parts.tree = [tree = parts.tree](const fabric::TreePreset& preset) {
        fabric::Fabric fabric = tree(preset);
        if (preset.row == 14) pull_a_cable(fabric);
        return fabric;
    };

    const Result result = zahavi_table_1(parts, quick());

    EXPECT_FALSE(result.holds());
    EXPECT_FALSE(result.holds(result.rows.at(13)));
    EXPECT_TRUE(result.holds(result.rows.at(12)));
}

TEST(ZahaviTable1, DoesNotHoldWithALostRoute) {
    Parts parts = standard_parts();
    parts.contention = [contention = parts.contention](const auto& routes, const auto& pattern, const auto& options) {
        auto result = contention(routes, pattern, options);
        result.unrouted = 1;
        return result;
    };

    EXPECT_FALSE(zahavi_table_1(parts, quick()).holds());
}

// What is said of all trees fails with the first that differs.
TEST(ZahaviTable1, OneTreeWithWorseFatTreeRoutesIsEnough) {
    Parts parts = standard_parts();
    unsigned calls = 0;
    parts.contention = [&calls, contention = parts.contention](const auto& routes, const auto& pattern,
                                                               const auto& options) {
        auto result = contention(routes, pattern, options);
        if (calls++ == 0) result.worst = 100;
        return result;
    };

    const Result result = zahavi_table_1(parts, quick());

    ASSERT_TRUE(result.claims.at(0).text.starts_with("minimum-hop routing never has less contention"));
    EXPECT_FALSE(result.claims[0].holds);
    EXPECT_TRUE(result.claims.at(1).holds);
}

TEST(ZahaviTable1, DoesNotHoldWithABrokenMetric) {
    Parts parts = standard_parts();
    parts.contention = [contention = parts.contention](const auto& routes, const auto& pattern, const auto& options) {
        auto result = contention(routes, pattern, options);
        result.mean = static_cast<double>(result.worst);  // the worst stage in place of the mean
        return result;
    };

    EXPECT_FALSE(zahavi_table_1(parts, quick()).holds());
}

}  // namespace
}  // namespace loom::reproduce
