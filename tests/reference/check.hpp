// The check as one would do it by hand: every pair walked, every dependency noted, a plain search for a cycle.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "loom/routing/check.hpp"

namespace loom::reference {

struct CheckAnswer {
    std::uint64_t routes = 0;
    std::array<std::uint64_t, routing::fault_kinds> faults{};
    std::map<unsigned, std::uint64_t> hops, excess;
    std::vector<std::uint64_t> load;
    std::set<unsigned> looping_lanes;  // by packets from hosts to hosts
    bool management_loop = false;
};

inline std::vector<std::vector<int>> switch_hops(const routing::SwitchGraph& graph) {
    const std::size_t n = graph.switch_count();
    std::vector<std::vector<int>> hops(n, std::vector<int>(n, -1));
    for (routing::SwitchIndex root = 0; root < n; ++root) {
        std::vector<routing::SwitchIndex> queue{root};
        hops[root][root] = 0;
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (unsigned p = 1; p <= graph.port_count(queue[i]); ++p)
                if (const auto to = graph.next(graph.channel(queue[i], p)); to != routing::none && hops[root][to] < 0) {
                    hops[root][to] = hops[root][queue[i]] + 1;
                    queue.push_back(to);
                }
    }
    return hops;
}

using Waits = std::map<routing::ChannelIndex, std::set<routing::ChannelIndex>>;

inline bool has_cycle(Waits waits) {
    // Takes away channels that wait for nothing until none is left or all wait.
    for (bool changed = true; changed;) {
        changed = false;
        for (auto it = waits.begin(); it != waits.end();) {
            for (auto to = it->second.begin(); to != it->second.end();)
                to = waits.contains(*to) ? std::next(to) : it->second.erase(to);
            if (it->second.empty()) {
                it = waits.erase(it);
                changed = true;
            } else {
                ++it;
            }
        }
    }
    return !waits.empty();
}

struct Walk {
    bool arrives = false;
    routing::Fault fault = routing::Fault::loop;
    std::vector<routing::ChannelIndex> channels;  // between switches
};

inline Walk walk(const routing::SwitchGraph& graph, const routing::Tables& tables, routing::SwitchIndex s,
                 const routing::Destination& destination, Lid lid) {
    Walk result;
    for (std::uint32_t step = 0; step <= graph.switch_count(); ++step) {
        const unsigned port = tables.port(s, lid);
        if (s == destination.sw && port == destination.port) {
            result.arrives = true;
            return result;
        }
        if (port == routing::no_route) {
            result.fault = routing::Fault::no_entry;
            return result;
        }
        if (port == 0 || port > graph.port_count(s) || graph.next(graph.channel(s, port)) == routing::none) {
            result.fault = routing::Fault::dead_end;
            return result;
        }
        result.channels.push_back(graph.channel(s, port));
        s = graph.next(result.channels.back());
    }
    return result;
}

inline CheckAnswer check(const routing::SwitchGraph& graph, const routing::Tables& tables) {
    CheckAnswer answer;
    answer.load.assign(graph.channel_count(), 0);
    const auto shortest = switch_hops(graph);
    std::map<unsigned, Waits> host_waits, all_waits;
    for (const routing::Destination& d : graph.destinations())
        for (unsigned k = 0; k < d.lid_count(); ++k) {
            const Lid lid{static_cast<std::uint16_t>(d.lid.value + k)};
            for (routing::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
                if (shortest[s][d.sw] < 0) continue;
                const Walk way = walk(graph, tables, s, d, lid);
                ++answer.routes;
                if (!way.arrives) ++answer.faults[static_cast<std::size_t>(way.fault)];
            }
            for (const routing::Destination& source : graph.host_destinations()) {
                if (source.end == d.end || shortest[source.sw][d.sw] < 0) continue;
                const Walk way = walk(graph, tables, source.sw, d, lid);
                if (!way.arrives) continue;
                const unsigned lane = tables.lane(source.sw, lid);
                for (std::size_t i = 0; i + 1 < way.channels.size(); ++i) {
                    all_waits[lane][way.channels[i]].insert(way.channels[i + 1]);
                    if (d.port != 0) host_waits[lane][way.channels[i]].insert(way.channels[i + 1]);
                }
                if (d.port == 0) continue;
                const auto hops = static_cast<unsigned>(way.channels.size());
                ++answer.hops[hops];
                ++answer.excess[hops - static_cast<unsigned>(shortest[source.sw][d.sw])];
                for (const auto channel : way.channels) ++answer.load[channel];
            }
        }
    for (const auto& [lane, waits] : host_waits)
        if (has_cycle(waits)) answer.looping_lanes.insert(lane);
    for (const auto& [lane, waits] : all_waits)
        if (!answer.looping_lanes.contains(lane) && has_cycle(waits)) answer.management_loop = true;
    return answer;
}

}  // namespace loom::reference
