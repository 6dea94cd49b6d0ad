// Writes what ibnetdiscover would print for the fabric: plain, full (-f) or grouped by chassis (-g).
#include <algorithm>

#include "fabric/io/formats.hpp"
#include "fabric/io/output.hpp"
#include "fabric/io/words.hpp"

namespace loom::fabric::io {
namespace {

constexpr unsigned eight_lanes = 4;  // PortInfo's code for VL0-7, what nearly all equipment has

class Writer {
public:
    Writer(const Fabric& fabric, std::ostream& out, Discovery discovery)
        : fabric_(fabric), discovery_(discovery), text_(out) {}

    void write() {
        text_.put("#\n# Topology file: {}\n#\n", printable(fabric_.title));
        if (fabric_.node_count() != 0) {
            const Node& first = fabric_.node(NodeId{0});
            text_.put("# Initiated from node {:016x} port {:016x}\n", first.guid.value,
                      fabric_
                          .port(NodeId{0},
                                PortNum{first.kind == NodeKind::switch_ ? std::uint8_t{0} : first_connected(first)})
                          .guid.value);
        }
        if (discovery_ == Discovery::grouped) {
            std::vector<std::uint16_t> groups;
            for (const Node& node : fabric_.nodes())
                if (node.chassis != 0) groups.push_back(node.chassis);
            std::sort(groups.begin(), groups.end());
            groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
            for (const std::uint16_t group : groups) {
                text_.put("\nChassis {}\n", group);
                for (const NodeKind kind : {NodeKind::switch_, NodeKind::host, NodeKind::router})
                    put_nodes(kind, group);
            }
            text_.put("\nNon-Chassis Nodes\n");
        }
        for (const NodeKind kind : {NodeKind::switch_, NodeKind::host, NodeKind::router}) put_nodes(kind, 0);
    }

private:
    std::uint8_t first_connected(const Node& node) const {
        for (unsigned p = 1; p <= node.ports; ++p)
            if (fabric_.port(PortIndex{node.first_port + p}).connected()) return static_cast<std::uint8_t>(p);
        return 0;
    }

    void put_nodes(NodeKind kind, std::uint16_t group) {
        for (std::uint32_t n = 0; n < fabric_.node_count(); ++n) {
            const Node& node = fabric_.node(NodeId{n});
            if (node.kind != kind || (discovery_ == Discovery::grouped && node.chassis != group)) continue;
            put_header(node, NodeId{n});
            for (const Port& port : fabric_.ports(NodeId{n}))
                if (port.connected()) put_port(node, port);
        }
    }

    void put_header(const Node& node, NodeId id) {
        const bool grouped = discovery_ == Discovery::grouped;
        text_.put("\nvendid=0x{:x}\ndevid=0x{:x}\n", node.vendor, node.device);
        if (node.system_guid != no_guid || (grouped && node.chassis != 0)) {
            text_.put("sysimgguid=0x{:x}", node.system_guid.value);
            if (grouped && node.chassis != 0) text_.put("\t\t# Chassis {}", node.chassis);
            text_.raw("\n");
        }
        if (node.kind == NodeKind::switch_) {
            const Port& port0 = fabric_.port(id, PortNum{0});
            text_.put("switchguid=0x{:x}({:x})", node.guid.value, port0.guid.value);
            if (grouped) text_.put("\t# {}", printable(node.chassis_slot));
            text_.put("\nSwitch\t{} \"{}\"\t\t# \"{}\" {} port 0 lid {} lmc {}\n", node.ports, id_of(node),
                      printable(node.name), node.enhanced_port0 ? "enhanced" : "base", port0.lid.value, port0.lmc);
        } else {
            const bool host = node.kind == NodeKind::host;
            text_.put("{}guid=0x{:x}\n{}\t{} \"{}\"\t\t# \"{}\"\n", host ? "ca" : "rt", node.guid.value,
                      host ? "Ca" : "Rt", node.ports, id_of(node), printable(node.name));
        }
    }

    void put_port(const Node& node, const Port& port) {
        const Port& peer = fabric_.port(port.peer);
        const Node& other = fabric_.node(peer.node);
        const bool to_switch = other.kind == NodeKind::switch_;
        text_.put("[{}]", port.number.value);
        if (node.kind != NodeKind::switch_) text_.put("({:x}) ", port.guid.value);
        text_.put("\t\"{}\"[{}]", id_of(other), peer.number.value);
        if (!to_switch) text_.put("({:x}) ", peer.guid.value);
        text_.put("\t\t# ");
        if (node.kind != NodeKind::switch_) text_.put("lid {} lmc {} ", port.lid.value, port.lmc);
        const Lid peer_lid = to_switch ? fabric_.port(peer.node, PortNum{0}).lid : peer.lid;
        text_.put("\"{}\" lid {} {}{}", printable(other.name), peer_lid.value, width_word(port.rate.width),
                  speed_word(port.rate.speed));
        if (discovery_ == Discovery::full)
            text_.put(" s={} w={} v={}", speed_bits(port.rate.speed), width_bits(port.rate.width), eight_lanes);
        text_.raw("\n");
    }

    const Fabric& fabric_;
    Discovery discovery_;
    Output text_;
};

}  // namespace

void write_ibnetdiscover(const Fabric& fabric, std::ostream& out, Discovery discovery) {
    if (discovery == Discovery::ports) return write_port_report(fabric, out);
    Writer(fabric, out, discovery).write();
}

}  // namespace loom::fabric::io
