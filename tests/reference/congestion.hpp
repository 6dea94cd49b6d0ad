// Congestion the slow way: every pair walked hop by hop, every link a key in a map.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "loom/fabric/placement.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/routing/tables.hpp"
#include "loom/traffic/pattern.hpp"

namespace loom::reference {

// A directed link by the port it leaves from.
using LinkKey = PortIndex;

// From the host's own link to the destination's, or nothing when the packet is lost.
inline std::optional<std::vector<LinkKey>> walk(const routing::SwitchGraph& graph, const routing::Tables& tables,
                                                PortIndex from, PortIndex to, Lid lid) {
    const fabric::Fabric& fabric = graph.fabric();
    std::vector<LinkKey> links{from};
    NodeId at = fabric.port(fabric.port(from).peer).node;
    std::set<NodeId> seen;
    for (;;) {
        if (!seen.insert(at).second) return std::nullopt;
        const std::uint8_t port = tables.port(graph.index(at), lid);
        if (port == routing::no_route || port == 0) return std::nullopt;
        const PortIndex out = fabric.port_index(at, PortNum{port});
        const PortIndex peer = fabric.port(out).peer;
        if (peer == no_port) return std::nullopt;
        links.push_back(out);
        if (peer == to) return links;
        at = fabric.port(peer).node;
        if (fabric.node(at).kind != fabric::NodeKind::switch_) return std::nullopt;
    }
}

struct StageCount {
    std::map<LinkKey, unsigned> load;
    std::vector<std::vector<LinkKey>> routes;  // of the pairs that arrive
    std::size_t skipped = 0;
    std::size_t unrouted = 0;
};

// `spread`: the ((from + to) mod number of LIDs)-th LID, otherwise always the offset-th.
inline StageCount count_stage(const routing::SwitchGraph& graph, const routing::Tables& tables,
                              const fabric::Placement& placement, const std::vector<traffic::Pair>& pairs,
                              bool spread = false, unsigned offset = 0) {
    StageCount result;
    for (const traffic::Pair& pair : pairs) {
        const PortIndex from = placement.hosts[pair.from.value];
        const PortIndex to = placement.hosts[pair.to.value];
        if (from == no_port || to == no_port || from == to) {
            ++result.skipped;
            continue;
        }
        const fabric::Port& end = graph.fabric().port(to);
        const unsigned lids = 1u << end.lmc;
        const unsigned which = (spread ? pair.from.value + pair.to.value : offset) % lids;
        const auto route = walk(graph, tables, from, to, Lid{static_cast<std::uint16_t>(end.lid.value + which)});
        if (!route) {
            ++result.unrouted;
            continue;
        }
        for (const LinkKey link : *route) ++result.load[link];
        result.routes.push_back(*route);
    }
    return result;
}

inline unsigned largest(const StageCount& count) {
    unsigned result = 0;
    for (const auto& [link, load] : count.load) result = std::max(result, load);
    return result;
}

// The largest load on the links between switches of a route; 1 when there is none.
inline unsigned inner_congestion(const StageCount& count, const std::vector<LinkKey>& route) {
    unsigned result = 1;
    for (std::size_t i = 1; i + 1 < route.size(); ++i) result = std::max(result, count.load.at(route[i]));
    return result;
}

}  // namespace loom::reference
