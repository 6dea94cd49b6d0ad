// Ratios of two contestants that took turns, with intervals.
#pragma once

#include <span>
#include <vector>

namespace loom::bench {

[[nodiscard]] double median(std::vector<double> values);  // 0 of nothing

// 95 % by the bootstrap: what the figure would be had other rounds been taken, the same for the same input.
struct Interval {
    double middle = 0, low = 0, high = 0;
};

// Ours to theirs, round by round, as a machine changes its mood between rounds more than within: the median ratio.
// Both have as many values.
[[nodiscard]] Interval ratio(std::span<const double> ours, std::span<const double> theirs);

// The geometric mean of such ratios. Empty cells are left out.
struct Pair {
    std::span<const double> ours, theirs;
};
[[nodiscard]] Interval geometric_mean(std::span<const Pair> cells);

}  // namespace loom::bench
