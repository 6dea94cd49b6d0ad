// The parts of `loom fabric`, one file each.
#pragma once

#include "cli/command.hpp"
#include "cli/damage_options.hpp"
#include "cli/fabric_file.hpp"

namespace loom::cli {

void add_fabric_new(CLI::App& fabric);
void add_fabric_show(CLI::App& fabric);
void add_fabric_draw(CLI::App& fabric);
void add_fabric_order(CLI::App& fabric);

// The last words of `new` and `damage`: what was written, what was removed.
void report_written(const fabric::Damaged& result, const FabricOutput& output, const Common& common);

}  // namespace loom::cli
