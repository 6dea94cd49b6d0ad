// Which LID belongs to which port when a fabric file does not say.
#pragma once

#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::routing {

// LIDs as the tables say who owns them, for a fabric that has none at all; 2^lmc neighbours with one owner are one
// port's. Tables that name no owners change nothing.
void adopt_lids(fabric::Fabric& fabric, const TableFile& file);

// 2^lmc LIDs for each host port that has none. Throws UsageError when an LMC is asked for and hosts have LIDs with
// another one already.
// Returns remarks: that LIDs were invented, which another program would not have chosen.
[[nodiscard]] std::vector<std::string> complete_lids(fabric::Fabric& fabric, unsigned lmc = 0);

}  // namespace loom::routing
