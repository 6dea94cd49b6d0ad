#include "report/groups.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace loom::report {

namespace {

using fabric::Fabric;
using fabric::Levels;
using fabric::NodeKind;

// A label for each switch whose level is in [low, high]: equal when cables within these levels join them.
std::vector<std::uint32_t> components(const Fabric& fabric, const Levels& levels, unsigned low, unsigned high) {
    std::vector<std::uint32_t> parent(fabric.node_count());
    std::iota(parent.begin(), parent.end(), 0u);
    const auto find = [&](std::uint32_t at) {
        while (parent[at] != at) at = parent[at] = parent[parent[at]];
        return at;
    };
    const auto inside = [&](NodeId node) {
        const std::uint8_t level = levels.level[node.value];
        return level != fabric::no_level && level >= low && level <= high;
    };
    for (const fabric::Port& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        const NodeId other = fabric.port(port.peer).node;
        if (inside(port.node) && inside(other)) parent[find(port.node.value)] = find(other.value);
    }
    for (std::uint32_t node = 0; node < parent.size(); ++node) parent[node] = find(node);
    return parent;
}

// Members joined by label, in the order in which the labels first appear.
std::vector<std::vector<NodeId>> by_label(const std::vector<NodeId>& members, const std::vector<std::uint32_t>& label) {
    std::unordered_map<std::uint32_t, std::size_t> position;
    std::vector<std::vector<NodeId>> groups;
    for (const NodeId node : members) {
        const auto [at, added] = position.try_emplace(label[node.value], groups.size());
        if (added) groups.emplace_back();
        groups[at->second].push_back(node);
    }
    return groups;
}

std::vector<std::vector<NodeId>> join(const Fabric& fabric, const Levels& levels, unsigned level,
                                      const std::vector<NodeId>& members, std::size_t most) {
    if (members.size() > most) {
        for (unsigned high = level; high < levels.top; ++high)
            if (auto groups = by_label(members, components(fabric, levels, 0, high)); groups.size() <= most)
                return groups;
        for (unsigned low = level; low > 0; --low) {
            auto groups = by_label(members, components(fabric, levels, low, levels.top));
            if (groups.size() <= most && groups.size() > 1) return groups;
        }
    }
    const std::size_t each = (members.size() + most - 1) / most;
    std::vector<std::vector<NodeId>> groups;
    for (std::size_t at = 0; at < members.size(); at += each)
        groups.emplace_back(members.begin() + static_cast<std::ptrdiff_t>(at),
                            members.begin() + static_cast<std::ptrdiff_t>(std::min(at + each, members.size())));
    return groups;
}

// Puts each row in the order of what hangs below it, which keeps lines short and subtrees together.
void arrange(Groups& groups) {
    std::vector<double> place(groups.boxes.size());
    for (std::size_t level = 0; level < groups.rows.size(); ++level) {
        auto& row = groups.rows[level];
        if (level > 0) {
            std::vector<double> sum(groups.boxes.size()), weight(groups.boxes.size());
            for (const Bundle& bundle : groups.bundles) {
                sum[bundle.upper] += place[bundle.lower] * static_cast<double>(bundle.cables);
                weight[bundle.upper] += static_cast<double>(bundle.cables);
            }
            std::stable_sort(row.begin(), row.end(), [&](std::size_t a, std::size_t b) {
                const double at_a = weight[a] > 0 ? sum[a] / weight[a] : 1,
                             at_b = weight[b] > 0 ? sum[b] / weight[b] : 1;
                return at_a < at_b - 1e-9;
            });
        }
        for (std::size_t i = 0; i < row.size(); ++i)
            place[row[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(row.size());
    }
}

}  // namespace

Groups group_switches(const Fabric& fabric, const Levels& levels, std::size_t most, std::span<const double> load) {
    Groups groups;
    std::vector<std::vector<NodeId>> members(std::size_t{levels.top} + 1);
    std::vector<bool> listed(fabric.node_count());
    for (const NodeId leaf : levels.leaf_order) {
        members[0].push_back(leaf);
        listed[leaf.value] = true;
    }
    for (const NodeId node : fabric.nodes_of(NodeKind::switch_)) {
        const std::uint8_t level = levels.level[node.value];
        if (level == fabric::no_level)
            ++groups.cut_off;
        else if (!listed[node.value])
            members[level].push_back(node);
    }

    std::vector<std::size_t> box_of(fabric.node_count(), SIZE_MAX);
    groups.rows.resize(members.size());
    for (unsigned level = 0; level < members.size(); ++level)
        for (auto& switches : join(fabric, levels, level, members[level], std::max<std::size_t>(most, 1))) {
            for (const NodeId node : switches) box_of[node.value] = groups.boxes.size();
            groups.rows[level].push_back(groups.boxes.size());
            groups.boxes.push_back({std::move(switches), 0});
        }

    std::map<std::pair<std::size_t, std::size_t>, Bundle> bundles;
    const auto ports = fabric.all_ports();
    for (std::uint32_t index = 0; index < ports.size(); ++index) {
        const fabric::Port& port = ports[index];
        const std::size_t here = box_of[port.node.value];
        if (!port.connected() || here == SIZE_MAX) continue;
        const NodeId other = fabric.port(port.peer).node;
        const std::size_t there = box_of[other.value];
        if (there == SIZE_MAX) {
            if (fabric.node(other).kind != NodeKind::switch_) ++groups.boxes[here].hosts;
            continue;
        }
        if (here == there) continue;
        Bundle& bundle = bundles.try_emplace(std::minmax(here, there)).first->second;  // boxes are numbered upwards
        bundle.lower = std::min(here, there);
        bundle.upper = std::max(here, there);
        if (port.peer.value > index) ++bundle.cables;
        const double flows = index < load.size() ? load[index] : 0;
        if (bundle.hottest == no_port || flows > bundle.load) {
            bundle.load = flows;
            bundle.hottest = PortIndex{index};
        }
    }
    for (const auto& [ends, bundle] : bundles) groups.bundles.push_back(bundle);
    arrange(groups);
    return groups;
}

}  // namespace loom::report
