// The section of a page that tells what a simulation saw.
#pragma once

#include <span>

#include "loom/report/page.hpp"
#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"
#include "loom/sim/show.hpp"

namespace loom::report {

// Which level was used and how it ended, throughput over time, what the watched ports sent and how long they waited,
// a table of flows (the slowest where they are many) and of the hottest ports. Names are escaped.
[[nodiscard]] Section simulation_section(const sim::Setup& setup, const sim::Recording& recording,
                                         std::span<const sim::PortLoad> hottest);

}  // namespace loom::report
