// Down and up a tree, and round in growing steps: what broadcasts, reductions and barriers share, also where only some
// ranks take part.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "coll/algorithms/parts.hpp"

namespace loom::coll {

using MakeNode = Node (*)(std::uint32_t v, std::uint32_t n);
[[nodiscard]] Node binomial_node(std::uint32_t v, std::uint32_t n);

// From team[0] to all of the team, cut by cut. At team[0] cut i is there after ready[i]; elsewhere its memory is free
// then (no `ready`: at once). Answers, by cut, after what the data is here.
std::vector<Waits> send_down(Writer& writer, const Team& team, const Node& node, Place at, std::span<const Piece> cuts,
                             std::span<const Waits> ready, std::uint32_t tag = 0);

// What all ranks of the team gave, combined in the team's order, to team[0]: there at `target`, which may be where its
// own value is, and is written after `free`; the others need no target. Answers, by cut: at team[0] after what the
// result is there, elsewhere after what the own value is no longer read.
std::vector<Waits> reduce_up(Writer& writer, const Team& team, const Node& node, const Value& own, Place target,
                             std::span<const Piece> cuts, bool commutative, std::uint32_t tag = 0,
                             const Waits& free = {});

// Scratch memory for what comes in, used again and again by messages that follow each other.
struct Rooms {
    std::vector<Place> places;  // as many as come in; more are taken where there are none
    Waits free;                 // after what they may be written
};

// Receives from all of `ranks` but this one, which is among them, and combines in their order. With a target the result
// is there, and the target is written after `free`; what lies at `own` is not written unless it is there.
Value collect(Writer& writer, std::span<const Rank> ranks, const Value& own, std::optional<Place> target,
              std::uint64_t bytes, bool commutative, std::uint32_t tag = 0, const Waits& free = {},
              const Rooms& rooms = {});

// How many segments may be under way into scratch memory: enough to keep the wire busy, few enough to stay in a cache.
inline constexpr std::size_t window = 4;

// Messages without bytes.
Step signal(Writer& writer, Rank to, const Waits& after, std::uint32_t tag);
Step await(Writer& writer, Rank from, std::uint32_t tag);

// The dissemination of Hoefler 2008 with `ways` >= 1 partners a round, begun after `ready`: answers after what all of
// the team have begun. Rounds: log(size) to the base ways + 1, rounded up; tags count them from `tag`.
Waits disseminate(Writer& writer, const Team& team, std::uint32_t ways, const Waits& ready, std::uint32_t tag);

}  // namespace loom::coll
