// What is connected to what: nodes, ports and cables of one InfiniBand subnet (or several).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/fabric/link.hpp"

namespace loom::fabric {

enum class NodeKind : std::uint8_t { switch_, host, router };

// 24 bytes. `rate` is what the link runs at, `supported` the best both ends could do (unknown when
// the source did not say). LIDs are kept on host ports and on port 0 of switches.
struct Port {
    NodeId node;
    PortIndex peer = no_port;
    Guid guid;
    Lid lid;
    std::uint8_t lmc = 0;
    PortNum number;
    LinkRate rate;
    LinkRate supported;

    [[nodiscard]] bool connected() const { return peer != no_port; }
};

struct Node {
    std::string name;  // node description; need not be unique
    Guid guid;
    Guid system_guid;
    std::uint32_t vendor = 0;
    std::uint32_t device = 0;
    std::uint32_t first_port = 0;
    std::uint16_t chassis = 0;  // 0: not part of a chassis group
    NodeKind kind = NodeKind::switch_;
    std::uint8_t ports = 0;  // numbered 1..ports; port 0 is the switch itself
    bool enhanced_port0 = false;
    bool shares_name = false;  // another node has the same name; see mark_shared_names
    std::string chassis_slot;  // as the discovery tool words it ("spine 2 chip 1"), usually empty
};

// A graph in two flat arrays; a 36-port switch costs about a kilobyte. NodeIds and PortIndexes stay
// valid while nodes are added. Not thread-safe while it changes; free to share once built.
class Fabric {
public:
    // Adds a node with unconnected ports 0..ports. A zero guid is replaced by a unique invented one.
    // Throws Error when ports is 255 or the guid is taken.
    NodeId add_node(NodeKind kind, std::uint8_t ports, std::string name, Guid guid = no_guid);

    // Joins two ports. Throws Error naming both ends when either is already connected, is port 0 or
    // beyond the node's last port, or when both are the same port.
    void connect(NodeId a, PortNum a_port, NodeId b, PortNum b_port, LinkRate rate = {Width::x4, Speed::qdr});
    void disconnect(NodeId node, PortNum port);

    [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
    [[nodiscard]] std::size_t port_count() const { return ports_.size(); }  // port 0s included
    [[nodiscard]] std::size_t link_count() const { return links_; }
    [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
    [[nodiscard]] std::span<const Port> all_ports() const { return ports_; }

    [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id.value]; }
    [[nodiscard]] Node& node(NodeId id) { return nodes_[id.value]; }
    [[nodiscard]] const Port& port(PortIndex index) const { return ports_[index.value]; }
    [[nodiscard]] Port& port(PortIndex index) { return ports_[index.value]; }
    [[nodiscard]] PortIndex port_index(NodeId id, PortNum number) const {
        return PortIndex{node(id).first_port + number.value};
    }
    [[nodiscard]] const Port& port(NodeId id, PortNum number) const { return port(port_index(id, number)); }
    [[nodiscard]] Port& port(NodeId id, PortNum number) { return port(port_index(id, number)); }
    // Ports 1..n of a node, in order.
    [[nodiscard]] std::span<const Port> ports(NodeId id) const {
        return std::span(ports_).subspan(node(id).first_port + 1, node(id).ports);
    }

    [[nodiscard]] std::vector<NodeId> nodes_of(NodeKind kind) const;

    // Memory held, unused capacity and long names included: 64 bytes a port in trees of 11,664 and 45,056 hosts.
    [[nodiscard]] std::size_t memory_bytes() const;

    // Gives a LID to every end port that has none: connected host and router ports in (leaf switch,
    // port) order first, then switches; 2^lmc consecutive ones, aligned, for each host port. LIDs already
    // there are kept. Throws Error when the 49,151 unicast LIDs do not suffice.
    void assign_lids(std::uint8_t lmc = 0);
    void clear_lids();

    std::string title;  // where it came from, for reports

private:
    std::vector<Node> nodes_;
    std::vector<Port> ports_;
    std::unordered_set<Guid> guids_;  // to keep them unique
    std::size_t links_ = 0;
    std::uint64_t next_guid_ = 0x4c6f6f6d00000100u;  // "Loom" and a counter; 256 apart, for the ports' own
};

// Finds the nodes whose name is not theirs alone. Every fabric that was read has been through this; one that
// is made by hand may be. Cost: one pass over the nodes.
void mark_shared_names(Fabric& fabric);

// "name port 7", or "0x… port 7" when the node has no name; "name (0x…) port 7" when it shares its name.
[[nodiscard]] std::string describe(const Fabric& fabric, NodeId node);
[[nodiscard]] std::string describe(const Fabric& fabric, NodeId node, PortNum port);
// 0x followed by 16 hex digits.
[[nodiscard]] std::string to_string(Guid guid);

}  // namespace loom::fabric
