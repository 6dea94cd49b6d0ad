// Up first, then down, never up again: no credit loops on any fabric with one lane.
#include <fmt/format.h>

#include "loom/routing/engine.hpp"
#include "routing/ascent.hpp"
#include "routing/balance.hpp"
#include "routing/hops.hpp"

namespace loom::routing {

Routing route_updn(const SwitchGraph& graph, const RouteOptions& options) {
    const Ascent ascent = find_ascent(graph, options.roots);
    const UpDownHops hops(graph, ascent, options.threads);
    const Adjacency adjacency(graph);
    const Candidates legal = [&](SwitchIndex s, SwitchIndex t, std::uint8_t* ports) {
        unsigned count = 0;
        for (const auto& edge : adjacency.of(s)) {
            ports[count] = static_cast<std::uint8_t>(edge.channel - graph.channel(s, 0));
            count += hops.leads(s, edge.to, t) ? 1 : 0;
        }
        return count;
    };

    Routing result;
    result.tables = Tables(graph.switch_count(), graph.top_lid());
    result.tables.engine = "updn";
    result.remarks = ascent.remarks;
    fill_balanced(graph, options, legal, result.tables);

    std::vector<bool> bears(graph.switch_count(), false);
    for (const Destination& d : graph.host_destinations()) bears[d.sw] = true;
    const HopMatrix shortest(graph, options.threads);
    std::size_t pairs = 0, longer = 0;
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (SwitchIndex t = 0; t < graph.switch_count(); ++t) {
            if (s == t || !bears[s] || !bears[t] || shortest.at(s, t) == no_path) continue;
            ++pairs;
            longer += hops.hops(s, t) > shortest.at(s, t) ? 1 : 0;
        }
    if (longer != 0)
        result.remarks.push_back(
            fmt::format("going up first makes {} of {} routes between switches with hosts longer than the shortest",
                        longer, pairs));
    return result;
}

}  // namespace loom::routing
