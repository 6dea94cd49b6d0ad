// The ports that a message leaves from on its way, as the forwarding tables say.
#pragma once

#include <vector>

#include "loom/base/ids.hpp"
#include "loom/sim/options.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::sim {

// The destination LID of a message between two placed ranks.
[[nodiscard]] Lid destination_lid(const fabric::Port& host, LidChoice choice, Rank from, Rank to);

enum class Walk : std::uint8_t {
    arrives,
    no_entry,    // the last switch of `out` knows no way
    open_port,   // the last port of `out` has no cable
    wrong_host,  // the last port of `out` leads to somebody else
    circle,
};

// Replaces `out` with the sending ports from host to host, the host's own first; as far as it got when the message does
// not arrive. Cost: a look-up a hop.
[[nodiscard]] Walk walk(const Network& network, PortIndex from, PortIndex to, Lid lid, std::vector<PortIndex>& out);

// Throws Error for the first thing that does not fit: tables of another fabric, a rank without a place that sends or
// is sent to, a host without LID or cable, a pair of ranks that the tables do not connect (with `back`: in either
// direction). Cost: a walk for each pair of ranks that sends.
enum class Answers : std::uint8_t { none, back };
void check_network(const Network& network, const traffic::Schedule& schedule, LidChoice lids, Answers answers);
// The same for ranks that may do anything. Pairs are not looked at.
void check_network(const Network& network, std::uint32_t ranks);
void check_pair(const Network& network, Rank from, Rank to, LidChoice lids, Answers answers);

}  // namespace loom::sim
