// Collectives named on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/forecast.hpp"
#include "loom/coll/uniform.hpp"

namespace loom::cli {

struct CollectiveOptions {
    std::string name;  // COLLECTIVE[:ALGORITHM[:SEGMENT[:WAYS]]]
    std::uint32_t ranks = 4;
};

// The call of all ranks, each on a host of its own; neighbour collectives on a closed, near-square grid.
[[nodiscard]] coll::UniformCall collective_call(const CollectiveOptions& options, std::uint64_t bytes);

// Without an algorithm what a communicator would take by these parameters. Throws UsageError for names there are none
// of.
[[nodiscard]] coll::Forecast collective_forecast(const CollectiveOptions& options, std::uint64_t bytes,
                                                 const coll::Parameters& parameters);

// The same for each algorithm of the collective that fits such a group.
[[nodiscard]] std::vector<CollectiveOptions> algorithms_of(const CollectiveOptions& options, std::uint64_t most_bytes);

}  // namespace loom::cli
