// The subcommand of loom coll that starts ranks to ask them.
#pragma once

#include "cli/command.hpp"

namespace loom::cli {

void add_coll_explain(CLI::App& coll, int& exit_code);

}  // namespace loom::cli
