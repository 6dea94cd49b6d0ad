// The net file of ibsim, InfiniBand's fabric simulator. It takes node and system GUIDs, LIDs and rates from the
// same comments that ibnetdiscover prints; ids are free, so names serve where they can.
#include <unordered_map>

#include "fabric/io/formats.hpp"
#include "fabric/io/output.hpp"
#include "fabric/io/words.hpp"

namespace loom::fabric::io {
namespace {

// ibsim cuts ids at 64 bytes, keeps '#' and '@' for itself, ends them at a quote and reads any '=' as an option.
bool may_be_id(std::string_view name) {
    if (name.empty() || name.size() > 60 || guid_in_id(name)) return false;
    for (const char c : name)
        if (c < ' ' || c > '~' || c == '"' || c == '#' || c == '@' || c == '=' || c == '[' || c == ']') return false;
    return name.front() != ' ' && name.back() != ' ';
}

std::vector<std::string> choose_ids(const Fabric& fabric) {
    std::unordered_map<std::string_view, unsigned> uses;
    for (const Node& node : fabric.nodes()) ++uses[node.name];
    std::vector<std::string> ids;
    ids.reserve(fabric.node_count());
    for (const Node& node : fabric.nodes())
        ids.push_back(may_be_id(node.name) && uses[node.name] == 1 ? node.name : id_of(node));
    return ids;
}

// ibsim knows no faster name and no unknown rate: links it cannot name come up 4xSDR.
std::string rate_text(LinkRate rate) {
    if (rate.width == Width::unknown) rate.width = Width::x4;
    if (rate.speed == Speed::unknown) rate.speed = Speed::sdr;
    return to_string(rate);
}

std::string description(const Node& node) {
    std::string text = printable(node.name);
    for (char& c : text)
        if (c == '"') c = '\'';
    if (text.size() > 64) text.resize(64);
    return text;
}

}  // namespace

void write_ibsim(const Fabric& fabric, std::ostream& out) {
    const std::vector<std::string> ids = choose_ids(fabric);
    Output text(out);
    text.put("# ibsim net file: {}\n", printable(fabric.title));
    for (std::uint32_t n = 0; n < fabric.node_count(); ++n) {
        const Node& node = fabric.node(NodeId{n});
        if (node.ports == 0) continue;  // ibsim wants at least one
        text.put("\nvendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=0x{:x}\n", node.vendor, node.device,
                 node.system_guid.value);
        const bool is_switch = node.kind == NodeKind::switch_;
        if (is_switch) {
            const Port& port0 = fabric.port(NodeId{n}, PortNum{0});
            text.put("switchguid=0x{:x}\nSwitch\t{} \"{}\"\t\t# \"{}\" {} port 0 lid {} lmc {}\n", node.guid.value,
                     node.ports, ids[n], description(node), node.enhanced_port0 ? "enhanced" : "base", port0.lid.value,
                     port0.lmc);
        } else {
            const bool host = node.kind == NodeKind::host;
            text.put("{}guid=0x{:x}\n{}\t{} \"{}\"\t\t# \"{}\"\n", host ? "ca" : "rt", node.guid.value,
                     host ? "Hca" : "Rt", node.ports, ids[n], description(node));
        }
        for (const Port& port : fabric.ports(NodeId{n})) {
            if (!port.connected()) continue;
            const Port& peer = fabric.port(port.peer);
            const Node& other = fabric.node(peer.node);
            const Lid peer_lid = other.kind == NodeKind::switch_ ? fabric.port(peer.node, PortNum{0}).lid : peer.lid;
            text.put("[{}]\t\"{}\"[{}] \t\t# ", port.number.value, ids[peer.node.value], peer.number.value);
            if (!is_switch) text.put("lid {} lmc {} ", port.lid.value, port.lmc);
            text.put("\"{}\" lid {} {}\n", ids[peer.node.value], peer_lid.value, rate_text(port.rate));
        }
    }
}

}  // namespace loom::fabric::io
