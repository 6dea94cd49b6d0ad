// The same fabric told in another order: what no algorithm's quality may depend on.
#pragma once

#include <numeric>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/fabric/fabric.hpp"

namespace loom::reference {

// Nodes in random order; names, GUIDs, ports and cables as they were. No LIDs.
inline fabric::Fabric relabel(const fabric::Fabric& original, std::uint64_t seed) {
    std::vector<std::uint32_t> order(original.node_count()), place(original.node_count());
    std::iota(order.begin(), order.end(), 0u);
    Random(seed).shuffle(std::span(order));
    fabric::Fabric result;
    for (const std::uint32_t old : order) {
        const fabric::Node& node = original.node(NodeId{old});
        place[old] = result.add_node(node.kind, node.ports, node.name, node.guid).value;
    }
    for (std::uint32_t i = 0; i < original.port_count(); ++i) {
        const fabric::Port& a = original.port(PortIndex{i});
        if (!a.connected() || a.peer.value < i) continue;
        const fabric::Port& b = original.port(a.peer);
        result.connect(NodeId{place[a.node.value]}, a.number, NodeId{place[b.node.value]}, b.number, a.rate);
    }
    return result;
}

}  // namespace loom::reference
