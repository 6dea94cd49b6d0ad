#include "sim/packet/plant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "loom/base/error.hpp"
#include "sim/paths.hpp"

namespace loom::sim::packet {

namespace {

constexpr std::uint32_t assumed_megabits = 32'000;  // a link whose rate no one wrote down: 4xQDR
constexpr unsigned longest_window = 19;             // 2^19 ps: a run stops within a microsecond of any moment

std::uint32_t megabits(fabric::LinkRate rate) {
    const std::uint32_t known = rate.megabits();
    return known != 0 ? known : assumed_megabits;
}

std::uint32_t picoseconds_a_byte_256(fabric::LinkRate rate) {
    const std::uint64_t speed = megabits(rate);
    return static_cast<std::uint32_t>((8'000'000ull * 256 + speed / 2) / speed);
}

}  // namespace

Plant::Plant(const Network& the_network, std::uint32_t ranks, const traffic::Schedule* schedule,
             const PacketOptions& the_options)
    : network(&the_network), options(&the_options) {
    place_ranks(ranks, schedule);
    lay_out();
    choose_lanes(schedule);
    if (options->paths == PathChoice::adaptive) find_near_ports();
}

void Plant::place_ranks(std::uint32_t ranks, const traffic::Schedule* schedule) {
    const fabric::Fabric& fabric = network->graph->fabric();
    rank_endpoint.assign(ranks, none);
    std::vector<Endpoint> by_port(fabric.port_count(), none);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        const PortIndex where = network->placement.hosts[r];
        if (where == no_port) {
            if (schedule == nullptr || !schedule->ops(Rank{r}).empty())
                throw Error(fmt::format("rank {} has work to do and no host", r));
            continue;
        }
        Endpoint& endpoint_index = by_port[where.value];
        if (endpoint_index == none) {
            const fabric::Port& port_there = fabric.port(where);
            const routing::SwitchIndex leaf =
                port_there.connected() ? network->graph->index(fabric.port(port_there.peer).node) : routing::none;
            if (leaf == routing::none)
                throw Error(fmt::format("rank {}: {} is not connected to a switch", r,
                                        fabric::describe(fabric, port_there.node, port_there.number)));
            endpoint_index = static_cast<Endpoint>(endpoint.size());
            endpoint.push_back({0, port_there.lid, port_there.lmc, leaf, where});
        }
        rank_endpoint[r] = endpoint_index;
    }
}

void Plant::lay_out() {
    const routing::SwitchGraph& graph = *network->graph;
    const fabric::Fabric& fabric = graph.fabric();
    switches = graph.switch_count();
    switch_ports = graph.channel_count();
    ports = switch_ports + static_cast<std::uint32_t>(endpoint.size());
    if (ports >= 1u << Event::port_bits) throw Error(fmt::format("{} ports are more than can be played", ports));
    port.resize(ports);
    port_of_fabric.assign(fabric.port_count(), none);
    cable = options->cable_delay.ps;

    std::uint32_t widest = 1;
    switch_info.resize(switches);
    for (routing::SwitchIndex s = 0; s < switches; ++s) {
        const auto row = network->tables->row(s);
        switch_info[s] = {graph.channel(s, 0), graph.port_count(s) + 1, row.data(),
                          static_cast<std::uint32_t>(row.size())};
        widest = std::max(widest, switch_info[s].width);
        for (unsigned n = 1; n <= graph.port_count(s); ++n)
            port_of_fabric[fabric.port_index(graph.node(s), PortNum{static_cast<std::uint8_t>(n)}).value] =
                graph.channel(s, n);
    }
    mask_words = (widest + 63) / 64;
    for (Endpoint e = 0; e < endpoint.size(); ++e) {
        endpoint[e].port = switch_ports + e;
        port_of_fabric[endpoint[e].where.value] = endpoint[e].port;
        for (std::uint32_t i = 0; options->retries && i < 1u << endpoint[e].lmc; ++i) {
            port_of_lid.resize(std::max<std::size_t>(port_of_lid.size(), endpoint[e].lid.value + i + 1u), none);
            port_of_lid[endpoint[e].lid.value + i] = endpoint[e].port;
        }
    }

    for (std::uint32_t f = 0; f < fabric.port_count(); ++f) {
        const Port p = port_of_fabric[f];
        const fabric::Port& there = fabric.port(PortIndex{f});
        if (p == none || !there.connected()) continue;
        const Port peer = port_of_fabric[there.peer.value];
        if (peer == none) continue;  // a host where no rank sits: nothing goes there
        port[p].peer = peer;
        port[p].rate = picoseconds_a_byte_256(there.rate);
        port[p].speed = megabits(there.rate);
        port[p].to_host = !is_switch_port(peer);
        port[p].reach = cable + (port[p].to_host ? options->host_delay.ps : options->switch_delay.ps);
    }

    // A switch and then its hosts: neighbours in memory, and usually in one worker.
    std::vector<std::vector<Endpoint>> hosts_of(switches);
    for (Endpoint e = 0; e < endpoint.size(); ++e) hosts_of[endpoint[e].leaf].push_back(e);
    for (routing::SwitchIndex s = 0; s < switches; ++s) {
        for (std::uint32_t n = 0; n < switch_info[s].width; ++n) port[switch_info[s].first + n].entity = entities;
        entity.push_back({s, true});
        ++entities;
        for (const Endpoint e : hosts_of[s]) {
            port[endpoint[e].port].entity = entities;
            entity.push_back({e, false});
            ++entities;
        }
    }

    // Whatever leaves in a window arrives in a later one.
    const std::int64_t shortest = cable + std::min(options->switch_delay.ps, options->host_delay.ps);
    if (shortest < 1'000) throw UsageError("cable delay and switch or host delay together must be at least 1 ns");
    window_shift =
        std::min(longest_window, static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(shortest)) - 1));
}

std::uint16_t Plant::address(Rank from, Rank to) const {
    const fabric::Port& there = network->graph->fabric().port(endpoint[rank_endpoint[to.value]].where);
    return destination_lid(there, options->lids, from, to).value;
}

std::uint8_t Plant::lane(Endpoint from, std::uint16_t dlid, std::uint8_t sl) const {
    if (options->use_table_lanes && network->tables->has_lanes())
        return network->tables->lane(endpoint[from].leaf, Lid{dlid});
    return options->sl_to_vl[sl];
}

void Plant::choose_lanes(const traffic::Schedule* schedule) {
    if (options->use_table_lanes && network->tables->has_lanes()) {
        lanes = network->tables->lane_count();
    } else if (schedule == nullptr) {
        lanes = *std::max_element(options->sl_to_vl.begin(), options->sl_to_vl.end()) + 1u;
    } else {
        for (const traffic::Op& op : schedule->ops()) {
            if (op.kind != traffic::OpKind::send) continue;
            if (op.sl >= service_levels) throw Error(fmt::format("service level {} does not exist", op.sl));
            lanes = std::max(lanes, options->sl_to_vl[op.sl] + 1u);
        }
    }
    if (options->lanes != 0 && options->lanes < lanes)
        throw UsageError(fmt::format("{} lanes are needed, {} are there", lanes, options->lanes));
    lanes = std::max(lanes, options->lanes);
    if (lanes > max_lanes) throw UsageError(fmt::format("{} lanes are needed, a port has {}", lanes, max_lanes));
}

void Plant::find_near_ports() {
    const routing::SwitchGraph& graph = *network->graph;
    std::vector<std::uint32_t> number(switches, none);  // of the switches that have endpoints
    std::vector<routing::SwitchIndex> leaf_switches;
    leaf_of_lid.assign(network->tables->top_lid().value + 1u, none);
    for (const EndpointInfo& end : endpoint) {
        if (number[end.leaf] == none) {
            number[end.leaf] = leaves++;
            leaf_switches.push_back(end.leaf);
        }
        for (std::uint32_t i = 0; i < 1u << end.lmc; ++i)
            if (end.lid.value + i < leaf_of_lid.size()) leaf_of_lid[end.lid.value + i] = number[end.leaf];
    }
    near.assign(std::size_t{switches} * leaves * mask_words, 0);
    lids = static_cast<std::uint32_t>(leaf_of_lid.size());
    straight.assign(std::size_t{switches} * lids, 0);
    std::vector<std::uint32_t> hops(switches);
    std::vector<routing::SwitchIndex> queue;
    for (std::uint32_t l = 0; l < leaves; ++l) {
        std::fill(hops.begin(), hops.end(), none);
        queue.assign(1, leaf_switches[l]);
        hops[leaf_switches[l]] = 0;
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (unsigned n = 1; n <= graph.port_count(queue[i]); ++n) {
                const routing::SwitchIndex next = graph.next(graph.channel(queue[i], n));
                if (next == routing::none || hops[next] != none) continue;
                hops[next] = hops[queue[i]] + 1;
                queue.push_back(next);
            }
        for (routing::SwitchIndex s = 0; s < switches; ++s)
            for (unsigned n = 1; n <= graph.port_count(s); ++n) {
                const routing::SwitchIndex next = graph.next(graph.channel(s, n));
                if (next != routing::none && hops[s] != none && hops[next] + 1 == hops[s])
                    near[(std::size_t{s} * leaves + l) * mask_words + n / 64] |= std::uint64_t{1} << (n % 64);
            }
        find_straight_ways(queue, l);
    }
}

// `by_hops`: switches in the order of their distance from the leaf, the leaf itself first.
void Plant::find_straight_ways(const std::vector<routing::SwitchIndex>& by_hops, std::uint32_t leaf) {
    const routing::SwitchGraph& graph = *network->graph;
    for (std::uint32_t lid = 0; lid < lids; ++lid) {
        if (leaf_of_lid[lid] != leaf) continue;
        straight[std::size_t{by_hops.front()} * lids + lid] = 1;
        for (std::size_t i = 1; i < by_hops.size(); ++i) {
            const routing::SwitchIndex s = by_hops[i];
            const std::uint8_t number = switch_info[s].row[lid];
            if (number == routing::no_route) continue;
            const std::uint64_t word = near[(std::size_t{s} * leaves + leaf) * mask_words + number / 64];
            if (((word >> (number % 64)) & 1u) == 0) continue;
            straight[std::size_t{s} * lids + lid] =
                straight[std::size_t{graph.next(graph.channel(s, number))} * lids + lid];
        }
    }
}

std::string describe(const Plant& plant, Port p) {
    const fabric::Fabric& fabric = plant.network->graph->fabric();
    if (!plant.is_switch_port(p)) {
        const fabric::Port& there = fabric.port(plant.endpoint[p - plant.switch_ports].where);
        return fabric::describe(fabric, there.node, there.number);
    }
    const std::uint32_t s = plant.entity[plant.port[p].entity].index;
    return fabric::describe(fabric, plant.network->graph->node(s),
                            PortNum{static_cast<std::uint8_t>(p - plant.switch_info[s].first)});
}

}  // namespace loom::sim::packet
