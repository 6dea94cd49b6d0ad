// How many cables apart the switches are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/routing/switch_graph.hpp"

namespace loom::routing {

inline constexpr std::uint16_t no_path = 0xffff;

// All pairs of switches, two bytes each (29 MB for 3,840 switches), by breadth-first searches from 64
// switches at once: 10 ms for 1,620 switches.
// Cables work both ways, so the matrix is symmetric. no_path between pieces that no cable joins.
class HopMatrix {
public:
    HopMatrix(const SwitchGraph& graph, unsigned threads);

    [[nodiscard]] std::uint16_t at(SwitchIndex a, SwitchIndex b) const { return hops_[std::size_t{a} * size_ + b]; }
    [[nodiscard]] std::span<const std::uint16_t> row(SwitchIndex s) const {
        return std::span(hops_).subspan(std::size_t{s} * size_, size_);
    }

private:
    std::size_t size_;
    std::vector<std::uint16_t> hops_;
};

// Breadth-first search over a switch's neighbours without the open and host ports in between.
struct Adjacency {
    explicit Adjacency(const SwitchGraph& graph);

    struct Edge {
        SwitchIndex to;
        ChannelIndex channel;
    };
    // The channels of s that lead to another switch, by port.
    [[nodiscard]] std::span<const Edge> of(SwitchIndex s) const {
        return std::span(edges).subspan(first[s], first[s + 1] - first[s]);
    }

    std::vector<std::uint32_t> first;  // switch_count + 1 long
    std::vector<Edge> edges;
};

// Fills `hops` (switch_count long) with the distance from `root`; `queue` comes back with the switches
// reached, nearest first.
void breadth_first(const Adjacency& adjacency, SwitchIndex root, std::span<std::uint16_t> hops,
                   std::vector<SwitchIndex>& queue);

// The piece of the fabric each switch belongs to, numbered from 0 in order of the first switch.
struct Pieces {
    std::vector<std::uint32_t> of;
    std::uint32_t count = 0;
};
[[nodiscard]] Pieces find_pieces(const SwitchGraph& graph);

}  // namespace loom::routing
