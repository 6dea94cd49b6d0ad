#include "loom/base/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom {
namespace {

TEST(Summary, EqualsTheTwoPassFormulasFarFromZero) {
    Random random(5);
    std::vector<double> values;
    for (int i = 0; i < 1000; ++i) values.push_back(1e9 + random.unit());
    double mean = 0;
    for (const double v : values) mean += (v - 1e9) / 1000;
    double squares = 0;
    for (const double v : values) squares += (v - 1e9 - mean) * (v - 1e9 - mean);

    Summary summary;
    for (const double v : values) summary.add(v);

    EXPECT_NEAR(summary.mean() - 1e9, mean, 1e-6);
    EXPECT_NEAR(summary.variance(), squares / 1000, 1e-6);
    EXPECT_NEAR(summary.sample_variance(), squares / 999, 1e-6);
}

TEST(Summary, MergingAndWeightsEqualAddingOneByOne) {
    Summary all;
    Summary left;
    Summary right;
    for (int i = 0; i < 50; ++i) {
        all.add(i * i);
        (i < 20 ? left : right).add(i * i);
    }
    all.add(7);
    all.add(7);
    all.add(7);

    right.add(7, 3);
    left.merge(right);

    EXPECT_DOUBLE_EQ(left.count(), 53);
    EXPECT_NEAR(left.mean(), all.mean(), 1e-9);
    EXPECT_NEAR(left.variance(), all.variance(), 1e-6);
    EXPECT_DOUBLE_EQ(left.min(), 0);
    EXPECT_DOUBLE_EQ(left.max(), 49 * 49);
}

TEST(Summary, MergingKeepsTheExtremesOfBoth) {
    Summary low, high;
    low.add(1);
    high.add(9);

    Summary one = low, other = high;
    one.merge(high);
    other.merge(low);

    for (const Summary& merged : {one, other}) {
        EXPECT_DOUBLE_EQ(merged.min(), 1);
        EXPECT_DOUBLE_EQ(merged.max(), 9);
        EXPECT_DOUBLE_EQ(merged.mean(), 5);
    }
}

TEST(Summary, ConfidenceIsStudentsInterval) {
    Summary summary;
    for (const double v : {1.0, 2.0, 3.0, 4.0, 5.0}) summary.add(v);

    const double half = summary.confidence(0.95);

    EXPECT_NEAR(half, 2.7764451052 * std::sqrt(2.5 / 5), 1e-8);
    EXPECT_TRUE(std::isinf(Summary{}.confidence()));
}

TEST(StudentQuantile, AgreesWithPrintedTables) {
    EXPECT_NEAR(student_quantile(0.975, 1), 12.7062047364, 1e-7);
    EXPECT_NEAR(student_quantile(0.95, 10), 1.8124611228, 1e-8);
    EXPECT_NEAR(student_quantile(0.995, 30), 2.7499956536, 1e-8);
    EXPECT_NEAR(student_quantile(0.025, 4), -2.7764451052, 1e-8);
    EXPECT_NEAR(student_quantile(0.975, 1e6), 1.9599663, 1e-5);
    EXPECT_THROW((void)student_quantile(1.0, 3), Error);
}

TEST(Histogram, KeepsEverySample) {
    Histogram histogram(0, 1, 4);

    for (const double v : {-1.0, 0.0, 0.24, 0.25, 0.9, 1.0, 7.0}) histogram.add(v);

    EXPECT_EQ(histogram.counts(), (std::vector<std::uint64_t>{3, 1, 0, 3}));
    EXPECT_EQ(histogram.total(), 7u);
    EXPECT_DOUBLE_EQ(histogram.edge(3), 0.75);
    EXPECT_THROW(Histogram(1, 1, 3), Error);
    EXPECT_THROW(histogram.merge(Histogram(0, 2, 4)), Error);
}

TEST(Histogram, MergingAddsBinsAndTotals) {
    Histogram one(0, 1, 2), other(0, 1, 2);
    one.add(0.1, 3);
    other.add(0.2);
    other.add(0.7, 2);

    one.merge(other);

    EXPECT_EQ(one.counts(), (std::vector<std::uint64_t>{4, 2}));
    EXPECT_EQ(one.total(), 6u);
}

}  // namespace
}  // namespace loom
