// The options that break a fabric or make it look like a real one; for `fabric new` and `fabric damage`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "loom/fabric/damage.hpp"

namespace loom::cli {

struct DamageOptions {
    std::uint64_t seed = 1;
    std::string links, switches, hosts, slow_links;  // "12" or "5%"
    std::vector<std::string> nodes;
    std::vector<std::string> cables;  // "NODE:PORT"
    bool take_last_cables = false;
    bool aggregation_nodes = false;
    unsigned management_hosts = 0;
    std::string shuffle;  // empty, "nodes" or "ports"

    void add_to(CLI::App& app);
    // Whether any option asks for a change.
    [[nodiscard]] bool any() const;
    // Damages, then adds, gives LIDs to what was added where `lids` says so, then shuffles.
    [[nodiscard]] fabric::Damaged apply(const fabric::Fabric& fabric, bool lids) const;
};

// What is gone, for --json.
[[nodiscard]] nlohmann::ordered_json removed_json(const fabric::Damaged& damaged);
// "2 switches, 6 links removed", or nothing.
[[nodiscard]] std::string removed_text(const fabric::Damaged& damaged);

}  // namespace loom::cli
