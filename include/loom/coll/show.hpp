// Plans for people, and schedules for tools that know messages and work only.
#pragma once

#include <cstdint>
#include <string>

#include "loom/coll/plan.hpp"
#include "loom/model/loggp.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::coll {

// An operation a line, with its number, where its bytes lie and what it waits for:
//   rank 1 of 4, 64 bytes of scratch
//     0  send 8 B to 0 from input+0
//     1  receive 8 B from 0 to scratch+0
//     2  reduce 8 B scratch+0 into output+0, after 0, 1
[[nodiscard]] std::string to_text(const Plan& plan);

// The operations of all ranks, without places.
[[nodiscard]] std::string to_text(const traffic::Schedule& schedule);

// The same schedule with copies and reductions as computations, in whole nanoseconds: what GOAL has words for, so that
// a file of it takes exactly as long. A copy that costs nothing stays as an empty computation, so that operations keep
// their numbers. Linear.
[[nodiscard]] traffic::Schedule as_computation(const traffic::Schedule& schedule, const model::LocalCosts& costs);

}  // namespace loom::coll
