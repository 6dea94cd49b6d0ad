#include "routing/targets.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "routing/hops.hpp"
#include "routing/rank_index.hpp"

namespace loom::routing {
namespace {

TreeShape shape_of(const Tree& tree) {
    TreeShape shape;
    const SwitchGraph& graph = tree.graph();
    std::vector<SwitchIndex> at(graph.switch_count());
    std::iota(at.begin(), at.end(), 0u);
    for (unsigned level = 0; level < (tree.complete() ? tree.top() : 1); ++level) {
        unsigned slots = 0, parents = 0;
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
            if (tree.level(s) == level) {
                slots = std::max(slots, tree.slot_count(s));
                parents = std::max(parents, tree.parent_count(s));
            }
        if (slots == 0) break;
        shape.slots.push_back(slots);
        shape.parents.push_back(parents);
        shape.subtree.push_back(at);
        // In a complete tree the first slot leads all leaves of a subtree to the same switch.
        if (tree.complete())
            for (SwitchIndex& s : at)
                if (tree.level(s) == level && !tree.up(s).empty()) s = tree.up(s).front().other;
    }
    return shape;
}

}  // namespace

Targets::Targets(const Tree& tree, const fabric::Levels& levels, const RouteOptions& options) {
    const SwitchGraph& graph = tree.graph();
    const fabric::Fabric& fabric = graph.fabric();
    const std::vector<std::uint32_t> piece = find_pieces(graph).of;
    std::vector<std::uint32_t> leaf_position(graph.switch_count(), 0);
    for (std::uint32_t i = 0; i < levels.leaf_order.size(); ++i) leaf_position[graph.index(levels.leaf_order[i])] = i;
    const std::unordered_set<Guid> compute(options.compute.begin(), options.compute.end());

    std::vector<std::uint32_t> destination_of(fabric.port_count(), none);
    const auto destinations = graph.destinations();
    for (std::uint32_t i = 0; i < destinations.size(); ++i) destination_of[destinations[i].end.value] = i;

    // Hosts on leaves, ranked; everything else afterwards.
    std::vector<std::uint32_t> ranked;
    std::vector<bool> is_ranked(destinations.size(), false);
    std::vector<LeafHost> hosts;
    std::vector<fabric::HostPort> host_ports;
    for (const fabric::HostPort& host : host_order(fabric, levels)) {
        const std::uint32_t i = destination_of[host.port.value];
        const fabric::Port& end = fabric.port(host.port);
        if (i == none || tree.level(destinations[i].sw) != 0) continue;
        if (!compute.empty() && !compute.contains(end.guid) && !compute.contains(fabric.node(end.node).guid)) continue;
        ranked.push_back(i);
        is_ranked[i] = true;
        hosts.push_back(
            {destinations[i].sw, destinations[i].port, piece[destinations[i].sw], leaf_position[destinations[i].sw]});
        host_ports.push_back(host);
    }
    const std::vector<std::uint32_t> numbers = options.place_keepers
                                                   ? number_places(hosts, host_places(fabric, host_ports))
                                                   : number_hosts(hosts, shape_of(tree));

    const auto add = [&](const Destination& to, std::uint32_t index) {
        if (targets_.size() == ranked_ || targets_.back().sw != to.sw)
            blocks_.push_back(static_cast<std::uint32_t>(targets_.size()));
        // The LIDs of one host follow each other: each set of LIDs with the same offset is a rotation of
        // the order, as free of contention as the first, and a host's LIDs differ in their ways.
        for (unsigned offset = 0; offset < to.lid_count(); ++offset)
            targets_.push_back(
                {Lid{static_cast<std::uint16_t>(to.lid.value + offset)}, to.sw, to.port, index + offset});
    };
    std::vector<std::uint32_t> next_index(graph.switch_count(), 0);  // by piece
    for (std::size_t i = 0; i < ranked.size(); ++i) {
        add(destinations[ranked[i]], numbers[i]);
        next_index[hosts[i].piece] = std::max(next_index[hosts[i].piece], numbers[i] + 1);
    }
    ranked_ = targets_.size();
    for (std::uint32_t i = 0; i < graph.host_destinations().size(); ++i)
        if (!is_ranked[i]) add(destinations[i], next_index[piece[destinations[i].sw]]++);
    hosts_ = targets_.size();
    for (std::size_t i = graph.host_destinations().size(); i < destinations.size(); ++i) {
        blocks_.push_back(static_cast<std::uint32_t>(targets_.size()));
        targets_.push_back({destinations[i].lid, destinations[i].sw, 0, destinations[i].sw});
    }
    blocks_.push_back(static_cast<std::uint32_t>(targets_.size()));
}

}  // namespace loom::routing
