// Which links a message from rank to rank crosses: the paths that forwarding tables spell out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/routing/tables.hpp"

namespace loom::congestion {

// A direction of a cable. Below SwitchGraph::channel_count() it is that channel (host links towards
// the host included); from there on the links from hosts into their switch, one for each host in use.
using LinkIndex = std::uint32_t;

// Hosts with several LIDs (LMC): always the offset-th one, or the ((from + to) mod 2^lmc)-th for the
// ranks `from` and `to`, which spreads the pairs over all.
enum class LidUse : std::uint8_t { fixed, spread };

struct RouteChoice {
    LidUse lids = LidUse::fixed;
    unsigned offset = 0;                        // with fixed; taken modulo a host's number of LIDs
    std::size_t memory = std::size_t{1} << 30;  // bytes that may be spent on keeping paths
    unsigned threads = 1;                       // to find them; 0: all cores
};

// How a pair's message fares.
enum class Fate : std::uint8_t {
    arrives,
    stays,  // a place keeper, or both ranks on one host port: nothing enters the network
    lost,   // the tables lead nowhere, to the wrong host or in a circle
};

// All pairs of hosts on one switch share their path to a rank, so paths are kept for (leaf, rank):
// 8 bytes each in a three-level tree, 60 MB for 11,664 hosts, found in one pass. Where that exceeds
// `memory` they are walked when asked for, several at once, at some five times the cost.
class Routes {
public:
    // Throws Error when tables and graph do not belong together (number of switches, a port that a switch
    // does not have), or when a placed host has no LID. Graph and tables must outlive this object.
    Routes(const routing::SwitchGraph& graph, const routing::Tables& tables, const fabric::Placement& placement,
           RouteChoice choice = {});
    ~Routes();
    Routes(Routes&&) noexcept;
    Routes& operator=(Routes&&) noexcept;

    [[nodiscard]] const routing::SwitchGraph& graph() const;
    [[nodiscard]] std::size_t ranks() const;
    [[nodiscard]] std::size_t link_count() const;
    // Ranks that are no place keepers.
    [[nodiscard]] std::vector<Rank> live_ranks() const;
    [[nodiscard]] bool kept() const;          // paths are in memory
    [[nodiscard]] std::size_t bytes() const;  // spent on them

    // The links between switches that the message crosses, in order. For looking at single pairs: the
    // analyses use a faster way in.
    [[nodiscard]] Fate path(Rank from, Rank to, std::vector<LinkIndex>& out) const;

    // True when both ends are switches.
    [[nodiscard]] bool between_switches(LinkIndex link) const;
    // "L0-003 port 7 -> L1-001 port 2".
    [[nodiscard]] std::string describe(LinkIndex link) const;
    // Megabits a second, 0 when unknown.
    [[nodiscard]] std::uint32_t megabits(LinkIndex link) const;

    struct Data;  // for the room's own sources
    [[nodiscard]] const Data& data() const { return *data_; }

private:
    std::unique_ptr<Data> data_;
};

}  // namespace loom::congestion
