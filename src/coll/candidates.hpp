// What each algorithm that can do a call is predicted to take.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/parameters.hpp"

namespace loom::coll {

struct Candidate {
    const Algorithm* algorithm = nullptr;
    Tuning tuning;
    Time predicted;                // from the common beginning to the last rank's end
    std::uint64_t operations = 0;  // of all ranks, about
    bool walked = false;           // the schedule of all ranks; else it is taken from smaller groups of the same kind
    std::int64_t rounds = 0;       // messages one after another, where that decides; else 0
};

// The best first: of those within an eighth of the quickest the one with the fewest operations, each of which may cost
// what no model knows; then by time. (Where ranks take turns on cores, the one with the fewest rounds before that; and
// one in segments, but for reduce, a broadcast in parts or an allgather by way of others only when it is predicted to
// take less than half of the others' time. So it is with everything between two ranks of a host that has not the fewest
// rounds and operations.) The same on every rank: integers throughout, and of the call only what all ranks know and
// what belongs to a Ranking's key, so that it does not matter which call came first. Where blocks are known to some
// alone (gatherv, scatterv, alltoallv, the neighbour ones with blocks) they are taken to be of usual_block bytes each.
// Schedules of up to most_walked ranks are walked as they are. So are those of more that have few operations, as trees
// have, and of the others those that may be the best; the rest is taken from smaller groups of the same kind (whole
// hosts are left out), whose growth from one to the next is taken to go on. Long segmented messages likewise. Cost:
// some 100 us for 8 ranks; for more what is walked is bounded by a count of operations: 5 to 20 ms for 256 ranks, up to
// 60 for 1,024.
[[nodiscard]] std::vector<Candidate> candidates(const Group& group, const Call& call, const model::Charges& charges);

inline constexpr std::uint64_t usual_block = 4096;
inline constexpr std::uint32_t most_walked = 8;

// What sizes have in common that get the same answer: the first 3 bits stay, the rest becomes 0.
[[nodiscard]] std::uint64_t size_class(std::uint64_t bytes);

// The bytes by which a call is judged: those of the message or of one block (their mean, where all know them).
[[nodiscard]] std::uint64_t known_bytes(const Call& call);

// Of everything in a group that algorithms look at, but for who we are in it.
[[nodiscard]] std::uint64_t signature(const Group& group);

// Candidates, kept by what they depend on. A hit costs some 100 ns.
class Ranking {
public:
    // Stays until the next call.
    [[nodiscard]] const std::vector<Candidate>& of(const Group& group, std::uint64_t group_signature, const Call& call,
                                                   const model::Charges& charges);

    static constexpr std::size_t most = 4096;

private:
    using Key = std::array<std::uint64_t, 4>;
    std::map<Key, std::vector<Candidate>> known_;
};

}  // namespace loom::coll
