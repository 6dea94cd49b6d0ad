// Two software HCAs measured, for loom verbs bench and loom demo.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/verbs.hpp"
#include "loom/base/table.hpp"
#include "loom/verbs/measure.hpp"

namespace loom::cli {

// Between this process on loom0 and another, started for it, on loom1; two InfiniBand HCAs unless the settings say
// otherwise. Some tenths of a second. Throws Error when a byte arrives wrong.
[[nodiscard]] std::vector<verbs::Speed> bench_verbs(VerbsSettings settings);

[[nodiscard]] Table speed_table(const std::vector<verbs::Speed>& results);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<verbs::Speed>& results);

}  // namespace loom::cli
