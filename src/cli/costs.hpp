// What commands share that predict, export or play a collective: the costs that they take, and the line that says so.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "cli/command.hpp"
#include "loom/coll/parameters.hpp"

namespace loom::cli {

struct CostOptions {
    std::string parameters;  // a list or a file; empty: assumed
    std::string rate;        // "EDR", "4xHDR"; empty: EDR

    // --parameters and --rate.
    void add_to(CLI::App& app);
};

// "EDR" is 4xEDR. Throws UsageError that names the rates there are.
[[nodiscard]] std::uint32_t megabits_of_rate(const std::string& text);

// A link of --rate with as many switches on the way as are assumed.
[[nodiscard]] model::Link link_of(const CostOptions& options);

// Of ranks on such hosts, which have a core for each of them. Without `link` that of --rate.
[[nodiscard]] coll::Parameters costs_of(const CostOptions& options, std::span<const std::uint32_t> hosts,
                                        const std::optional<model::Link>& link = {});

// A host for each rank.
[[nodiscard]] std::vector<std::uint32_t> own_hosts(std::size_t ranks);

// "costs: copy 0.1 ns/B ... (assumed)" as one object, picoseconds throughout.
[[nodiscard]] nlohmann::ordered_json costs_json(const model::LocalCosts& local, std::string_view origin);
[[nodiscard]] nlohmann::ordered_json costs_json(const coll::Parameters& parameters);

}  // namespace loom::cli
