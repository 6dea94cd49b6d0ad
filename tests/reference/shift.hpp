// Contention of the shift all-to-all, by walking every pair of every stage.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "loom/fabric/levels.hpp"
#include "loom/routing/tables.hpp"

namespace loom::reference {

struct ShiftContention {
    unsigned worst = 0;    // most flows on a channel between switches, over all stages
    double mean = 0;       // of the worst of each stage
    std::size_t lost = 0;  // pairs that did not arrive
};

// The channels from a host's switch to the LID, or nothing when a packet is dropped or runs in a circle.
inline std::optional<std::vector<routing::ChannelIndex>> trace_route(const routing::SwitchGraph& graph,
                                                                     const routing::Tables& tables,
                                                                     routing::SwitchIndex from,
                                                                     const routing::Destination& to, Lid lid) {
    std::vector<routing::ChannelIndex> path;
    for (routing::SwitchIndex s = from;;) {
        if (s == to.sw && tables.port(s, lid) == to.port) return path;
        const std::uint8_t port = tables.port(s, lid);
        if (port == routing::no_route || port == 0 || port > graph.port_count(s) || path.size() > graph.switch_count())
            return std::nullopt;
        const routing::ChannelIndex channel = graph.channel(s, port);
        if (graph.next(channel) == routing::none) return std::nullopt;
        path.push_back(channel);
        s = graph.next(channel);
    }
}

inline ShiftContention shift_contention(const routing::SwitchGraph& graph, const routing::Tables& tables,
                                        const std::vector<fabric::HostPort>& order, unsigned lid_offset = 0) {
    std::map<std::uint32_t, routing::Destination> by_end;
    for (const routing::Destination& destination : graph.host_destinations())
        by_end[destination.end.value] = destination;
    ShiftContention result;
    double sum = 0;
    for (std::size_t shift = 1; shift < order.size(); ++shift) {
        std::map<routing::ChannelIndex, unsigned> load;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const routing::Destination& to = by_end.at(order[(i + shift) % order.size()].port.value);
            const auto path = trace_route(graph, tables, by_end.at(order[i].port.value).sw, to,
                                          Lid{static_cast<std::uint16_t>(to.lid.value + lid_offset)});
            if (!path)
                ++result.lost;
            else
                for (const routing::ChannelIndex channel : *path) ++load[channel];
        }
        unsigned worst = 1;
        for (const auto& [channel, flows] : load) worst = std::max(worst, flows);
        result.worst = std::max(result.worst, worst);
        sum += worst;
    }
    result.mean = order.size() < 2 ? 1 : sum / static_cast<double>(order.size() - 1);
    return result;
}

}  // namespace loom::reference
