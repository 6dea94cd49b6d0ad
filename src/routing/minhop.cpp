// Shortest paths, each switch spreading its destinations over its shortest ports: OpenSM's default.
#include "loom/routing/engine.hpp"
#include "routing/balance.hpp"
#include "routing/hops.hpp"

namespace loom::routing {

Routing route_minhop(const SwitchGraph& graph, const RouteOptions& options) {
    const HopMatrix hops(graph, options.threads);
    const Adjacency adjacency(graph);
    const Candidates nearest = [&](SwitchIndex s, SwitchIndex t, std::uint8_t* ports) {
        const std::uint16_t here = hops.at(s, t);
        if (here == no_path) return 0u;
        unsigned count = 0;
        for (const auto& edge : adjacency.of(s)) {
            ports[count] = static_cast<std::uint8_t>(edge.channel - graph.channel(s, 0));
            count += hops.at(edge.to, t) + 1 == here ? 1 : 0;
        }
        return count;
    };

    Routing result;
    result.tables = Tables(graph.switch_count(), graph.top_lid());
    result.tables.engine = "minhop";
    fill_balanced(graph, options, nearest, result.tables);
    return result;
}

}  // namespace loom::routing
