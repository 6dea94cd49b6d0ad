// A random shortest path for each entry: what balance is measured against.
#include <array>

#include "loom/base/parallel.hpp"
#include "loom/base/random.hpp"
#include "loom/routing/engine.hpp"
#include "routing/hops.hpp"

namespace loom::routing {

Routing route_random(const SwitchGraph& graph, const RouteOptions& options) {
    const HopMatrix hops(graph, options.threads);
    const Adjacency adjacency(graph);
    Routing result;
    result.tables = Tables(graph.switch_count(), graph.top_lid());
    result.tables.engine = "random";
    parallel_for(graph.switch_count(), options.threads, 8, [&](std::size_t begin, std::size_t end) {
        std::array<std::uint8_t, 256> ports{};
        for (std::size_t i = begin; i < end; ++i) {
            const auto s = static_cast<SwitchIndex>(i);
            // A generator for each row: the choice does not depend on who fills the rows before.
            Random random(options.seed * 0x9e3779b97f4a7c15u + s);
            const auto row = result.tables.row(s);
            for (const Destination& destination : graph.destinations()) {
                unsigned count = 0;
                if (destination.sw != s)
                    for (const auto& edge : adjacency.of(s))
                        if (hops.at(edge.to, destination.sw) + 1 == hops.at(s, destination.sw))
                            ports[count++] = static_cast<std::uint8_t>(edge.channel - graph.channel(s, 0));
                for (unsigned k = 0; k < destination.lid_count(); ++k) {
                    std::uint8_t& entry = row[destination.lid.value + k];
                    if (destination.sw == s)
                        entry = destination.port;
                    else if (count != 0)
                        entry = ports[random.below(count)];
                }
            }
        }
    });
    return result;
}

}  // namespace loom::routing
