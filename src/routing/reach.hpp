// Which switches lie above and below each switch of a tree, and how far.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/routing/tree.hpp"

namespace loom::routing {

struct Reached {
    SwitchIndex sw;
    std::uint32_t hops;
};

// One list per switch: everything that can be reached going up only (or down only). About
// switches x (switches above a leaf) entries in all: 1.5 million for 3,840 switches.
class Reach {
public:
    enum class Direction : std::uint8_t { up, down };
    Reach(const Tree& tree, Direction direction);

    [[nodiscard]] std::span<const Reached> of(SwitchIndex s) const {
        return std::span(all_).subspan(first_[s], count_[s]);
    }

private:
    std::vector<Reached> all_;
    std::vector<std::size_t> first_;
    std::vector<std::uint32_t> count_;
};

// Whether any climb, however it chooses, ends above any leaf.
[[nodiscard]] bool every_root_covers_every_leaf(const Tree& tree, const Reach& below);

// Fewest hops from every switch to `to` going up first and down after; unreachable where there is no
// such way. `above` must be of direction up. Cost: one pass over the up cables.
inline constexpr std::uint8_t unreachable = 0xff;
void up_down_hops(const Tree& tree, const Reach& above, SwitchIndex to, std::span<std::uint8_t> hops);

}  // namespace loom::routing
