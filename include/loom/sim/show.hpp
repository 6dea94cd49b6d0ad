// A recording as tables of numbers and as pictures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "loom/base/svg.hpp"
#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"

namespace loom::sim {

// time_s,flow,from,to,delivered_bytes,gbit_per_s: a line for each sample and flow with a series; the rate is of the
// time since the sample before.
[[nodiscard]] std::string flows_csv(const Setup& setup, const Recording& recording);
// time_s,port and the port's counters since the beginning, then what it sent in Gbit/s and the share of time it waited
// since the sample before.
[[nodiscard]] std::string ports_csv(const Setup& setup, const Recording& recording);

// Rates over time: of every flow where there are up to eight, else of all together.
[[nodiscard]] Svg flows_plot(const Setup& setup, const Recording& recording);
// What the watched ports send, and the share of time in which they wait, over time.
[[nodiscard]] Svg ports_plot(const Setup& setup, const Recording& recording);
[[nodiscard]] Svg waits_plot(const Setup& setup, const Recording& recording);

// Positions in recording.flows: those that moved data, with the lowest mean rate first.
[[nodiscard]] std::vector<std::size_t> slowest_flows(const Recording& recording, std::size_t most);

struct PortLoad {
    PortIndex port;
    fabric::PortCounters counters;
    double used = 0;    // share of what the link could have sent until the end
    double waited = 0;  // share of the time
};
// Sending ports by the share of their link that was used, then by waiting. Cost: a look at every port.
[[nodiscard]] std::vector<PortLoad> hottest_ports(const Setup& setup, const Simulation& simulation, std::size_t most);
[[nodiscard]] std::vector<PortLoad> hottest_ports(const fabric::Fabric& fabric, const Simulation& simulation,
                                                  Time counter_tick, std::size_t most);

}  // namespace loom::sim
