// The rounds of a schedule: which of its messages may be on the wire together.
#pragma once

#include <string>

#include "loom/traffic/pattern.hpp"
#include "loom/traffic/schedule.hpp"

namespace loom::traffic {

// A pattern with a stage for each round: a message belongs to the round whose number is that of the messages that must
// have arrived, one after another, before it can begin. Pairs of a round are in the order of senders; a pair that sends
// twice in a round stands there twice. `ranks`: at least those of the schedule.
//
// Throws Error for receives from anyone or of any tag, a message without its receive (or the other way round) and
// operations that wait for ever. n log n in operations.
[[nodiscard]] PatternPtr rounds_of(const Schedule& schedule, std::string name, std::size_t ranks);

}  // namespace loom::traffic
