// Parts that are broken on purpose.
#pragma once

#include <functional>
#include <string_view>

#include "loom/reproduce/reproduction.hpp"

namespace loom::reproduce {

inline RunOptions quick() {
    RunOptions options;
    options.scope = Scope::quick;
    options.threads = 1;
    return options;
}

// Uses `other` whenever `engine` is asked for.
inline Parts with_engine(std::string_view engine, std::string_view other) {
    Parts parts = standard_parts();
    parts.route = [engine, other, route = parts.route](std::string_view asked, const routing::SwitchGraph& graph,
                                                       const routing::RouteOptions& options) {
        return route(asked == engine ? other : asked, graph, options);
    };
    return parts;
}

// Simulations get other options than the reproduction wants.
inline Parts with_options(std::function<void(sim::Options&)> change) {
    Parts parts = standard_parts();
    parts.simulation = [change = std::move(change), simulation = parts.simulation](
                           sim::Level level, const sim::Network& network, const traffic::Schedule& schedule,
                           const sim::Options& asked) {
        sim::Options options = asked;
        change(options);
        return simulation(level, network, schedule, options);
    };
    return parts;
}

// Pulls the last cable between two switches.
inline void pull_a_cable(fabric::Fabric& fabric) {
    for (std::uint32_t p = static_cast<std::uint32_t>(fabric.port_count()); p-- > 0;) {
        const fabric::Port port = fabric.port(PortIndex{p});
        if (!port.connected() || fabric.node(port.node).kind != fabric::NodeKind::switch_) continue;
        if (fabric.node(fabric.port(port.peer).node).kind != fabric::NodeKind::switch_) continue;
        fabric.disconnect(port.node, port.number);
        return;
    }
}

}  // namespace loom::reproduce
