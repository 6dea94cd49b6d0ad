// Scenario files on the command line.
#pragma once

#include <string>

#include "loom/sim/scenario.hpp"

namespace loom::cli {

// The lines of the file; more may follow. An empty path gives an empty scenario.
[[nodiscard]] sim::Scenario load_scenario(const std::string& path);

// A file named on the command line, for a scenario that looks for its files beside itself.
[[nodiscard]] std::string from_here(const sim::Scenario& scenario, const std::string& path);

// What the command line names takes the place of what the scenario says; empty: nothing is named.
void use_fabric(sim::Scenario& scenario, const std::string& fabric, const std::string& tables);

}  // namespace loom::cli
