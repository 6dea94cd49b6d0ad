// What a scenario file says, as options of a job: its fabric, tables, settings, background traffic and faults.
#pragma once

#include "loom/sim/setup.hpp"
#include "loom/twin/run.hpp"

namespace loom::twin {

// `setup` is of sim::set_up(scenario, sim::Traffic::programs), and must outlive the run. A manager is not in it:
// Options::control is for whoever knows one. Without a fabric `ranks` is Scenario::ranks, else the placement's.
[[nodiscard]] Options options_of(const sim::Setup& setup);

}  // namespace loom::twin
