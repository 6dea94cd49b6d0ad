// Whether costs can be, and whether a schedule by them ends before the clock does.
#pragma once

#include "loom/model/walk.hpp"

namespace loom::model {

// Throws UsageError for negative costs, Error for what may last longer than 46 days.
void check_length(const traffic::Schedule& schedule, const Charges& charges);

}  // namespace loom::model
