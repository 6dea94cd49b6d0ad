// Ways for what going up first and down after cannot reach.
#pragma once

#include "loom/routing/tables.hpp"
#include "routing/ftree_row.hpp"

namespace loom::routing {

// Fills entries still without a route (a host on one spine from another, a spine's own LID): they go to a
// neighbour that has one. For end ports the neighbours nearest to one pivot leaf come first: all such routes
// then turn upwards in one place, and no two of them can wait for each other in a circle. `filled` says of each
// row what is missing. Returns how many entries of end ports were filled on switches that have end ports
// themselves: elsewhere such entries carry nothing.
std::size_t fill_detours(const Tree& tree, const Targets& targets, std::span<const FtreeRow::Filled> filled,
                         Tables& tables);

}  // namespace loom::routing
