#include "loom/fabric/fabric.hpp"

#include <cstdio>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "loom/base/error.hpp"

namespace loom::fabric {

NodeId Fabric::add_node(NodeKind kind, std::uint8_t ports, std::string name, Guid guid) {
    if (ports == 255) throw Error("a node has at most 254 ports, got 255 for " + name);
    if (guid == no_guid) {
        do {
            guid = Guid{next_guid_};
            next_guid_ += 0x100;
        } while (guids_.contains(guid));
    }
    if (!guids_.insert(guid).second) throw Error("two nodes have the GUID " + to_string(guid));

    const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
    Node node;
    node.name = std::move(name);
    node.guid = node.system_guid = guid;
    node.first_port = static_cast<std::uint32_t>(ports_.size());
    node.kind = kind;
    node.ports = ports;
    nodes_.push_back(std::move(node));
    for (unsigned number = 0; number <= ports; ++number) {
        Port port;
        port.node = id;
        port.number = PortNum{static_cast<std::uint8_t>(number)};
        // Adapters number their port GUIDs from the node's; a switch has one, that of the node.
        port.guid = kind == NodeKind::switch_ ? (number == 0 ? guid : no_guid) : Guid{guid.value + number};
        ports_.push_back(port);
    }
    return id;
}

void Fabric::connect(NodeId a, PortNum a_port, NodeId b, PortNum b_port, LinkRate rate) {
    const auto check = [&](NodeId id, PortNum number) {
        if (number.value == 0 || number.value > node(id).ports)
            throw Error(describe(*this, id, number) + " does not exist, expected a port from 1 to " +
                        std::to_string(node(id).ports));
        if (const Port& p = port(id, number); p.connected()) {
            const Port& other = port(p.peer);
            throw Error(describe(*this, id, number) + " is already connected to " +
                        describe(*this, other.node, other.number));
        }
    };
    check(a, a_port);
    check(b, b_port);
    if (a == b && a_port == b_port) throw Error(describe(*this, a, a_port) + " cannot be connected to itself");
    port(a, a_port).peer = port_index(b, b_port);
    port(b, b_port).peer = port_index(a, a_port);
    port(a, a_port).rate = port(b, b_port).rate = rate;
    ++links_;
}

void Fabric::disconnect(NodeId id, PortNum number) {
    Port& here = port(id, number);
    if (!here.connected()) return;
    for (Port* end : {&port(here.peer), &here}) {
        end->peer = no_port;
        end->rate = end->supported = {};
    }
    --links_;
}

std::vector<NodeId> Fabric::nodes_of(NodeKind kind) const {
    std::vector<NodeId> result;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
        if (nodes_[i].kind == kind) result.emplace_back(i);
    return result;
}

std::size_t Fabric::memory_bytes() const {
    const auto on_heap = [](const std::string& text) {
        return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
    };
    std::size_t bytes =
        sizeof *this + nodes_.capacity() * sizeof(Node) + ports_.capacity() * sizeof(Port) + on_heap(title);
    for (const Node& node : nodes_) bytes += on_heap(node.name) + on_heap(node.chassis_slot);
    // A set's element is linked and remembers its hash.
    return bytes + guids_.bucket_count() * sizeof(void*) + guids_.size() * (sizeof(Guid) + 2 * sizeof(void*));
}

void Fabric::clear_lids() {
    for (Port& port : ports_) {
        port.lid = no_lid;
        port.lmc = 0;
    }
}

void Fabric::assign_lids(std::uint8_t lmc) {
    if (lmc > 7) throw Error("an LMC is from 0 to 7, got " + std::to_string(lmc));
    std::vector<bool> taken(max_unicast_lid + 1u, false);
    taken[0] = true;
    for (const Port& port : ports_)
        if (port.lid != no_lid)
            for (unsigned i = 0; i < (1u << port.lmc) && port.lid.value + i <= max_unicast_lid; ++i)
                taken[port.lid.value + i] = true;

    unsigned next = 1;
    const auto give = [&](Port& port, unsigned bits) {
        if (port.lid != no_lid) return;
        const unsigned count = 1u << bits;
        for (unsigned lid = (next + count - 1) & ~(count - 1); lid + count - 1 <= max_unicast_lid; lid += count) {
            bool free = true;
            for (unsigned i = 0; i < count; ++i) free = free && !taken[lid + i];
            if (!free) continue;
            for (unsigned i = 0; i < count; ++i) taken[lid + i] = true;
            port.lid = Lid{static_cast<std::uint16_t>(lid)};
            port.lmc = static_cast<std::uint8_t>(bits);
            next = lid + count;
            return;
        }
        throw Error("the fabric needs more LIDs than the 49,151 a subnet has (LMC " + std::to_string(lmc) + ")");
    };

    for (std::uint32_t s = 0; s < nodes_.size(); ++s) {
        if (nodes_[s].kind != NodeKind::switch_) continue;
        for (const Port& switch_port : ports(NodeId{s}))
            if (switch_port.connected() && node(port(switch_port.peer).node).kind != NodeKind::switch_)
                give(port(switch_port.peer), lmc);
    }
    for (const Node& n : nodes_)  // cables between two hosts, with no switch
        if (n.kind != NodeKind::switch_)
            for (unsigned p = 1; p <= n.ports; ++p)
                if (ports_[n.first_port + p].connected()) give(ports_[n.first_port + p], lmc);
    for (const Node& n : nodes_)
        if (n.kind == NodeKind::switch_) give(ports_[n.first_port], 0);
}

void mark_shared_names(Fabric& fabric) {
    std::unordered_map<std::string_view, NodeId> first;
    first.reserve(fabric.node_count());
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i) fabric.node(NodeId{i}).shares_name = false;
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i) {
        Node& node = fabric.node(NodeId{i});
        const auto [entry, is_new] = first.try_emplace(node.name, NodeId{i});
        if (!is_new) node.shares_name = fabric.node(entry->second).shares_name = true;
    }
}

std::string to_string(Guid guid) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(guid.value));
    return text;
}

std::string describe(const Fabric& fabric, NodeId id) {
    const Node& node = fabric.node(id);
    if (node.name.empty()) return to_string(node.guid);
    return node.shares_name ? node.name + " (" + to_string(node.guid) + ")" : node.name;
}

std::string describe(const Fabric& fabric, NodeId id, PortNum port) {
    return describe(fabric, id) + " port " + std::to_string(port.value);
}

}  // namespace loom::fabric
