#include "loom/fabric/oddities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom::fabric {

namespace {

std::vector<NodeId> all_nodes(const Fabric& fabric) {
    std::vector<NodeId> nodes;
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i) nodes.emplace_back(i);
    return nodes;
}

LinkRate common_rate(const Fabric& fabric, NodeId id) {
    for (const Port& port : fabric.ports(id))
        if (port.connected()) return port.rate;
    return {Width::x4, Speed::qdr};
}

// Switches as far from the nearest host as there are any.
std::vector<NodeId> farthest_switches(const Fabric& fabric) {
    std::vector<unsigned> distance(fabric.node_count(), 0);
    std::vector<NodeId> reached = fabric.nodes_of(NodeKind::host);
    const std::size_t hosts = reached.size();
    for (const NodeId id : reached) distance[id.value] = 1;
    for (std::size_t next = 0; next < reached.size(); ++next) {
        const NodeId id = reached[next];
        for (const Port& port : fabric.ports(id)) {
            if (!port.connected()) continue;
            const NodeId peer = fabric.port(port.peer).node;
            if (distance[peer.value] != 0) continue;
            distance[peer.value] = distance[id.value] + 1;
            reached.push_back(peer);
        }
    }
    reached.erase(reached.begin(), reached.begin() + static_cast<std::ptrdiff_t>(hosts));
    const unsigned most = reached.empty() ? 0 : distance[reached.back().value];
    std::erase_if(reached,
                  [&](NodeId id) { return distance[id.value] != most || fabric.node(id).kind != NodeKind::switch_; });
    std::sort(reached.begin(), reached.end());
    return reached;
}

PortNum last_free_port(const Fabric& fabric, NodeId id) {
    for (unsigned port = fabric.node(id).ports; port > 0; --port)
        if (const PortNum number{static_cast<std::uint8_t>(port)}; !fabric.port(id, number).connected()) return number;
    return PortNum{0};
}

}  // namespace

Fabric rebuilt(const Fabric& fabric, std::span<const NodeId> order, unsigned extra_switch_ports) {
    Fabric result;
    result.title = fabric.title;
    std::vector<NodeId> place(fabric.node_count(), no_node);
    for (const NodeId old : order) {
        const Node& from = fabric.node(old);
        const unsigned ports = from.ports + (from.kind == NodeKind::switch_ ? extra_switch_ports : 0);
        if (ports > 254) throw Error(describe(fabric, old) + " would have more than 254 ports");
        const NodeId id = result.add_node(from.kind, static_cast<std::uint8_t>(ports), from.name, from.guid);
        place[old.value] = id;
        Node& to = result.node(id);
        const std::uint32_t first_port = to.first_port;
        to = from;
        to.first_port = first_port;
        to.ports = static_cast<std::uint8_t>(ports);
    }
    for (const NodeId old : order) {
        const Node& from = fabric.node(old);
        for (unsigned p = 0; p <= from.ports; ++p) {
            const PortNum number{static_cast<std::uint8_t>(p)};
            const Port& source = fabric.port(old, number);
            const NodeId id = place[old.value];
            const NodeId peer = source.connected() ? place[fabric.port(source.peer).node.value] : no_node;
            if (peer != no_node && !result.port(id, number).connected())
                result.connect(id, number, peer, fabric.port(source.peer).number, source.rate);
            Port& target = result.port(id, number);
            const PortIndex target_peer = target.peer;
            target = source;
            target.node = id;
            target.peer = target_peer;
        }
    }
    return result;
}

Fabric with_aggregation_nodes(const Fabric& fabric) {
    Fabric result = rebuilt(fabric, all_nodes(fabric), 1);
    for (const NodeId id : result.nodes_of(NodeKind::switch_)) {
        const LinkRate rate = common_rate(result, id);
        const NodeId node = result.add_node(NodeKind::host, 1, "Mellanox Technologies Aggregation Node");
        result.connect(node, PortNum{1}, id, PortNum{result.node(id).ports}, rate);
    }
    return result;
}

NodeId attach_host(Fabric& fabric, NodeId switch_node, std::string name, LinkRate rate) {
    const PortNum port = last_free_port(fabric, switch_node);
    if (port.value == 0) throw Error(describe(fabric, switch_node) + " has no free port for " + name);
    const NodeId host = fabric.add_node(NodeKind::host, 1, std::move(name));
    fabric.connect(host, PortNum{1}, switch_node, port, rate);
    return host;
}

void add_management_hosts(Fabric& fabric, unsigned count) {
    std::vector<NodeId> spines = farthest_switches(fabric);
    for (unsigned i = 0; i < count; ++i) {
        std::erase_if(spines, [&](NodeId id) { return last_free_port(fabric, id).value == 0; });
        if (spines.empty())
            throw UsageError(fmt::format("the top switches have free ports for {} hosts only, not for {}", i, count));
        const NodeId spine = spines[i % spines.size()];
        attach_host(fabric, spine, fmt::format("mgmt{}", i), common_rate(fabric, spine));
    }
}

void swap_cables(Fabric& fabric, NodeId node, PortNum first, PortNum second) {
    if (first == second) return;
    struct Cable {
        PortIndex peer;
        LinkRate rate, supported;
    };
    const auto pull = [&](PortNum number) {
        const Port& port = fabric.port(node, number);
        const Cable cable{port.peer, port.rate, port.supported};
        fabric.disconnect(node, number);
        return cable;
    };
    // A cable from one of the two ports to the other stays where it is.
    if (fabric.port(node, first).peer == fabric.port_index(node, second)) return;
    const Cable from_first = pull(first), from_second = pull(second);
    const auto plug = [&](PortNum number, const Cable& cable) {
        if (cable.peer == no_port) return;
        const Port& other = fabric.port(cable.peer);
        fabric.connect(node, number, other.node, other.number, cable.rate);
        fabric.port(node, number).supported = fabric.port(cable.peer).supported = cable.supported;
    };
    plug(first, from_second);
    plug(second, from_first);
}

Fabric shuffled(const Fabric& fabric, std::uint64_t seed, Shuffle what) {
    Random random(seed);
    std::vector<NodeId> order = all_nodes(fabric);
    random.shuffle(std::span(order));
    Fabric result = rebuilt(fabric, order);
    if (what == Shuffle::nodes) return result;
    for (const NodeId id : result.nodes_of(NodeKind::switch_))
        for (std::uint32_t last = result.node(id).ports; last > 1; --last)
            swap_cables(result, id, PortNum{static_cast<std::uint8_t>(last)},
                        PortNum{static_cast<std::uint8_t>(1 + random.below(last))});
    return result;
}

}  // namespace loom::fabric
