// Explanations, where a communicator's choices are made.
#pragma once

#include "coll/choice.hpp"
#include "loom/coll/explain.hpp"

namespace loom::coll {

[[nodiscard]] Explanation explain_call(const Group& group, const Call& call, const Choice* choice, Ranking& ranking,
                                       const Parameters& parameters);

}  // namespace loom::coll
