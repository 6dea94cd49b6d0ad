// Rank mapping: which rank should sit on which of the job's hosts (Hoefler 2008, II.6).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "loom/congestion/routes.hpp"
#include "loom/traffic/pattern.hpp"

namespace loom::congestion {

// Full: the two directions of a cable do not meet, which is how InfiniBand works. Half: flows of both
// directions of a cable between switches are added up.
enum class Duplex : std::uint8_t { full, half };

// Over the rounds of a pattern; a route's congestion is the largest load on the links between switches
// that it crosses, and 1 when it crosses none. Pairs that the tables lose count nowhere.
struct MapMetrics {
    std::uint64_t sum_of_maxima = 0;    // (1) the most congested route of each round
    std::uint64_t sum_of_routes = 0;    // (2) the congestion of every route
    std::uint64_t link_traversals = 0;  // (3) links crossed by every route, host links included
    friend bool operator==(const MapMetrics&, const MapMetrics&) = default;
};

enum class Metric : std::uint8_t { sum_of_maxima = 1, sum_of_routes = 2, link_traversals = 3 };
[[nodiscard]] std::uint64_t value_of(const MapMetrics& metrics, Metric metric);

// places[r] is the rank of the routes' placement whose host rank r takes: {0, 1, 2, ...} changes nothing.
using Mapping = std::vector<std::uint32_t>;

// Cost: the pairs of all rounds, twice. Throws Error unless `mapping` permutes the ranks.
[[nodiscard]] MapMetrics measure_mapping(const Routes& routes, const traffic::Pattern& pattern,
                                         std::span<const std::uint32_t> mapping, Duplex duplex = Duplex::full);

struct MapOptions {
    Metric metric = Metric::sum_of_maxima;
    Duplex duplex = Duplex::full;
    std::uint64_t seed = 1;
    std::uint64_t moves = 1'000'000;  // swaps to try, all restarts together
    unsigned restarts = 0;            // annealing runs they are shared between; 0: as many as are worth it
    double seconds = 0;               // stop after this long, 0: never; the result then depends on the machine
    std::function<void(double)> progress = {};  // called with 0..1 now and then, if set
};

struct Remapping {
    Mapping mapping;
    MapMetrics before;  // of the placement as it was
    MapMetrics after;   // never worse in the metric asked for
    std::uint64_t moves = 0;
};

// Simulated annealing over swaps of two ranks, from the given placement, from the best so far and
// from random ones in turn, and a descent to the nearest minimum at the end. A swap costs the messages
// of its two ranks: loads are changed, never recounted. Place keepers stay where they are. Same
// options, same mapping. Throws Error for patterns of more than 50 million links crossed.
[[nodiscard]] Remapping optimise_mapping(const Routes& routes, const traffic::Pattern& pattern,
                                         const MapOptions& options = {});

// The placement that `mapping` makes of `placement`.
[[nodiscard]] fabric::Placement remapped(const fabric::Placement& placement, std::span<const std::uint32_t> mapping);

}  // namespace loom::congestion
