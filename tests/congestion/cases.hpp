// Fabrics, tables and placements for the tests of this room.
#pragma once

#include <memory>
#include <string>

#include "loom/base/random.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"

namespace loom::congestion::test {

// Everything an analysis needs, kept together because the graph points into the fabric.
struct Case {
    fabric::Fabric fabric;
    std::unique_ptr<routing::SwitchGraph> graph;
    routing::Tables tables;
    fabric::Placement placement;
};

inline Case make_case(fabric::Fabric fabric, const std::string& engine, std::uint8_t lmc = 0, std::uint64_t seed = 1) {
    Case made{std::move(fabric), nullptr, {}, {}};
    made.fabric.assign_lids(lmc);
    made.graph = std::make_unique<routing::SwitchGraph>(made.fabric);
    routing::RouteOptions options;
    options.seed = seed;
    made.tables = routing::find_engine(engine).route(*made.graph, options).tables;
    made.placement = fabric::place_in_order(made.fabric);
    return made;
}

// Connected switches with random cables (parallel ones, uneven port counts, hosts anywhere).
inline fabric::Fabric random_fabric(Random& random) {
    fabric::Fabric fabric;
    const std::uint32_t switches = 1 + random.below(9);
    std::vector<std::uint8_t> used(switches, 0);
    std::vector<NodeId> nodes;
    for (std::uint32_t s = 0; s < switches; ++s)
        nodes.push_back(fabric.add_node(fabric::NodeKind::switch_, 40, "s" + std::to_string(s)));
    const auto cable = [&](std::uint32_t a, std::uint32_t b) {
        if (a == b || used[a] >= 40 || used[b] >= 40) return;
        fabric.connect(nodes[a], PortNum{++used[a]}, nodes[b], PortNum{++used[b]});
    };
    for (std::uint32_t s = 1; s < switches; ++s) cable(random.below(s), s);
    for (std::uint32_t extra = random.below(12); extra > 0; --extra)
        cable(random.below(switches), random.below(switches));
    const std::uint32_t hosts = 2 + random.below(20);
    for (std::uint32_t h = 0; h < hosts; ++h) {
        const std::uint32_t s = random.below(switches);
        const NodeId host = fabric.add_node(fabric::NodeKind::host, 1, "h" + std::to_string(h));
        if (used[s] < 40) fabric.connect(host, PortNum{1}, nodes[s], PortNum{++used[s]});
    }
    return fabric;
}

// Spoils some entries: no route, wrong ports, circles.
inline void spoil(Case& made, Random& random, unsigned entries) {
    for (unsigned i = 0; i < entries; ++i) {
        const routing::SwitchIndex s = random.below(made.graph->switch_count());
        const Lid lid{static_cast<std::uint16_t>(1 + random.below(made.tables.top_lid().value))};
        made.tables.set(s, lid,
                        random.below(4) == 0 ? routing::no_route
                                             : static_cast<std::uint8_t>(random.below(made.graph->port_count(s) + 1)));
    }
}

}  // namespace loom::congestion::test
