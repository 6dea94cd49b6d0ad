// How subcommands speak: one JSON object on standard output, or text for people; remarks beside it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace loom::cli {

// The object and a newline. Names that are no UTF-8 get a replacement character.
void print_json(const nlohmann::ordered_json& object);

// One "loom: " line each on standard error, unless --quiet or --json (which carries remarks itself).
void print_remarks(const std::vector<std::string>& remarks, const Common& common);

}  // namespace loom::cli
