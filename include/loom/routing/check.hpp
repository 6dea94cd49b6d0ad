// Are these tables any good: reachable, loop-free, short, deadlock-free, balanced?
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loom/routing/tables.hpp"

namespace loom::routing {

// What became of a packet that did not arrive.
enum class Fault : std::uint8_t {
    no_entry,  // a switch has no entry for the LID and drops it
    dead_end,  // an entry names a port that does not exist, is open, or leads to another end port
    loop,      // it goes round for ever
};
inline constexpr std::size_t fault_kinds = 3;

struct BadRoute {
    SwitchIndex from;
    Lid lid;
    Fault fault;
    SwitchIndex at;     // where it is lost; for a loop, the first switch met twice
    std::uint8_t port;  // the entry there
    friend bool operator==(const BadRoute&, const BadRoute&) = default;
};

// Channels that wait for each other in a ring: each holds packets that want the next, the last wants the first.
struct CreditLoop {
    unsigned lane = 0;
    std::vector<ChannelIndex> channels;  // empty: none
};

enum class Direction : std::uint8_t { up, down, inside };

// Host routes on the channels between two levels.
struct LevelBalance {
    std::uint8_t level;  // the lower of the two
    Direction direction;
    std::size_t channels;
    std::uint64_t least;
    double mean;
    std::uint64_t most;
};

// A cable that runs below what both its ends can do.
struct SlowLink {
    PortIndex port;
    fabric::LinkRate rate;
    fabric::LinkRate supported;
};

struct CheckReport {
    std::uint32_t switches = 0;
    std::size_t hosts = 0;  // end ports of hosts and routers that have a LID and sit behind a switch
    std::size_t lids = 0;   // theirs and the switches'

    std::uint64_t routes = 0;                         // (switch, LID) that cables join
    std::array<std::uint64_t, fault_kinds> faults{};  // of these, by Fault
    std::vector<BadRoute> examples;                   // the first by (LID, switch), at most 16
    std::uint64_t host_pairs = 0;                     // (source host port, LID of another) that arrive
    std::vector<std::uint64_t> hops;                  // of these, by cables between switches
    std::vector<std::uint64_t> excess;                // of these, by hops beyond the fewest possible
    std::uint32_t pieces = 0;                         // parts that no cable joins
    std::uint64_t split_pairs = 0;                    // pairs of hosts that share no piece

    unsigned lanes = 1;
    std::vector<CreditLoop> loops;  // one for each lane that has any, by packets from hosts to hosts
    CreditLoop management;          // by packets from hosts to switches as well; does not fail the check

    std::vector<std::uint64_t> load;    // host routes by ChannelIndex
    std::vector<LevelBalance> balance;  // by level, up before down
    std::vector<SlowLink> slow;         // each cable once
    std::vector<std::string> remarks;   // plain sentences: pieces, rails, LIDs that are missing

    // Reachable from everywhere, loop-free and deadlock-free. Detours, imbalance and slow links do not fail.
    [[nodiscard]] bool ok() const;
    // "" when ok, else the first reason in one line.
    [[nodiscard]] std::string reason(const SwitchGraph& graph) const;
};

struct CheckOptions {
    unsigned threads = 1;                       // 0: all cores; the report never depends on it
    std::function<void(double)> progress = {};  // called with 0..1 now and then, if set
};

// Walks every route from every switch to every LID. Dependencies of channels are those that packets
// from hosts can create, lane by lane. Work is one step for each (switch, LID), not for each pair: 136 million
// pairs of 11,664 hosts on 1,620 switches take a few tenths of a second on one core and 20 MB beside the tables.
// Throws Error when the tables are of another fabric or use more than 16 lanes.
[[nodiscard]] CheckReport check(const SwitchGraph& graph, const Tables& tables, const CheckOptions& options = {});

// "leaf-3 port 5 -> root-1 port 7", both ends of the cable.
[[nodiscard]] std::string describe(const SwitchGraph& graph, ChannelIndex channel);
[[nodiscard]] std::string describe(const SwitchGraph& graph, const BadRoute& bad);
// The whole report for people: one line a finding, the cycle channel by channel.
[[nodiscard]] std::string to_text(const SwitchGraph& graph, const CheckReport& report);

}  // namespace loom::routing
