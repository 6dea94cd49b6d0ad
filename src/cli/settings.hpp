// loom settings, and what every command does with the environment.
#pragma once

#include <CLI/CLI.hpp>

namespace loom::cli {

void add_settings(CLI::App& program, int& exit_code);

// One line on standard error for each variable with our prefix that is no setting. The processes that are started from
// here do not repeat it (LOOM_REMARKED).
void remark_on_settings();

}  // namespace loom::cli
