// GOAL: schedules as text, the language of LogGOPSim and schedgen (Hoefler, Siebert, Lumsdaine 2009).
//
//   num_ranks 2
//   rank 0 {
//   l1: calc 100 cpu 0
//   l2: send 10b to 1 tag 5 cpu 0 nic 0
//   l2 requires l1
//   }
//   rank 1 {
//   l1: recv 10b from 0 tag 5
//   }
//
// A newline or a semicolon ends a statement; "a requires b" lets a wait for the end of b, "a irequires b" for its
// start; "from -1" takes a message from anyone, "tag -1" any tag; comments as in C++. calc is in nanoseconds.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "loom/traffic/schedule.hpp"

namespace loom::traffic {

// Throws ParseError with `file`, the line and what was expected. Every rank has its block, in any order; labels may be
// used before they are given. Linear in the text, some hundred megabytes a second.
[[nodiscard]] Schedule read_goal(std::string_view text, const std::string& file);

// Whether a text looks like GOAL: it begins, after blanks and comments, with num_ranks.
[[nodiscard]] bool looks_like_goal(std::string_view text);

// Reading what was written gives the same schedule, but for work that is no whole number of nanoseconds (rounded to
// the nearest) and service levels, for which GOAL has no words. Throws Error for copy and reduce: it has none for
// those.
void write_goal(const Schedule& schedule, std::ostream& out);

}  // namespace loom::traffic
