// Which algorithm a call gets.
#pragma once

#include <string_view>
#include <vector>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/communicator.hpp"

namespace loom::coll {

struct Chosen {
    const Algorithm* algorithm = nullptr;
    Tuning tuning;
};

// The same answer on every rank, whatever blocks each gives. `asked` (may be null) comes before the environment's
// LOOM_COLL, and that before the rules. Throws UsageError when what was asked for does not exist or cannot do it.
[[nodiscard]] Chosen choose(const Group& group, const Call& call, const Choice* asked);

// One entry of LOOM_COLL: "allreduce=ring:65536" or "barrier=dissemination::4" (segment, then ways).
struct Rule {
    Collective what;
    Chosen chosen;
};
// Throws UsageError naming the entry.
[[nodiscard]] std::vector<Rule> parse_rules(std::string_view text);

}  // namespace loom::coll
