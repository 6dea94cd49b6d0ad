// The algorithms there are: each writes its part of a collective for one rank.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "loom/coll/call.hpp"
#include "loom/coll/plan.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::coll {

// What an algorithm lets one choose; 0 where it has no such thing.
struct Tuning {
    std::uint64_t segment = 0;  // bytes in which a message is cut, so that parts travel while others are worked on
    std::uint32_t ways = 0;     // partners a round of the n-way dissemination, children of a k-ary tree
    friend bool operator==(const Tuning&, const Tuning&) = default;
};

struct Algorithm {
    Collective what;
    std::string_view name;     // "binomial", "ring"
    std::string_view summary;  // one line: how many messages, how much data, when it is good
    bool segments = false;     // Tuning::segment means something
    bool ways = false;         // Tuning::ways means something
    // Whether it can do this call; the same answer on every rank.
    bool (*fits)(const Group&, const Call&);
    // Takes down the part of group.me.
    void (*write)(const Group&, const Call&, const Tuning&, Writer&);
    bool always_cuts = false;  // into segments of 64 KiB when Tuning::segment does not say how long
};

// In the order in which help lists them; the first that fits is always correct.
[[nodiscard]] std::span<const Algorithm> algorithms(Collective what);
// Throws UsageError naming those there are.
[[nodiscard]] const Algorithm& find_algorithm(Collective what, std::string_view name);

// One rank's part, and the whole: the parts of all ranks as one schedule, for `congestion`, `sim`, `model` and GOAL.
// `call_of` is one call that all make, or each rank's where they differ. Throws UsageError when the algorithm does not
// fit.
[[nodiscard]] Plan make_plan(const Algorithm& algorithm, const Group& group, const Call& call,
                             const Tuning& tuning = {});
[[nodiscard]] traffic::Schedule whole_schedule(const Algorithm& algorithm, const Group& group,
                                               std::span<const Call> call_of, const Tuning& tuning = {});

}  // namespace loom::coll
