// Which links a run used most, and whose messages waited where behind whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "loom/fabric/fabric.hpp"
#include "loom/sim/suffering.hpp"

namespace loom::sim {

struct LinkUse {
    PortIndex port;    // that sends
    std::string from;  // "S1 port 3"
    std::string to;    // the other end of the cable
    std::uint64_t bytes = 0;
    double busy = 0;    // share of what the link could have sent until the end
    double waited = 0;  // share of the time with data to send and no credit; flow level: below the wished rate
};

// Of two ranks that talk.
struct PairUse {
    Rank from, to;
    std::uint64_t bytes = 0;
};

// A port whose packets had to wait for a full one.
struct Jam {
    PortIndex waits_at;  // a sending port
    PortIndex full;      // the port that all wait for
    std::string waits_at_name, full_name;
    Cause cause = Cause::behind;   // behind: of victims, whose own way does not go through the full port; or turns
    Time waited{};                 // the time with data to send and no credit
    double share = 0;              // of the time in which it had data to send
    std::vector<PairUse> victims;  // that wait here, with the most bytes first, a few
    std::size_t victim_count = 0;
    std::vector<PairUse> behind;  // whose messages go through both ports, the same
    std::size_t behind_count = 0;
};

struct LinkAnswers {
    std::vector<LinkUse> hottest;
    std::vector<Jam> jams;             // the longest waiting first
    std::vector<double> busy;          // by PortIndex, for a picture of the fabric
    std::vector<std::string> remarks;  // what was not looked at
};

struct LinkQuestion {
    std::size_t most_links = 20;
    std::size_t most_jams = 10;
    std::size_t most_named = 3;        // pairs of each jam
    std::size_t most_pairs = 200'000;  // those with the most bytes are looked at
};

// Of a run at packet or flow level; at message level all is empty, at flow level there are no jams. As
// find_sufferers(): evidence from the ports' counters, those of the whole run. Cost: a look at every port, and a walk
// for each pair of ranks that talked.
[[nodiscard]] LinkAnswers look_at_links(const Network& network, const Options& options, const Simulation& simulation,
                                        const LinkQuestion& question = {});

// "packets at S1 port 15 wait 12 us (30 % of the time that it has any) behind packets for S3 port 2: 0 -> 5 and 2 more
// pairs of ranks, behind 3 -> 9".
[[nodiscard]] std::string describe(const Jam& jam);

}  // namespace loom::sim
