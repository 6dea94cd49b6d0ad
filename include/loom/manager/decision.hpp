// What the manager decided, and the numbers it decided on: one record, one line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "loom/base/ids.hpp"
#include "loom/base/time.hpp"
#include "loom/fabric/fabric.hpp"
#include "loom/manager/settings.hpp"

namespace loom::manager {

enum class What : std::uint8_t {
    leave,        // congested, and no port that faces the switch waits: localised, nothing is done
    lower,        // the first victim: the marking rate goes down
    add_victim,   // one more port suffers from a port that is low already
    mark_more,    // proportional: a victim still waits
    drop_victim,  // its port slackened: no victim flow, or no more
    restore,      // back to the default
    refused,      // the fabric did not take a new rate; see error
    unreadable,   // no counters of this port's switch in this sweep; see error
    reset,        // a counter went backwards: somebody reset it
};
[[nodiscard]] std::string_view to_string(What what);

enum class Why : std::uint8_t {
    none,        // the What says it all
    congested,   // its congested time exceeds T_C
    host_waits,  // it leads to a host, and its waiting time exceeds T_W
    no_victims,  // restore: none is left
    duration,    // restore: it was low for T_I sweeps
    stopped,     // restore: the manager stops
};
[[nodiscard]] std::string_view to_string(Why why);

// Counts are per sweep, as the thresholds are. Zero where the What has no use for one.
struct Decision {
    Time time;
    std::uint64_t sweep = 0;  // numbered from 1
    What what = What::leave;
    Why why = Why::none;
    PortIndex port = no_port;         // the congested port; for unreadable and reset the port itself
    PortIndex victim = no_port;       // add_victim, drop_victim, lower, mark_more
    std::uint64_t congested = 0;      // ticks of port
    std::uint64_t waited = 0;         // ticks of port
    std::uint64_t victim_waited = 0;  // ticks
    std::uint64_t data_before = 0;    // words of victim, in the sweep before
    std::uint64_t data_now = 0;       // and in this one
    std::uint32_t intervals = 0;      // sweeps that port has been low, the lowering one counted
    std::uint32_t victims = 0;        // left after the decision
    std::uint16_t old_rate = 0;       // equal to new_rate unless the What changes it
    std::uint16_t new_rate = 0;
    std::string error;  // of the fabric, where it refused

    friend bool operator==(const Decision&, const Decision&) = default;
};

using OnDecision = std::function<void(const Decision&)>;

// "S2 port 23: marking rate 128 -> 0: congested for 9,000,000 ticks (T_C 8,000,000), and S1 port 15 waited ...".
[[nodiscard]] std::string action_of(const Decision& decision, const fabric::Fabric& fabric, const Settings& settings);
// The same after its time: "12.000 s  ", or in ms where sweeps are that quick.
[[nodiscard]] std::string describe(const Decision& decision, const fabric::Fabric& fabric, const Settings& settings);

}  // namespace loom::manager
