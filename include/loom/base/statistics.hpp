// Samples boiled down: mean, spread, confidence, histogram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace loom {

// Mean and variance of a stream in constant memory (Welford's update: no cancellation however far
// the mean is from zero). Summaries of two streams can be merged; merge in a fixed order where the
// last bits must not depend on who finished first.
class Summary {
public:
    void add(double value) { add(value, 1.0); }
    // The same value `weight` times; weight >= 0.
    void add(double value, double weight);
    void merge(const Summary& other);

    [[nodiscard]] double count() const { return count_; }
    [[nodiscard]] double mean() const { return mean_; }  // 0 when empty
    [[nodiscard]] double min() const { return min_; }    // +infinity when empty
    [[nodiscard]] double max() const { return max_; }    // -infinity when empty
    // Of the values themselves (divided by n), and as an estimate from a sample (by n - 1).
    [[nodiscard]] double variance() const { return count_ > 0 ? squares_ / count_ : 0.0; }
    [[nodiscard]] double sample_variance() const { return count_ > 1 ? squares_ / (count_ - 1) : 0.0; }
    [[nodiscard]] double deviation() const;
    [[nodiscard]] double sample_deviation() const;

    // Half the width of the interval that contains the true mean with the given probability
    // (Student's t); infinite below two values.
    [[nodiscard]] double confidence(double probability = 0.95) const;

private:
    double count_ = 0;
    double mean_ = 0;
    double squares_ = 0;  // sum of squared distances from the mean
    double min_ = std::numeric_limits<double>::infinity();
    double max_ = -std::numeric_limits<double>::infinity();
};

// t such that a Student variable with `freedom` degrees is below it with this probability, to about
// ten digits. Throws Error unless 0 < probability < 1 and freedom > 0.
[[nodiscard]] double student_quantile(double probability, double freedom);

// Equal bins over [low, high); what is outside is kept in the first or last bin, so that no sample
// is lost from the total.
class Histogram {
public:
    // Throws Error unless low < high and there is at least one bin.
    Histogram(double low, double high, std::size_t bins);

    void add(double value, std::uint64_t times = 1);
    void merge(const Histogram& other);  // throws Error unless the bins are the same

    [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
    [[nodiscard]] std::uint64_t total() const { return total_; }
    [[nodiscard]] double low() const { return low_; }
    [[nodiscard]] double high() const { return high_; }
    [[nodiscard]] double edge(std::size_t bin) const;  // lower edge; edge(counts().size()) is high

private:
    double low_;
    double high_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t total_ = 0;
};

}  // namespace loom
