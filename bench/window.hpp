// Notified puts beside what others have: lines of the same form as those of verbs.
#pragma once

#include "verbs.hpp"

namespace loom::bench {

// put_notify of 8 bytes between two processes of this host beside UCX's put, which notifies nobody, and MPI's put,
// flush and flag; notified puts a second.
void measure_window(const Plan& plan, const VerbsSink& sink);

}  // namespace loom::bench
