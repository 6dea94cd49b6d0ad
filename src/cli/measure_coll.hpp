// loom measure coll: what collectives take on this machine, beside what the model says.
#pragma once

#include "cli/command.hpp"

namespace loom::cli {

void add_measure_coll(CLI::App& measure, int& exit_code);

}  // namespace loom::cli
