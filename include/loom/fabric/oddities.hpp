// What real fabrics have and generated ones lack: aggregation nodes, hosts on spines, cables in the wrong
// ports, and no particular order.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

// A copy with the nodes in the order given (those not named are left out, with their cables) and `extra`
// more ports on each switch. GUIDs, names, LIDs and rates are kept.
[[nodiscard]] Fabric rebuilt(const Fabric& fabric, std::span<const NodeId> order, unsigned extra_switch_ports = 0);

// Each switch gets one port more, and on it an in-network aggregation (SHARP) node, which discovery shows
// as a host called "Mellanox Technologies Aggregation Node".
[[nodiscard]] Fabric with_aggregation_nodes(const Fabric& fabric);

// Plugs a new host into the last free port of a switch. Throws Error when there is none.
NodeId attach_host(Fabric& fabric, NodeId switch_node, std::string name, LinkRate rate);

// Plugs `count` hosts ("mgmt0", ...) into the switches farthest from any host, in turn. Throws UsageError
// when those have no free port left.
void add_management_hosts(Fabric& fabric, unsigned count);

// Exchanges what is plugged into two ports of a node; a rate goes with its cable.
void swap_cables(Fabric& fabric, NodeId node, PortNum first, PortNum second);

// The same fabric told in another order: what is computed from it must not change but in names.
// Cables of a switch are moved to other ports of the same switch at random.
enum class Shuffle : std::uint8_t { nodes, nodes_and_ports };
[[nodiscard]] Fabric shuffled(const Fabric& fabric, std::uint64_t seed, Shuffle what = Shuffle::nodes_and_ports);

}  // namespace loom::fabric
