// Exchanges with partners 1, 2, 4... away: what recursive doubling and Rabenseifner's algorithms share.
#pragma once

#include <cstdint>

#include "coll/algorithms/parts.hpp"

namespace loom::coll {

// Where a rank stands after the halving: it has the parts [first, last) of `power` parts, at `base`.
struct Halved {
    Waits ready;
    std::uint32_t first = 0, last = 0;
    std::vector<Waits> sent;  // by round: after what the half that went away is no longer read at `base`
};

// Those that stay exchange halves with partners 1, 2, 4... numbers away, and combine what they keep; near ones first,
// so that what a rank holds is always of consecutive ranks and order is kept. `whole` is what the rank begins with;
// results are put at `base`, which may be where that is.
Halved halve(Writer& writer, const Folding& folding, const Call& call, Value whole, Place base, std::uint32_t tag);

// The rounds backwards: all get all.
void double_up(Writer& writer, const Folding& folding, const Call& call, const Halved& halved, Place base,
               std::uint32_t tag, Waits& done);
// The rounds backwards: `goal` gets all, the others what they pass on.
void double_to(Writer& writer, const Folding& folding, const Call& call, const Halved& halved, Place base, Rank goal,
               std::uint32_t tag);

// The first step: the one of a pair that stays gets the other's. Those not paired have what they gave.
Value fold_in(Writer& writer, const Folding& folding, const Call& call, const Value& own, Place base,
              std::uint32_t tag);

// Recursive doubling: all of the team get what all gave, combined in the team's order, at `target`. Tags from `tag` to
// tag + 33. The target is written after `free`. Answers after what it is there.
Waits exchange_all(Writer& writer, const Team& team, const Value& own, Place target, std::uint64_t bytes,
                   bool commutative, std::uint32_t tag, Waits free = {});

}  // namespace loom::coll
