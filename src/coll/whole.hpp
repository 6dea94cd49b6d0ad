// The schedule of all ranks, with what the model has to know beside it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/coll/algorithm.hpp"

namespace loom::coll {

struct Whole {
    traffic::Schedule schedule;
    std::vector<std::uint8_t> in_scratch;  // by operation: a send from scratch memory or a receive into it
};
// As whole_schedule().
[[nodiscard]] Whole whole(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of,
                          const Tuning& tuning);

}  // namespace loom::coll
