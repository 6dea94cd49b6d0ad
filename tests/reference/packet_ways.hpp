// Where a packet may go on from a switch: as the tables say, or by any port that is as near, as far as the tables take
// no detour from there on.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "loom/sim/simulation.hpp"

namespace loom::reference {

class Ways {
public:
    explicit Ways(const sim::Network& network) : network_(network) {}

    // The outputs that an adaptive switch may choose among, the table's first.
    [[nodiscard]] std::vector<unsigned> choices(routing::SwitchIndex s, std::uint16_t dlid, sim::PathChoice paths) {
        std::vector<unsigned> list{network_.tables->port(s, Lid{dlid})};
        if (paths == sim::PathChoice::tables || !straight(s, dlid)) return list;
        for (unsigned n = 1; n <= network_.graph->port_count(s); ++n) {
            const routing::SwitchIndex next = network_.graph->next(network_.graph->channel(s, n));
            if (next != routing::none && hops(next, dlid) + 1 == hops(s, dlid) && straight(next, dlid))
                list.push_back(n);
        }
        return list;
    }

private:
    [[nodiscard]] bool straight(routing::SwitchIndex s, std::uint16_t dlid) {
        while (hops(s, dlid) != 0) {
            const std::uint8_t port = network_.tables->port(s, Lid{dlid});
            if (port == routing::no_route) return false;
            const routing::SwitchIndex next = network_.graph->next(network_.graph->channel(s, port));
            if (next == routing::none || hops(next, dlid) + 1 != hops(s, dlid)) return false;
            s = next;
        }
        return true;
    }
    // From a switch to the one behind which the LID lives.
    [[nodiscard]] std::uint32_t hops(routing::SwitchIndex from, std::uint16_t dlid) {
        std::vector<std::uint32_t>& known = hops_[dlid];
        if (known.empty()) {
            const routing::SwitchGraph& graph = *network_.graph;
            known.assign(graph.switch_count(), 1'000'000);
            std::deque<routing::SwitchIndex> queue;
            for (const routing::Destination& there : graph.host_destinations())
                if (dlid >= there.lid.value && dlid < there.lid.value + there.lid_count()) queue.push_back(there.sw);
            known[queue.front()] = 0;
            for (; !queue.empty(); queue.pop_front())
                for (unsigned n = 1; n <= graph.port_count(queue.front()); ++n) {
                    const routing::SwitchIndex next = graph.next(graph.channel(queue.front(), n));
                    if (next == routing::none || known[next] != 1'000'000) continue;
                    known[next] = known[queue.front()] + 1;
                    queue.push_back(next);
                }
        }
        return known[from];
    }

    const sim::Network& network_;
    std::map<std::uint16_t, std::vector<std::uint32_t>> hops_;  // by LID and switch
};

}  // namespace loom::reference
