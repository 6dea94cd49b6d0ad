// The one way down to each destination: the first half of fat-tree routing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/targets.hpp"

namespace loom::routing {

// For each target a trunk: switches from its own upwards, each with the port that leads down the trunk.
// All traffic to a target that comes from outside meets its trunk and follows it, so that a down-going
// channel is shared only by the targets whose trunks use it (Zahavi 2009, Algorithms 2 and 4). Which
// parent: the natural slot (index / product of the parents of the levels below) mod slots; where that is missing, the
// least used channel, of those the one to the least used switch.
class Trunks {
public:
    Trunks(const Tree& tree, const Targets& targets);

    // Step t leads from trunk switch t to t + 1 (trunk switch 0 is the target's own).
    [[nodiscard]] unsigned steps() const { return static_cast<unsigned>(steps_.size()); }
    // Trunk switch t + 1 of each target; the number of switches where the trunk has ended.
    [[nodiscard]] std::span<const SwitchIndex> switches(unsigned t) const { return steps_[t].sw; }
    [[nodiscard]] std::uint8_t port(unsigned t, std::size_t target) const { return steps_[t].port[target]; }
    // The slot that corresponds to the cable of step t: what other switches of that level use to join in.
    [[nodiscard]] std::uint8_t slot(unsigned t, std::size_t target) const { return steps_[t].slot[target]; }
    // The same by target; empty beyond the steps, where no target climbs.
    [[nodiscard]] std::span<const std::uint8_t> slots(unsigned t) const {
        return t < steps() ? std::span<const std::uint8_t>(steps_[t].slot) : std::span<const std::uint8_t>();
    }

    // Most trunks on one channel, over the channels between two levels, by the lower level: 1 where the
    // tree has a channel for every host.
    [[nodiscard]] std::span<const std::uint32_t> worst_share() const { return worst_share_; }
    [[nodiscard]] std::size_t displaced() const { return displaced_; }  // hosts whose natural slot was missing

private:
    struct Step {
        std::vector<SwitchIndex> sw;
        std::vector<std::uint8_t> port, slot;
    };

    std::vector<Step> steps_;
    std::vector<std::uint32_t> worst_share_;
    std::size_t displaced_ = 0;
};

}  // namespace loom::routing
