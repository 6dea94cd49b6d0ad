// What a format cannot carry, found by writing a fabric, reading it back, and comparing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

#include "loom/base/error.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/levels.hpp"

namespace loom::fabric {
namespace {

// What can be counted without knowing which node became which.
struct Figures {
    std::map<std::string_view, std::size_t> kinds;    // nodes
    std::map<std::string, std::size_t> names, rates;  // nodes, cables
    std::map<unsigned, std::size_t> plugs;            // cable ends by port number
    std::size_t links = 0, lids = 0, lmcs = 0, supported = 0, chassis = 0, devices = 0, enhanced = 0;

    explicit Figures(const Fabric& fabric) : links(fabric.link_count()) {
        for (const Node& node : fabric.nodes()) {
            ++kinds[node.kind == NodeKind::switch_  ? "switches"
                    : node.kind == NodeKind::router ? "routers"
                    : is_aggregation_node(node)     ? "aggregation nodes"
                                                    : "hosts"];
            ++names[node.name];
            chassis += node.chassis != 0 || !node.chassis_slot.empty();
            devices += node.vendor != 0 || node.device != 0;
            enhanced += node.enhanced_port0;
        }
        for (const Port& port : fabric.all_ports()) {
            lids += port.lid != no_lid;
            lmcs += port.lid != no_lid && port.lmc != 0;
            if (!port.connected()) continue;
            ++plugs[port.number.value];
            ++rates[to_string(port.rate)];
            supported += port.supported.megabits() != 0;
        }
    }
};

// How many of the first are missing in the second.
template <class Key>
std::size_t missing(const std::map<Key, std::size_t>& before, const std::map<Key, std::size_t>& after) {
    std::size_t count = 0;
    for (const auto& [key, number] : before) {
        const auto found = after.find(key);
        count += number - std::min(number, found == after.end() ? 0 : found->second);
    }
    return count;
}

class Comparison {
public:
    Comparison(const Fabric& before, const Fabric& after, Format format)
        : before_(before), after_(after), old_(before), new_(after), format_(format) {}

    std::vector<std::string> run() {
        compare_nodes();
        if (old_.links != new_.links)
            say(fmt::format("of {} cables {} are left", old_.links, new_.links));
        else if (missing(old_.plugs, new_.plugs) != 0)
            say("port numbers are not kept");
        lost("LIDs", old_.lids, new_.lids);
        if (new_.lids != 0) lost("LMCs", old_.lmcs, new_.lmcs);
        if (old_.links == new_.links && missing(old_.rates, new_.rates) != 0)
            say(fmt::format("{} of {} rates are not kept", missing(old_.rates, new_.rates) / 2, old_.links));
        lost("the rates that the ends of cables support", old_.supported, new_.supported);
        lost("chassis and slots", old_.chassis, new_.chassis);
        lost("vendors and devices", old_.devices, new_.devices);
        lost("enhanced ports 0", old_.enhanced, new_.enhanced);
        return std::move(remarks_);
    }

private:
    void say(const std::string& what) { remarks_.push_back(fmt::format("{}: {}", name(format_), what)); }
    void lost(std::string_view what, std::size_t before, std::size_t after) {
        if (after < before)
            say(after == 0 ? fmt::format("{} are not kept", what)
                           : fmt::format("{} are not all kept, {} of {} are left", what, after, before));
    }

    void compare_nodes() {
        for (const auto& [kind, count] : old_.kinds)
            if (const std::size_t left = new_.kinds[kind]; left < count)
                say(fmt::format("of {} {} {} left{}", count, kind, left == 0 ? "none are" : fmt::format("{} are", left),
                                new_.kinds["hosts"] > old_.kinds["hosts"] ? ", some have become hosts" : ""));
        if (const std::size_t changed = missing(old_.names, new_.names);
            changed != 0 && before_.node_count() == after_.node_count())
            say(fmt::format("the names of {} nodes are changed", changed));
        // Readers invent GUIDs where the format has none, and may hit upon the same.
        if (format_ == Format::topo || format_ == Format::slurm) return say("GUIDs are not kept");
        std::unordered_map<Guid, const Node*> by_guid;
        for (const Node& node : after_.nodes()) by_guid.emplace(node.guid, &node);
        std::size_t systems = 0, ports = 0;
        for (std::uint32_t i = 0; i < before_.node_count(); ++i) {
            const Node& node = before_.node(NodeId{i});
            const auto found = by_guid.find(node.guid);
            if (found == by_guid.end()) continue;
            systems += found->second->system_guid != node.system_guid;
            for (unsigned p = 0; p <= std::min(node.ports, found->second->ports); ++p)
                if (const Port& port = before_.port(PortIndex{node.first_port + p});
                    port.guid != after_.port(PortIndex{found->second->first_port + p}).guid && port.connected()) {
                    ++ports;
                    break;
                }
        }
        if (systems != 0) say("the GUIDs of systems are not kept");
        if (ports != 0) say("the GUIDs of ports are not kept");
    }

    const Fabric& before_;
    const Fabric& after_;
    Figures old_, new_;
    Format format_;
    std::vector<std::string> remarks_;
};

}  // namespace

std::vector<std::string> losses(const Fabric& fabric, Format format, const WriteOptions& options) {
    std::ostringstream out;
    write_fabric(fabric, out, format, options);
    try {
        auto remarks = Comparison(fabric, parse_fabric(out.view(), "the file", format).fabric, format).run();
        const auto twins = std::ranges::count_if(fabric.nodes(), [](const Node& node) {
            return node.kind == NodeKind::host && node.shares_name && !is_aggregation_node(node);
        });
        if (format == Format::slurm && twins != 0)
            remarks.push_back(fmt::format("slurm: {} hosts share their name with another; a GUID was added", twins));
        return remarks;
    } catch (const Error& error) {
        return {fmt::format("what was written does not read back: {}", error.what())};
    }
}

}  // namespace loom::fabric
