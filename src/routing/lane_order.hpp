// The channel dependencies of one virtual lane, kept free of cycles while they grow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/dependencies.hpp"

namespace loom::routing {

// A topological order under insertion (Pearce and Kelly 2006): an edge that fits the order costs nothing,
// another one rearranges only the channels between its two ends.
class LaneOrder {
public:
    // `start` gives every channel a rank of its own; the closer it is to an order that fits, the less there
    // is to rearrange.
    LaneOrder(const SwitchGraph& graph, std::vector<std::uint32_t> start);

    // Lets packets on `from` wait for `to`, a channel that leaves where `from` leads. False, and nothing
    // is changed, when that would close a ring, or would have when it was asked for before.
    bool add(ChannelIndex from, ChannelIndex to);
    // The same, but only where nothing has to be rearranged: costs next to nothing.
    bool add_in_order(ChannelIndex from, ChannelIndex to) { return rank_[from] < rank_[to] && add(from, to); }
    void remove(ChannelIndex from, ChannelIndex to) {
        waits_.remove(from, graph_->port(to));
        comes_.remove(to, graph_->port(graph_->reverse(from)));
    }
    [[nodiscard]] bool has(ChannelIndex from, ChannelIndex to) const { return waits_.has(from, graph_->port(to)); }

private:
    bool search_forward(ChannelIndex from, ChannelIndex to);
    void search_backward(ChannelIndex from, std::uint32_t lowest);
    void rearrange();

    const SwitchGraph* graph_;
    Dependencies waits_;
    Dependencies comes_;  // the same backwards: by which ports of its switch those come that wait for a channel
    Dependencies refused_;
    std::vector<std::uint32_t> rank_;  // by channel; who waits ranks below what it waits for
    std::vector<std::uint32_t> seen_;  // by channel: stamp of the last search
    std::uint32_t stamp_ = 0;
    // Rank and channel in one number, the rank above: sorts by rank without looking it up.
    using Ranked = std::uint64_t;
    [[nodiscard]] Ranked ranked(ChannelIndex c) const { return Ranked{rank_[c]} << 32 | c; }

    std::vector<Ranked> after_, before_, all_;
    std::vector<ChannelIndex> stack_;
};

}  // namespace loom::routing
