#include "loom/fabric/damage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/oddities.hpp"

namespace loom::fabric {

namespace {

// One end of every cable, the other end being the later port.
std::vector<PortIndex> all_cables(const Fabric& fabric) {
    std::vector<PortIndex> cables;
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i)
        if (const PortIndex index{i}; fabric.port(index).connected() && index < fabric.port(index).peer)
            cables.push_back(index);
    return cables;
}

std::string describe_cable(const Fabric& fabric, PortIndex end) {
    const Port& a = fabric.port(end);
    const Port& b = fabric.port(a.peer);
    return describe(fabric, a.node, a.number) + " - " + describe(fabric, b.node, b.number);
}

// GUIDs as tools print them: 0x0008f10400410015 and 8f10400410015, S-0008f10400410015 (also H- and R-).
std::optional<Guid> guid_in(std::string_view text) {
    if (text.size() > 2 && text[1] == '-' && (text[0] == 'S' || text[0] == 'H' || text[0] == 'R'))
        text.remove_prefix(2);
    Cursor cursor(text);
    const auto value = cursor.take_hex();
    if (!value || !cursor.done()) return std::nullopt;
    return Guid{*value};
}

class Wrecker {
public:
    Wrecker(const Fabric& fabric, const Damage& what)
        : what_(what), fabric_(fabric), random_(what.seed), gone_(fabric.node_count(), false) {}

    Damaged run() {
        const std::size_t switches = fabric_.nodes_of(NodeKind::switch_).size();
        const std::size_t hosts = fabric_.nodes_of(NodeKind::host).size(), links = fabric_.link_count();
        for (const std::string& name : what_.nodes) remove(find(name));
        for (const auto& [name, port] : what_.cables) cut_named(name, port);

        take("switches", what_.switches.of(switches), fabric_.nodes_of(NodeKind::switch_), [&](NodeId id) {
            if (gone(id) || (what_.last_cable == LastCable::keep && holds_last_cable(id))) return false;
            remove(id);
            return true;
        });
        take("hosts", what_.hosts.of(hosts), fabric_.nodes_of(NodeKind::host), [&](NodeId id) {
            if (gone(id)) return false;
            remove(id);
            return true;
        });
        take("links", what_.links.of(links), all_cables(fabric_), [&](PortIndex end) {
            const Port& port = fabric_.port(end);
            if (what_.last_cable == LastCable::keep && (is_last_cable(end) || is_last_cable(port.peer))) return false;
            result_.links.push_back(describe_cable(fabric_, end));
            fabric_.disconnect(port.node, port.number);
            return true;
        });
        take("links to slow down", what_.slow_links.of(links), all_cables(fabric_), [&](PortIndex end) {
            result_.slow.push_back(describe_cable(fabric_, end));
            for (const PortIndex side : {end, fabric_.port(end).peer}) {
                Port& port = fabric_.port(side);
                if (port.supported == LinkRate{}) port.supported = port.rate;
                port.rate.width = Width::x1;
            }
            return true;
        });

        std::vector<NodeId> left;
        for (std::uint32_t i = 0; i < fabric_.node_count(); ++i) {
            const NodeId id{i};
            if (!gone(id) && !std::ranges::any_of(fabric_.ports(id), &Port::connected)) remove(id);
            if (!gone(id)) left.push_back(id);
        }
        result_.fabric = rebuilt(fabric_, left);
        return std::move(result_);
    }

private:
    // Tries the candidates in random order until `count` were taken.
    template <class Item, class Try>
    void take(const char* what, std::size_t count, std::vector<Item> candidates, Try&& attempt) {
        if (count == 0) return;
        random_.shuffle(std::span(candidates));
        std::size_t taken = 0;
        for (const Item item : candidates) {
            if (taken == count) break;
            if (attempt(item)) ++taken;
        }
        if (taken < count)
            throw UsageError(fmt::format("cannot take {} {}: only {} can go{}", count, what, taken,
                                         what_.last_cable == LastCable::keep ? " while every host keeps a cable" : ""));
    }

    [[nodiscard]] bool gone(NodeId id) const { return gone_[id.value]; }

    void remove(NodeId id) {
        if (gone(id)) return;
        gone_[id.value] = true;
        auto& list = fabric_.node(id).kind == NodeKind::switch_ ? result_.switches : result_.hosts;
        list.push_back(describe(fabric_, id));
        for (unsigned port = 1; port <= fabric_.node(id).ports; ++port)
            fabric_.disconnect(id, PortNum{static_cast<std::uint8_t>(port)});
    }

    void cut_named(const std::string& name, PortNum port) {
        const NodeId id = find(name);
        if (port.value == 0 || port.value > fabric_.node(id).ports || !fabric_.port(id, port).connected())
            throw UsageError(fmt::format("no cable is plugged into {}", describe(fabric_, id, port)));
        result_.links.push_back(describe_cable(fabric_, fabric_.port_index(id, port)));
        fabric_.disconnect(id, port);
    }

    // A name as it stands comes first; what looks like a GUID is compared as a number.
    [[nodiscard]] NodeId find(const std::string& name) const {
        const std::optional<Guid> guid = guid_in(name);
        std::vector<NodeId> named;
        NodeId numbered = no_node;
        for (std::uint32_t i = 0; i < fabric_.node_count(); ++i) {
            const Node& node = fabric_.node(NodeId{i});
            if (node.name == name) named.emplace_back(i);
            if (guid && node.guid == *guid) numbered = NodeId{i};
        }
        if (named.size() > 1)
            throw UsageError(fmt::format("{} nodes are called \"{}\"; give a GUID, such as {}", named.size(), name,
                                         to_string(fabric_.node(named.front()).guid)));
        if (!named.empty()) return named.front();
        if (numbered == no_node) throw UsageError(fmt::format("there is no node called \"{}\"", name));
        return numbered;
    }

    [[nodiscard]] bool is_last_cable(PortIndex end) const {
        const NodeId id = fabric_.port(end).node;
        return fabric_.node(id).kind != NodeKind::switch_ &&
               std::ranges::count_if(fabric_.ports(id), &Port::connected) == 1;
    }

    // Would a host be left without a cable if this switch went? Counts the cables of each host to it.
    [[nodiscard]] bool holds_last_cable(NodeId id) const {
        return std::ranges::any_of(fabric_.ports(id), [&](const Port& port) {
            if (!port.connected()) return false;
            const NodeId host = fabric_.port(port.peer).node;
            if (fabric_.node(host).kind == NodeKind::switch_) return false;
            return std::ranges::all_of(
                fabric_.ports(host), [&](const Port& p) { return !p.connected() || fabric_.port(p.peer).node == id; });
        });
    }

    const Damage& what_;
    Fabric fabric_;
    Random random_;
    std::vector<bool> gone_;
    Damaged result_;
};

}  // namespace

std::size_t Amount::of(std::size_t total) const {
    if (!(share >= 0 && share <= 1)) throw UsageError(fmt::format("a share is from 0% to 100%, got {}%", share * 100));
    return count != 0 ? count : static_cast<std::size_t>(std::llround(share * static_cast<double>(total)));
}

Damaged damage(const Fabric& fabric, const Damage& what) {
    return Wrecker(fabric, what).run();
}

}  // namespace loom::fabric
