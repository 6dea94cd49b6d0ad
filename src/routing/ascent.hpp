// Which way is up: a direction for every cable such that nobody can go up for ever.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/routing/switch_graph.hpp"

namespace loom::routing {

// A place for every switch; a cable goes up towards the higher place. Routes that go up first and down
// then cannot wait for each other in a ring, and the directions found here leave such a route between
// any two switches that carry hosts and that cables join.
struct Ascent {
    std::vector<std::uint32_t> place;   // by SwitchIndex, 0..switch_count-1, each once
    std::vector<SwitchIndex> by_place;  // the inverse
    std::vector<std::string> remarks;   // plain sentences: where the levels alone did not do

    [[nodiscard]] bool up(SwitchIndex from, SwitchIndex to) const { return place[to] > place[from]; }
};

// From the levels of the fabric, or from `roots` when given. A piece of the fabric in which levels leave two
// switches without an up/down route (two roots over leaves that they share only in part) is
// ordered around one root in its middle instead. Cost: one pass over the cables for every 64 switches.
[[nodiscard]] Ascent find_ascent(const SwitchGraph& graph, const std::vector<Guid>& roots);

// Hops of up/down routes that forwarding tables can say: a switch with a way down to the destination
// takes it, whoever asks, because a packet may have come from above; the others go up. Where no such route
// exists (from root to root, which no host's packets do) the nearest switch that has one is the next.
class UpDownHops {
public:
    UpDownHops(const SwitchGraph& graph, const Ascent& ascent, unsigned threads);

    static constexpr std::uint16_t unreachable = 0xffff;
    [[nodiscard]] std::uint16_t hops(SwitchIndex s, SwitchIndex t) const {
        const std::uint16_t e = entry(s, t);
        return e == unreachable ? e : e & count;
    }
    // Whether the route is up first and then down.
    [[nodiscard]] bool legal(SwitchIndex s, SwitchIndex t) const { return (entry(s, t) & astray) == 0; }
    // Whether `to`, a neighbour of s, is next on a shortest such route from s to t.
    [[nodiscard]] bool leads(SwitchIndex s, SwitchIndex to, SwitchIndex t) const {
        const std::uint16_t here = entry(s, t), there = entry(to, t);
        if (here == unreachable || there == unreachable || (there & count) + 1 != (here & count)) return false;
        if ((here & astray) != 0) return true;
        if ((here & climbs) != 0) return (there & astray) == 0 && place_[to] > place_[s];
        return (there & ~count) == 0 && place_[to] < place_[s];
    }

private:
    static constexpr std::uint16_t climbs = 0x8000;  // the route begins upwards
    static constexpr std::uint16_t astray = 0x4000;  // there is no up/down route
    static constexpr std::uint16_t count = 0x3fff;
    [[nodiscard]] std::uint16_t entry(SwitchIndex s, SwitchIndex t) const {
        return entries_[std::size_t{s} * size_ + t];
    }

    std::size_t size_;
    std::vector<std::uint32_t> place_;
    std::vector<std::uint16_t> entries_;  // by (s, t)
};

}  // namespace loom::routing
