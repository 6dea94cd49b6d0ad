// Collectives named on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/coll/algorithm.hpp"

namespace loom::cli {

struct CollectiveOptions {
    std::string name;  // COLLECTIVE[:ALGORITHM[:SEGMENT[:WAYS]]]
    std::uint32_t ranks = 4;
};

// What all ranks would do, on one host; neighbour collectives on a closed, near-square grid. Without an algorithm the
// first, which always fits. Throws UsageError for names there are none of.
[[nodiscard]] traffic::Schedule collective_schedule(const CollectiveOptions& options, std::uint64_t bytes);

// The same for each algorithm of the collective that fits such a group.
[[nodiscard]] std::vector<CollectiveOptions> algorithms_of(const CollectiveOptions& options, std::uint64_t most_bytes);

}  // namespace loom::cli
