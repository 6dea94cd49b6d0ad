// What commands share that ask about a fabric with tables, and about ranks on its hosts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "loom/congestion/routes.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/routed.hpp"

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
    // The same with --fabric and --tables instead of the first two.
    void add_named_to(CLI::App& app);

private:
    void add_places_to(CLI::App& app);
};

struct PlacedFabric : routing::RoutedFabric {
    fabric::Placement placement;
    congestion::RouteChoice choice;

    [[nodiscard]] congestion::Routes routes() const { return {*graph, tables, placement, choice}; }
};

// Reads, or routes with the engine asked for, and places the ranks; says on standard error what was odd.
[[nodiscard]] std::unique_ptr<PlacedFabric> load_placed(const RoutedOptions& options, const Common& common);

// Reads the fabric and opens it with routing::open; says on standard error what was odd. Where an engine refuses a
// fabric that is no tree, the error names one that does not.
void load_routed(routing::RoutedFabric& routed, const std::string& fabric, const routing::Sources& sources,
                 const Common& common);

// The engine's work, with the same advice.
[[nodiscard]] routing::Routing run_engine(const routing::Engine& engine, const routing::SwitchGraph& graph,
                                          const routing::RouteOptions& options);

}  // namespace loom::cli
