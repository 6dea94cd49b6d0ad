// Which flows got less than their fair share, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"

namespace loom::sim {

enum class Cause : std::uint8_t {
    behind,     // a victim: its packets wait behind others, bound for a full port that is not on its way
    turns,      // a port on its way serves its inputs in turn, and this flow shares an input with others
    throttled,  // congestion control holds it back, and no port on its way is full
    unclear,
};
[[nodiscard]] std::string_view to_string(Cause cause);

struct Sufferer {
    std::size_t flow = 0;  // position in Recording::flows
    double got = 0;        // Gbit/s of payload, from its beginning to its end
    double fair = 0;       // the same at flow level
    Cause cause = Cause::unclear;
    PortIndex waits_at = no_port;  // on its way: the last sending port that has data and cannot send
    double waited = 0;             // share of the flow's time in which that port waited
    PortIndex full = no_port;      // the port that all wait for
};

// Flows of a scenario at packet level that got less than 0.8 of what max-min fair shares give them, the worst first.
// Causes are read from the ports' counters along the routes, those of the whole run: evidence, not proof. Empty at
// other levels, for patterns and schedules (their messages wait for each other), before anything has moved, and where
// nothing more can (Simulation::trouble tells why). With adaptive paths the cause is unclear. Cost: a run at flow
// level.
[[nodiscard]] std::vector<Sufferer> find_sufferers(const Setup& setup, const Simulation& simulation,
                                                   const Recording& recording);

// The same of programs that run on a scenario (Traffic::programs): `fair` is a recording of the same programs at the
// flow level. The rate of a pair of ranks is the mean from its first message to its last, and time in which neither
// sends counts on both sides. Cost: a way for each pair.
[[nodiscard]] std::vector<Sufferer> find_sufferers(const Setup& setup, const Simulation& simulation,
                                                   const Recording& recording, const Recording& fair);

// "X-Y: 3.29 Gbit/s where a fair share is 8.00; it waits at S1 port 15 (75 % of its time) behind packets for ...".
[[nodiscard]] std::string describe(const Sufferer& sufferer, const Setup& setup, const Recording& recording);

}  // namespace loom::sim
