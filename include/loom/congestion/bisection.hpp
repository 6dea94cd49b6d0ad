// Effective bisection bandwidth: what a random half of the machine gets when it talks to the other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loom/base/statistics.hpp"
#include "loom/congestion/routes.hpp"

namespace loom::congestion {

struct BisectionOptions {
    std::uint64_t seed = 1;
    std::size_t samples = 5000;                 // patterns at most
    double precision = 0;                       // stop once the interval is within +- this; 0: never
    double confidence = 0.95;                   // of that interval
    unsigned threads = 1;                       // 0: all cores; the result never depends on it
    std::function<void(double)> progress = {};  // called with 0..1 now and then, if set
};

// Hoefler 2008: P/2 one-way pairs between two random halves; a pair's congestion is the largest number
// of flows on any link between switches along its path, its bandwidth 1 / congestion, and 1 when both
// are on one switch. A pattern's bandwidth is the mean over its pairs (a pair that the tables lose
// counts 0), the result the mean over patterns.
struct Bisection {
    Summary bandwidth;                         // one value a pattern, 1 being a crossbar's
    double half_width = 0;                     // of the confidence interval of its mean
    Histogram histogram{0.0, 1.0, 50};         // of the patterns' bandwidths
    std::vector<std::uint64_t> by_congestion;  // pairs with congestion 0 (lost), 1, 2, ...
};

// Place keepers take no part; of an odd number of hosts one idles in each pattern. Throws Error below
// two hosts. Cost: some 25 ns a pair where paths are kept, half of that to draw the pattern.
[[nodiscard]] Bisection effective_bisection(const Routes& routes, const BisectionOptions& options = {});

}  // namespace loom::congestion
