// Ways for what going up first and down after cannot reach.
#pragma once

#include "loom/routing/tables.hpp"
#include "routing/ftree_row.hpp"

namespace loom::routing {

// Fills entries still without a route (a host on one spine from another, a spine's own LID). For end ports
// they go towards one pivot leaf, up and down as ever, until they meet a switch that has a route: all such ways
// turn upwards again at the pivot or right above it, so that in a sound tree no two can wait for each other in a
// circle. What not even the pivot reaches, and switches, go to any neighbour that has a route. `filled` says
// of each row what is missing. Returns how many entries of end ports were filled on switches that have end ports
// themselves: elsewhere such entries carry nothing.
std::size_t fill_detours(const Tree& tree, const Targets& targets, const Reach& above,
                         std::span<const FtreeRow::Filled> filled, Tables& tables);

}  // namespace loom::routing
