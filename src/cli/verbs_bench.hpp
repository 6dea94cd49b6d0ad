// Two software HCAs measured, for loom verbs bench and loom demo.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/verbs.hpp"
#include "loom/base/table.hpp"

namespace loom::cli {

struct VerbsSpeed {
    std::size_t size = 0;
    double send_us = 0;                  // one way, the median of round trips halved
    double write_gbs = 0, read_gbs = 0;  // 1e9 bytes a second
    std::string path;                    // that carried most of the writes' bytes
};

// Between this process on loom0 and another, started for it, on loom1; two InfiniBand HCAs unless the settings say
// otherwise. Some tenths of a second. Throws Error when a byte arrives wrong.
[[nodiscard]] std::vector<VerbsSpeed> bench_verbs(VerbsSettings settings);

[[nodiscard]] Table speed_table(const std::vector<VerbsSpeed>& results);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<VerbsSpeed>& results);

}  // namespace loom::cli
