// Which algorithm a call gets.
#pragma once

#include <string_view>
#include <vector>

#include "coll/ranking.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/coll/communicator.hpp"

namespace loom::coll {

struct Chosen {
    const Algorithm* algorithm = nullptr;
    Tuning tuning;
    std::string_view why = "predicted to be the quickest";
    std::string_view rule;  // of preferences.hpp, where one decided
    bool kept = false;      // from this job's or an earlier job's ranking: why and rule are not known
};

// The same answer on every rank, whatever blocks each gives. `asked` (may be null) comes before the environment's
// LOOM_COLL, and that before the model's ranking. Throws UsageError when what was asked for does not exist or cannot do
// it.
[[nodiscard]] Chosen choose(const Group& group, std::uint64_t group_signature, const Call& call, const Choice* asked,
                            Ranking& ranking, const model::Charges& charges);

// What the ranking says of a choice that was kept: its reason. Costs what ranking costs.
[[nodiscard]] Chosen with_reason(const Chosen& kept, const Group& group, std::uint64_t group_signature,
                                 const Call& call, Ranking& ranking, const model::Charges& charges);

// One entry of LOOM_COLL: "allreduce=ring:65536" or "barrier=dissemination::4" (segment, then ways).
struct Rule {
    Collective what;
    Chosen chosen;
};
// Throws UsageError naming the entry.
[[nodiscard]] std::vector<Rule> parse_rules(std::string_view text);

}  // namespace loom::coll
