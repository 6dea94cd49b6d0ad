// Port choice as OpenSM does it: each switch by itself, the least used of the ports that qualify.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loom/routing/engine.hpp"

namespace loom::routing {

// Destinations (positions in graph.destinations()) in the order in which OpenSM hands them out: hosts of
// the switch with most hosts first, by port; switches with equally many in the order of their GUIDs' bytes
// read from the last to the first, which is what a little-endian machine makes of its tree of GUIDs;
// then the switches themselves.
[[nodiscard]] std::vector<std::uint32_t> serving_order(const SwitchGraph& graph);

// Writes the ports of switch s that qualify for a destination on switch t (never s itself) to `ports`,
// ascending, and returns how many; there is room for 254. Called from several threads.
using Candidates = std::function<unsigned(SwitchIndex s, SwitchIndex t, std::uint8_t* ports)>;

// Fills every row: a counter for each port of the switch, the lowest counter wins, the lowest port at a
// tie; switch LIDs do not count. With several LIDs a host, all first LIDs go first, then all second ones,
// and a LID prefers ports to a neighbour system, then a neighbour switch, that no LID of the host uses yet.
// Cost: LIDs x candidates for each switch; rows are spread over threads.
void fill_balanced(const SwitchGraph& graph, const RouteOptions& options, const Candidates& candidates, Tables& tables);

}  // namespace loom::routing
