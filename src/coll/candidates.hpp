// The algorithms that can do a call, with their tunings, and what each is predicted to take.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coll/predictor.hpp"
#include "loom/base/time.hpp"
#include "loom/coll/algorithm.hpp"

namespace loom::coll {

struct Candidate {
    const Algorithm* algorithm = nullptr;
    Tuning tuning;
    Time predicted;                // from the common beginning to the last rank's end
    std::uint64_t operations = 0;  // of all ranks, about
    bool walked = false;           // the schedule of all ranks; else it is taken from smaller groups of the same kind
    // Known where a rule of preferences.hpp asked for them:
    std::optional<std::int64_t> rounds, depth, work;  // as Predictor has them
};

// The quickest first. Schedules of up to most_walked ranks are walked as they are. So are those of more that have few
// operations, as trees have, and of the others those that may be the best; the rest is taken from smaller groups of the
// same kind (whole hosts are left out), whose growth from one to the next is taken to go on. Long segmented messages
// likewise. Where blocks are known to some ranks alone (gatherv, scatterv, alltoallv, the neighbour ones with blocks)
// they are taken to be of usual_block bytes each. Cost: some 100 us for 8 ranks; for more what is walked is bounded by
// a count of operations: 5 to 20 ms for 256 ranks, up to 60 for 1,024.
[[nodiscard]] std::vector<Candidate> candidates(Predictor& predictor);

// The longest message of a call that is cut into segments: of large groups all blocks that are collected on the way.
[[nodiscard]] std::uint64_t longest_message(const Predictor& predictor);

}  // namespace loom::coll
