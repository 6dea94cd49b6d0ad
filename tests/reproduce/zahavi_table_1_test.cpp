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
