// Blocks that go round a ring of ranks.
#pragma once

#include <cstdint>
#include <span>

#include "coll/algorithms/parts.hpp"

namespace loom::coll {

// An allgather: block i of `layout` at `base` is at first with team[i], here at `own`. Every block is passed on by
// whoever has it to the next of the team until all have it. `held[v]`: how many blocks from its own on v has at the
// start at their places (ready when its own is); 1 when `held` is empty. Those are not sent to it. Tags: the block's
// number, counted from `tag`.
void pass_round(Writer& writer, const Team& team, Place base, const BlockPieces& layout, const Value& own,
                std::span<const std::uint32_t> held = {}, std::uint32_t tag = 0);

}  // namespace loom::coll
