// One subnet routed twice: by OpenSM on ibsim, and by Loomband on what OpenSM discovered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/fabric/fabric.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/routing/table_io.hpp"
#include "peer/harness/opensm.hpp"

namespace loom::peer {

inline std::string ibsim_text(const fabric::Fabric& fabric) {
    std::ostringstream out;
    fabric::write_fabric(fabric, out, fabric::Format::ibsim);
    return out.str();
}

// The fabric with OpenSM's LIDs and ibsim's GUIDs. Not copyable: the graph points at the fabric.
struct Discovered {
    fabric::Fabric fabric;
    routing::SwitchGraph graph;
    std::vector<fabric::HostPort> hosts;

    // Asks the subnet, on which OpenSM must have run.
    explicit Discovered(Subnet& subnet)
        : fabric(fabric::parse_fabric(subnet.tool({"ibnetdiscover"}).output, "ibnetdiscover").fabric),
          graph(fabric),
          hosts(fabric::host_order(fabric)) {}
    Discovered(const Discovered&) = delete;
    Discovered& operator=(const Discovered&) = delete;

    [[nodiscard]] routing::Tables bind(std::string_view lfts) const {
        return routing::bind_tables(routing::parse_tables(lfts, "opensm-lfts.dump"), graph);
    }
    [[nodiscard]] routing::Tables route(std::string_view engine) const {
        return routing::find_engine(engine).route(graph, {}).tables;
    }
};

// Where a packet goes from the switch of `from` to `to`: the channels it leaves switches on, the last
// one towards the host; empty when it is dropped or goes round.
inline std::vector<routing::ChannelIndex> walk(const Discovered& net, const routing::Tables& tables,
                                               const fabric::HostPort& from, const fabric::HostPort& to) {
    std::vector<routing::ChannelIndex> path;
    const Lid lid = net.fabric.port(to.port).lid;
    routing::SwitchIndex at = net.graph.index(net.fabric.port(from.switch_port).node);
    while (path.size() <= net.graph.switch_count()) {
        const std::uint8_t port = tables.port(at, lid);
        if (port == routing::no_route || port == 0 || port > net.graph.port_count(at)) return {};
        path.push_back(net.graph.channel(at, port));
        const auto& peer = net.fabric.port(net.graph.node(at), PortNum{port}).peer;
        if (peer == to.port) return path;
        at = net.graph.next(path.back());
        if (at == routing::none) return {};
    }
    return {};
}

struct ShiftContention {
    unsigned worst = 0;
    double mean = 0;              // over the stages, of each stage's busiest channel
    std::size_t unreachable = 0;  // ordered pairs
};

// Straight from the definition: every stage, every pair, every channel.
inline ShiftContention shift_contention(const Discovered& net, const routing::Tables& tables) {
    ShiftContention result;
    const std::size_t count = net.hosts.size();
    std::vector<unsigned> load(net.graph.channel_count());
    double sum = 0;
    for (std::size_t shift = 1; shift < count; ++shift) {
        std::fill(load.begin(), load.end(), 0u);
        unsigned worst = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto path = walk(net, tables, net.hosts[i], net.hosts[(i + shift) % count]);
            result.unreachable += path.empty() ? 1 : 0;
            for (const auto channel : path) worst = std::max(worst, ++load[channel]);
        }
        result.worst = std::max(result.worst, worst);
        sum += worst;
    }
    result.mean = count > 1 ? sum / static_cast<double>(count - 1) : 0;
    return result;
}

}  // namespace loom::peer
