// Costs of messages, as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "loom/model/walk.hpp"

namespace loom::cli {

void print_charges(const model::Charges& charges);
// Times in nanoseconds, those of a byte in picoseconds.
[[nodiscard]] nlohmann::ordered_json to_json(const model::Charges& charges);

}  // namespace loom::cli
