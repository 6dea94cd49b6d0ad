// Messages that come before their receive: what they cost in memory and time where one of 4 ranks comes late to every
// reduction, with libloom-mpi and with Open MPI alone.
#pragma once

#include <string>
#include <vector>

#include "lines.hpp"

namespace loom::bench {

struct EarlyCell {
    std::uint32_t steps = 0;
    std::uint32_t late = 0;  // microseconds of the last rank, each time
    // By round, with libloom-mpi and without.
    std::vector<double> memory, memory_alone;  // of rank 0, MB at most
    std::vector<double> step, step_alone;      // microseconds
    std::string failure;
};

// 1 ms late for 5,000 and 10,000 steps, whose memory must not differ; and not late at all. Prints as it goes.
[[nodiscard]] std::vector<EarlyCell> measure_early(const Plan& plan);
[[nodiscard]] std::string to_json(const std::vector<EarlyCell>& cells);

}  // namespace loom::bench
