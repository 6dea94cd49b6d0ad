// Collectives between two groups, as on MPI's intercommunicators: what one group gives, the other receives.
#pragma once

#include <cstdint>

#include "loom/base/ids.hpp"
#include "loom/coll/call.hpp"
#include "loom/coll/plan.hpp"

namespace loom::coll {

// Both as one: ranks [0, first) are one group, [first, size) the other. A communicator of all of them runs the plans.
struct TwoGroups {
    std::uint32_t first = 1;
    std::uint32_t size = 2;
    Rank me;

    [[nodiscard]] bool together(Rank a, Rank b) const { return (a.value < first) == (b.value < first); }
    // Where this rank's group and the other begin, and how many they are.
    [[nodiscard]] std::uint32_t here() const { return me.value < first ? 0 : first; }
    [[nodiscard]] std::uint32_t there() const { return me.value < first ? first : 0; }
    [[nodiscard]] std::uint32_t ours() const { return me.value < first ? first : size - first; }
    [[nodiscard]] std::uint32_t theirs() const { return size - ours(); }
};

// This rank's part, to be started by all ranks of both groups. Buffers are as in Call, but
// - blocks are those of the other group's ranks, in their order; reduce_scatter's are those of the own group;
// - the root is a number in [0, size). The other group gives it something or gets it from there; ranks of its own group
//   have an empty part, and of their calls only the root and what it is count;
// - allgatherv and alltoallv stand for their even forms too, since the two directions may differ; allgatherv needs
//   sent.bytes[0] besides;
// - nothing is in place, and scans and neighbours do not exist.
// Reductions take the order of ranks of the group that gives. Throws UsageError.
//
// Broadcasts go down a binomial tree of the root and those who receive. Reductions go up a binomial tree of the group
// that gives, from there to the root or to the first of the other group, and down a tree of that. All else is sent
// straight from rank to rank. Large messages in segments.
[[nodiscard]] Plan plan_between(const TwoGroups& groups, const Call& call);

}  // namespace loom::coll
