// What the reproductions stand on, one function each, so that a test can put a broken one in its place.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "loom/congestion/bisection.hpp"
#include "loom/congestion/contention.hpp"
#include "loom/congestion/forwarding.hpp"
#include "loom/congestion/mapping.hpp"
#include "loom/fabric/presets.hpp"
#include "loom/manager/dcms.hpp"
#include "loom/model/walk.hpp"
#include "loom/routing/engine.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::reproduce {

struct Parts {
    std::function<fabric::Fabric(const fabric::TreePreset&)> tree;
    std::function<fabric::Fabric(const fabric::Clos&)> clos;
    std::function<fabric::Fabric(const fabric::Pgft&)> pgft;
    std::function<routing::Routing(std::string_view engine, const routing::SwitchGraph&, const routing::RouteOptions&)>
        route;
    std::function<congestion::Contention(const congestion::Routes&, const traffic::Pattern&,
                                         const congestion::ContentionOptions&)>
        contention;
    std::function<congestion::ForwardingIndex(const congestion::Routes&, unsigned threads)> forwarding_index;
    std::function<congestion::Bisection(const congestion::Routes&, const congestion::BisectionOptions&)> bisection;
    std::function<congestion::Remapping(const congestion::Routes&, const traffic::Pattern&,
                                        const congestion::MapOptions&)>
        remap;
    std::function<congestion::MapMetrics(const congestion::Routes&, const traffic::Pattern&,
                                         std::span<const std::uint32_t>, congestion::Duplex)>
        measure_mapping;
    // A test switches mechanisms off by changing the options on their way in.
    std::function<std::unique_ptr<sim::Simulation>(sim::Level, const sim::Network&, const traffic::Schedule&,
                                                   const sim::Options&)>
        simulation;
    // As manager::run_manager; a test changes the settings on their way in.
    std::function<manager::Work(const fabric::Fabric&, fabric::CounterSource&, fabric::CongestionParameters&,
                                fabric::Clock&, const manager::Settings&, const manager::OnDecision&)>
        manage;
    // The whole dissemination barrier with so many ways.
    std::function<traffic::Schedule(std::uint32_t ranks, std::uint32_t ways)> barrier;
    std::function<model::Prediction(const traffic::Schedule&, const model::Charges&)> walk;
    // By place in the chain of the multicast broadcast, when a share of the datagrams is lost.
    std::function<std::vector<double>(double lost, std::uint32_t ranks, std::uint32_t broadcasts)> penalty_rounds;
};

// Loomband's own.
[[nodiscard]] Parts standard_parts();

}  // namespace loom::reproduce
