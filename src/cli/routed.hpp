// What the congestion commands share: a fabric with tables, and ranks on its hosts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "loom/congestion/routes.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/routing/tables.hpp"

namespace loom::cli {

struct RoutedOptions {
    std::string fabric;
    std::string tables;
    std::string engine;
    std::string place;  // empty: order
    std::string hosts;
    std::string lid = "0";
    std::uint64_t seed = 1;
    unsigned threads = 0;

    // FABRIC, TABLES, --engine, --place, --hosts, --lid, --seed, --threads.
    void add_to(CLI::App& app);
};

// The graph points into the fabric: not to be copied.
struct RoutedFabric {
    fabric::Fabric fabric;
    std::unique_ptr<routing::SwitchGraph> graph;
    routing::Tables tables;
    fabric::Placement placement;
    congestion::RouteChoice choice;
    std::vector<std::string> remarks;

    [[nodiscard]] congestion::Routes routes() const { return {*graph, tables, placement, choice}; }
};

// Reads, or routes with the engine asked for; says on standard error what was odd. A fabric without
// LIDs takes those that the tables name, or gets its own.
[[nodiscard]] std::unique_ptr<RoutedFabric> load_routed(const RoutedOptions& options, const Common& common);

// The engine's work. Where it refuses a fabric that is no tree, the error names an engine that does not.
[[nodiscard]] routing::Routing run_engine(const routing::Engine& engine, const routing::SwitchGraph& graph,
                                          const routing::RouteOptions& options);

}  // namespace loom::cli
