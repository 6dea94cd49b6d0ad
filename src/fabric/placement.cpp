#include "loom/fabric/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/host_list.hpp"
#include "loom/base/random.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/host_order_io.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/fabric/placement_doubts.hpp"

namespace loom::fabric {
namespace {

constexpr std::size_t most_names = 1'000'000;

bool usable(const Fabric& fabric, const Port& port) {
    return port.connected() && fabric.node(port.node).kind != NodeKind::switch_ &&
           fabric.node(fabric.port(port.peer).node).kind == NodeKind::switch_;
}

// Finds hosts by what people call them; a table lookup a name.
class HostFinder {
public:
    explicit HostFinder(const Fabric& fabric) : fabric_(&fabric) {
        for (std::uint32_t i = 0; i < fabric.node_count(); ++i) {
            const NodeId id{i};
            const Node& node = fabric.node(id);
            if (node.kind == NodeKind::switch_) continue;
            std::vector<PortIndex> ports;
            for (const Port& port : fabric.ports(id)) {
                if (!usable(fabric, port)) continue;
                const PortIndex index = fabric.port_index(id, port.number);
                ports.push_back(index);
                by_guid_[port.guid] = index;
                for (unsigned k = 0; port.lid != no_lid && k < (1u << port.lmc); ++k)
                    by_lid_[port.lid.value + k] = index;
            }
            if (ports.empty()) continue;
            by_guid_.emplace(node.guid, ports.front());
            const auto add = [&](std::string_view name) {
                auto& all = by_name_[std::string(name)];
                all.insert(all.end(), ports.begin(), ports.end());
            };
            if (!node.name.empty()) add(node.name);
            if (const auto space = node.name.find(' '); space != std::string::npos)
                add(std::string_view(node.name).substr(0, space));
        }
    }

    std::optional<PortIndex> by_name(const std::string& name) {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) return std::nullopt;
        std::size_t& used = used_[name];
        if (used == 0) asked_.push_back(name);
        return found->second[used++ % found->second.size()];
    }

    [[nodiscard]] std::optional<PortIndex> by_number(std::string_view text) const {
        const bool hex = text.starts_with("0x") || text.starts_with("0X");
        if (hex) text.remove_prefix(2);
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
        if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
        if (hex) {
            const auto found = by_guid_.find(Guid{value});
            return found == by_guid_.end() ? std::nullopt : std::optional(found->second);
        }
        const auto found = by_lid_.find(value);
        return found == by_lid_.end() ? std::nullopt : std::optional(found->second);
    }

    // Names first: a node may well be called "17".
    void append(std::string_view text, std::vector<PortIndex>& out) {
        if (const auto port = by_name(std::string(text))) return out.push_back(*port);
        if (const auto port = by_number(text)) return out.push_back(*port);
        for (const std::string& name : expand_host_list(text)) {
            const auto port = by_name(name);
            if (!port)
                throw UsageError("expected a host of the fabric that is connected to a switch, got \"" + name + "\"");
            out.push_back(*port);
        }
    }

    [[nodiscard]] bool unique(const std::string& name) const {
        const auto found = by_name_.find(name);
        return found != by_name_.end() && found->second.size() == 1;
    }

    // What need not have meant what it was taken for: names of several hosts of which not all were asked for, and
    // names that are LIDs of others. A sentence each, with the first example.
    [[nodiscard]] std::vector<std::string> doubts() const {
        std::vector<std::string> remarks;
        std::size_t ambiguous = 0, numbers = 0;
        std::string hosts, number;
        for (const std::string& name : asked_) {
            const std::vector<PortIndex>& ports = by_name_.at(name);
            const NodeId taken = fabric_->port(ports.front()).node;
            const auto other = std::ranges::find_if(ports, [&](PortIndex p) { return fabric_->port(p).node != taken; });
            if (other != ports.end() && used_.at(name) < ports.size() && ++ambiguous == 1)
                hosts = fmt::format("\"{}\": {} and {}", name, describe(*fabric_, taken),
                                    describe(*fabric_, fabric_->port(*other).node));
            if (const auto port = by_number(name); port && fabric_->port(*port).node != taken && ++numbers == 1)
                number = fmt::format("\"{}\", the LID of {}", name, describe(*fabric_, fabric_->port(*port).node));
        }
        if (ambiguous != 0)
            remarks.push_back(
                fmt::format("{} several hosts (the first is {}); they are taken in turn, a GUID (0x...) "
                            "would say which",
                            ambiguous == 1 ? "a name fits" : fmt::format("{} names fit", ambiguous), hosts));
        if (numbers != 0)
            remarks.push_back(fmt::format("{} (the first is {}); the name counts",
                                          numbers == 1
                                              ? "a host's name is another's LID"
                                              : fmt::format("the names of {} hosts are LIDs of others", numbers),
                                          number));
        return remarks;
    }

private:
    const Fabric* fabric_;
    std::unordered_map<std::string, std::vector<PortIndex>> by_name_;
    std::unordered_map<std::string, std::size_t> used_;
    std::vector<std::string> asked_;  // names, in the order they were asked for
    std::unordered_map<Guid, PortIndex> by_guid_;
    std::unordered_map<std::uint64_t, PortIndex> by_lid_;
};

Placement read_lines(HostFinder& finder, std::string_view text, const std::string& file) {
    Placement placement;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        const std::string_view content = trim(line);
        if (content.empty() || content.front() == '#') continue;
        if (content == "-") {
            placement.hosts.push_back(no_port);
            continue;
        }
        try {
            finder.append(content, placement.hosts);
        } catch (const UsageError& error) {
            throw ParseError(file, lines.number(), error.what());
        }
    }
    if (placement.hosts.empty()) throw ParseError(file, lines.number(), "expected at least one host");
    return placement;
}

}  // namespace

Placement place_in_order(const Fabric& fabric) {
    Placement placement;
    for (const HostPort& host : host_order(fabric)) placement.hosts.push_back(host.port);
    return placement;
}

Placement place_with_keepers(const Fabric& fabric) {
    const auto order = host_order(fabric);
    const auto leaf = [&](const HostPort& host) { return fabric.port(host.switch_port).node; };
    const std::vector<PortNum> ports = host_places(fabric, order);
    std::size_t places = ports.size();
    if (ports.empty())  // hosts of a leaf are counted and the keepers come last
        for (std::size_t i = 0, first = 0; i < order.size(); ++i) {
            if (leaf(order[i]) != leaf(order[first])) first = i;
            places = std::max(places, i - first + 1);
        }

    Placement placement;
    for (std::size_t i = 0; i < order.size();) {
        const std::size_t first = placement.hosts.size();
        placement.hosts.resize(first + places, no_port);
        const NodeId here = leaf(order[i]);
        for (std::size_t counted = 0; i < order.size() && leaf(order[i]) == here; ++i, ++counted) {
            const auto port = std::lower_bound(ports.begin(), ports.end(), fabric.port(order[i].switch_port).number);
            placement.hosts[first + (ports.empty() ? counted : static_cast<std::size_t>(port - ports.begin()))] =
                order[i].port;
        }
    }
    return placement;
}

Placement shuffled(Placement placement, std::uint64_t seed) {
    Random(seed).shuffle(std::span(placement.hosts));
    return placement;
}

Placement read_placement(const Fabric& fabric, std::string_view text, const std::string& file) {
    if (is_host_order(text)) {
        Placement placement;
        for (const HostPort& host : bind_host_order(parse_host_order(text, file), fabric, file, PlaceKeepers::keep))
            placement.hosts.push_back(host.port);
        return placement;
    }
    HostFinder finder(fabric);
    return read_lines(finder, text, file);
}

std::vector<std::string> placement_doubts(const Fabric& fabric, std::string_view text) {
    if (is_host_order(text)) return {};
    HostFinder finder(fabric);
    (void)read_lines(finder, text, "placement");
    return finder.doubts();
}

std::vector<std::string> host_list_doubts(const Fabric& fabric, std::string_view host_list) {
    HostFinder finder(fabric);
    std::vector<PortIndex> hosts;
    finder.append(host_list, hosts);
    return finder.doubts();
}

Placement place_on_hosts(const Fabric& fabric, std::string_view host_list) {
    HostFinder finder(fabric);
    Placement placement;
    finder.append(host_list, placement.hosts);
    return placement;
}

std::vector<std::string> expand_host_list(std::string_view text) {
    try {
        return loom::expand_host_list(text, most_names);
    } catch (const Error& error) {
        throw UsageError(error.what());
    }
}

std::string to_text(const Fabric& fabric, const Placement& placement) {
    const HostFinder finder(fabric);
    std::string text;
    for (const PortIndex index : placement.hosts) {
        if (index == no_port) {
            text += "-\n";
            continue;
        }
        const Port& port = fabric.port(index);
        const std::string& name = fabric.node(port.node).name;
        const bool plain = !name.empty() && finder.unique(name) && trim(name) == name && name != "-" &&
                           name.front() != '#' && name.find('\n') == std::string::npos;
        text += plain ? name : to_string(port.guid);
        text += '\n';
    }
    return text;
}

}  // namespace loom::fabric
