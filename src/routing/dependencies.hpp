// Which channel waits for which: the graph whose cycles are deadlocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "loom/routing/switch_graph.hpp"

namespace loom::routing {

// A set of (channel, port by which its packets leave the switch it leads to), one bit each: 470 KB for
// 58,000 channels between switches of up to 63 ports.
class Dependencies {
public:
    explicit Dependencies(const SwitchGraph& graph) {
        unsigned ports = 0;
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s) ports = std::max(ports, graph.port_count(s));
        words_ = ports / 64 + 1;
        bits_.assign(graph.channel_count() * words_, 0);
    }

    void add(ChannelIndex channel, unsigned port) {
        bits_[channel * words_ + port / 64] |= std::uint64_t{1} << port % 64;
    }
    void remove(ChannelIndex channel, unsigned port) {
        bits_[channel * words_ + port / 64] &= ~(std::uint64_t{1} << port % 64);
    }
    [[nodiscard]] bool has(ChannelIndex channel, unsigned port) const {
        return (bits_[channel * words_ + port / 64] >> port % 64 & 1) != 0;
    }
    void merge(const Dependencies& other) {
        for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
    }

    // Calls visit(port) for each port the channel's packets leave by, ascending, until it returns false.
    template <class Visit>
    bool each(ChannelIndex channel, Visit&& visit) const {
        for (std::size_t w = 0; w < words_; ++w)
            for (std::uint64_t left = bits_[channel * words_ + w]; left != 0; left &= left - 1)
                if (!visit(static_cast<unsigned>(w * 64 + static_cast<std::size_t>(std::countr_zero(left)))))
                    return false;
        return true;
    }

    // The channels of one cycle in order, or nothing. Cost: one depth-first search.
    [[nodiscard]] std::vector<ChannelIndex> find_cycle(const SwitchGraph& graph) const;

private:
    std::size_t words_ = 1;
    std::vector<std::uint64_t> bits_;
};

}  // namespace loom::routing
