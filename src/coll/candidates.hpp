// What each algorithm that can do a call is predicted to take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/parameters.hpp"

namespace loom::coll {

struct Candidate {
    const Algorithm* algorithm = nullptr;
    Tuning tuning;
    Time predicted;  // from the common beginning to the last rank's end
};

// The quickest first, never empty. The same on every rank: integers throughout, and of the call only what all ranks
// know. Where blocks are known to some alone (gatherv, scatterv, alltoallv, the neighbour ones with blocks) they are
// taken to be of usual_block bytes each. Schedules of up to most_walked ranks are walked as they are; of more, smaller
// groups of the same kind are, and the growth from doubling to doubling is taken to go on. Long segmented messages
// likewise. Throws UsageError when no algorithm can do the call.
// Cost: some 100 us for 8 ranks, some ms for many.
[[nodiscard]] std::vector<Candidate> candidates(const Group& group, const Call& call, const model::Charges& charges);

inline constexpr std::uint64_t usual_block = 4096;
inline constexpr std::uint32_t most_walked = 16;

// What sizes have in common that get the same answer: the first 3 bits stay, the rest becomes 0.
[[nodiscard]] std::uint64_t size_class(std::uint64_t bytes);

// The bytes by which a call is judged: those of the message or of one block (their mean, where all know them).
[[nodiscard]] std::uint64_t known_bytes(const Group& group, const Call& call);

}  // namespace loom::coll
