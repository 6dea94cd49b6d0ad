// nbc.h beside LibNBC itself, both under Open MPI.
#pragma once

#include <string>
#include <vector>

#include "coll.hpp"

namespace loom::bench {

struct NbcResults {
    std::vector<CollCell> cells;
    [[nodiscard]] bool ok() const;  // everyone came up, and all data was right
};

// Ours to LibNBC's; middle 0 where one of them is missing.
[[nodiscard]] Interval to_libnbc(const CollCell& cell);

// Every collective that LibNBC has, on 2 and 4 ranks. Prints as it goes. Throws Error where LibNBC cannot be built.
[[nodiscard]] NbcResults measure_nbc(const Plan& plan);
[[nodiscard]] std::string to_json(const NbcResults& results);

}  // namespace loom::bench
