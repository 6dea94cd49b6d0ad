// Which switches are leaves, which are roots: the tree that a fabric is, or nearly is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

inline constexpr std::uint8_t no_level = 0xff;

// An end port that can take part in a job: where it is plugged in.
struct HostPort {
    PortIndex port;         // of the host
    PortIndex switch_port;  // the other end of its cable
};

struct Levels {
    std::vector<std::uint8_t> level;   // by NodeId: 0 leaf switch, upwards to the roots; no_level: host or cut off
    std::uint8_t top = 0;              // the highest level there is
    std::vector<NodeId> leaf_order;    // level-0 switches so that each subtree is contiguous
    std::vector<std::string> remarks;  // in plain words: hosts above the leaves, links inside a level, ...
    std::size_t inside_links = 0;      // cables between switches of one level
    std::size_t skipping_links = 0;    // cables that skip a level
};

// Works on any fabric, hints or not; cost: a few passes over the links plus one breadth-first search
// for each switch that carries few hosts. `roots` (GUIDs of top switches), when given, decides.
[[nodiscard]] Levels find_levels(const Fabric& fabric, const std::vector<Guid>& roots = {});

// In-network aggregation nodes are hosts by type but no job runs on them.
[[nodiscard]] bool is_aggregation_node(const Node& node);

// The ranks of a job that uses the whole machine: every connected host port behind a switch that is
// no aggregation node, ordered by (leaf, port), leaves in the tree's order; hosts on higher switches
// come last. The same order for every engine.
[[nodiscard]] std::vector<HostPort> host_order(const Fabric& fabric, const Levels& levels);
[[nodiscard]] std::vector<HostPort> host_order(const Fabric& fabric);

// The ports on which leaves have their hosts, in order, where a port is the same place on every leaf: no leaf
// has a cable to a switch there, and there are not many more such ports than hosts on the fullest leaf.
// Else empty: then hosts can only be counted.
[[nodiscard]] std::vector<PortNum> host_places(const Fabric& fabric, std::span<const HostPort> hosts);

}  // namespace loom::fabric
