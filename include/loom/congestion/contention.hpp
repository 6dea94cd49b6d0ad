// Static contention: how many flows share a link when a stage's messages are all on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loom/congestion/routes.hpp"
#include "loom/traffic/pattern.hpp"

namespace loom::congestion {

// Whether the cables between hosts and switches take part in a maximum. They do not matter where
// each rank sends and receives once; a gather is all about its root's link.
enum class HostLinks : std::uint8_t { count, ignore };

struct ContentionOptions {
    HostLinks host_links = HostLinks::count;
    unsigned threads = 1;                       // 0: all cores; the result never depends on it
    std::function<void(double)> progress = {};  // called with 0..1 now and then, if set
};

// A stage's contention is the largest number of flows on any directed link, 0 without flows. `worst` is
// the largest of all stages, `mean` the average over all stages (Zahavi 2009, Table I).
//
// The weighted values count a flow as (rate of the slower of its two hosts) / (rate of the link), so
// that 1 means a link that is just full. Unknown rates are taken to be the most common one.
struct Contention {
    std::string pattern;
    std::size_t ranks = 0;
    std::uint64_t flows = 0;     // pairs that cross the network and arrive
    std::uint64_t skipped = 0;   // pairs with a place keeper, or inside one host
    std::uint64_t unrouted = 0;  // pairs that the tables lose; they load no link
    std::uint32_t worst = 0;
    std::size_t worst_stage = 0;  // the first such
    double mean = 0;
    double weighted_worst = 0;
    double weighted_mean = 0;
    std::vector<std::uint32_t> per_stage;
    std::vector<std::uint32_t> peak;   // by LinkIndex: the most flows in any stage
    std::vector<std::uint64_t> total;  // by LinkIndex: flows of all stages together

    // Stages by contention: histogram()[c] stages have contention c.
    [[nodiscard]] std::vector<std::uint64_t> histogram() const;
};

// Cost: the pairs of all stages, at some 10 ns a pair where paths are kept. Throws Error when the
// pattern is for another number of ranks than the routes.
[[nodiscard]] Contention contention(const Routes& routes, const traffic::Pattern& pattern,
                                    const ContentionOptions& options = {});

// Whether a pattern has so few pairs that walking them as they come is cheaper than keeping the paths of all leaves to
// all hosts: then RouteChoice::memory is better 0. Stops counting where there are too many.
[[nodiscard]] bool has_few_pairs(const traffic::Pattern& pattern, const fabric::Fabric& fabric,
                                 const fabric::Placement& placement);

struct HotLink {
    LinkIndex link = 0;
    std::uint32_t peak = 0;
    std::uint64_t total = 0;
};

// The `count` links with the highest peak, ties by total, then by LinkIndex; unused ones never.
[[nodiscard]] std::vector<HotLink> hottest(const Routes& routes, const Contention& contention, std::size_t count,
                                           HostLinks host_links = HostLinks::count);

}  // namespace loom::congestion
