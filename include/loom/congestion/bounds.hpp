// What a pattern of several rounds gets from the network when ranks sit anywhere: a lower and an
// upper bound (Hoefler 2008, II.4.4).
#pragma once

#include <cstdint>
#include <functional>

#include "loom/base/statistics.hpp"
#include "loom/congestion/contention.hpp"
#include "loom/congestion/routes.hpp"
#include "loom/traffic/pattern.hpp"

namespace loom::congestion {

struct BoundsOptions {
    std::size_t mappings = 1000;  // random ones
    std::uint64_t seed = 1;
    HostLinks host_links = HostLinks::count;
    unsigned threads = 1;                       // 0: all cores; the result never depends on it
    std::function<void(double)> progress = {};  // called with 0..1 now and then, if set
};

// A route's congestion is the largest number of flows on a link it crosses (1 inside a switch). For one
// mapping, sum-max is the mean over rounds of the most congested route: everybody waits for the
// slowest; sum-average is the mean over rounds of the average route: nobody waits. Rounds without a
// flow that arrives count 1 in both. The bandwidth is the reciprocal.
struct Bounds {
    Summary sum_max;
    Summary sum_average;
    Histogram lower{0.0, 1.0, 50};  // of 1 / sum-max over the mappings
    Histogram upper{0.0, 1.0, 50};  // of 1 / sum-average
    Summary lower_bandwidth;
    Summary upper_bandwidth;  // its mean is the "effective bandwidth" of the pattern
};

// Mappings permute the ranks over the hosts of the routes' placement; place keepers move along.
[[nodiscard]] Bounds bandwidth_bounds(const Routes& routes, const traffic::Pattern& pattern,
                                      const BoundsOptions& options = {});

// sum-max and sum-average of the placement as it is.
struct RoundSums {
    double sum_max = 0;
    double sum_average = 0;
};
[[nodiscard]] RoundSums round_sums(const Routes& routes, const traffic::Pattern& pattern,
                                   HostLinks host_links = HostLinks::count);

}  // namespace loom::congestion
