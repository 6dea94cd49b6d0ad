// A scenario made real: fabric and tables loaded or routed, ranks placed, traffic turned into a schedule.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loom/fabric/placement.hpp"
#include "loom/routing/routed.hpp"
#include "loom/sim/scenario.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::sim {

// A flow of a scenario on its hosts; no_port without a fabric.
struct PlacedFlow {
    FlowPlan plan;
    PortIndex from = no_port;
    PortIndex to = no_port;
};

// Everything a simulation needs to outlive it. Fabric, graph and tables are as routing::open leaves them; without a
// fabric the graph is null.
struct Setup : routing::RoutedFabric {
    std::string title;
    std::string traffic;          // "3 flows", "pattern shift, 64 KiB a message": for headings
    fabric::Placement placement;  // by rank; empty without a fabric
    traffic::Schedule schedule;
    std::vector<std::string> flow_names;  // of a scenario's flows, in Simulation::flows() order; empty: by ranks
    std::vector<bool> endless;            // of the same flows: their bytes are only what cannot be exceeded
    std::size_t ranks = 0;                // of Traffic::programs, as the scenario says; 0: it does not
    std::vector<PlacedFlow> background;   // of Traffic::programs
    std::vector<Fault> faults;
    std::optional<Time> repair;  // from a fault to repaired tables
    std::vector<PortIndex> watch;
    Level level = Level::packet;
    Options options;
    std::optional<Time> until;
    std::optional<Time> sample;  // as RecordOptions
    std::vector<Setting> manager;

    [[nodiscard]] Network network() const { return {graph.get(), &tables, placement}; }
    // A new run from the beginning.
    [[nodiscard]] std::unique_ptr<Simulation> start() const {
        return make_simulation(level, network(), schedule, options);
    }
    [[nodiscard]] bool is_endless(std::size_t index) const { return index < endless.size() && endless[index]; }
    // With the ranks of background flows behind the others.
    [[nodiscard]] Network whole_network() const;
    // The scenario's name for a flow, or "3 -> 17" with the hosts where there are any. `index` in flows() order.
    [[nodiscard]] std::string flow_name(std::size_t index, const Flow& flow) const;
};

// Reads the files that the scenario names. Lines of it that are of no use are remarked on; ports are watched only where
// the level has any. A flow is a pair of ranks of its own: number i sends from rank 2i to rank
// 2i + 1, so that flows between the same hosts stay apart. An endless flow gets as many messages as its host's link can
// carry until the end. Where switches mark and the scenario has no congestion control table, halving_table() is it.
// Throws ParseError for hosts and ports that the fabric does not have, Error, IoError and UsageError as the readers,
// engines and schedules do.
// With Traffic::programs there is no schedule: the placement is the ranks', and flows are `background`.
[[nodiscard]] std::unique_ptr<Setup> set_up(Scenario scenario, Traffic traffic = Traffic::scenario);

}  // namespace loom::sim
