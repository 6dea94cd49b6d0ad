// The parts of a check that need no walk.
#pragma once

#include "loom/routing/check.hpp"

namespace loom::routing {

// Fills pieces, split_pairs and the remarks about them. Pieces that the same hosts share are rails.
void judge_pieces(const SwitchGraph& graph, CheckReport& report);
// Fills balance from load, by the levels of the fabric.
void measure_balance(const SwitchGraph& graph, CheckReport& report);
void find_slow_links(const fabric::Fabric& fabric, CheckReport& report);

}  // namespace loom::routing
