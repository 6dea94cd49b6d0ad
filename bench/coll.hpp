// Non-blocking collectives beside Open MPI's and MPICH's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "contest.hpp"
#include "lines.hpp"
#include "statistics.hpp"

namespace loom::bench {

// One operation of one size: seconds from start to the end of wait, by contestant and round.
struct CollCell {
    std::string operation;
    std::uint32_t ranks = 0;
    std::uint64_t bytes = 0;
    std::map<Who, std::vector<double>> seconds;
    std::map<Who, std::string> failures;

    // Middle 0 when one of them is missing.
    [[nodiscard]] Interval to(Who peer, Who who) const;
    [[nodiscard]] Interval to_openmpi(Who who) const { return to(Who::openmpi, who); }
};

// All contestants check the result, warm up and take turns. One that fails is named in the cell and gone afterwards.
[[nodiscard]] CollCell measure_cell(const Plan& plan, std::vector<std::unique_ptr<Contestant>>& all,
                                    coll::Operation operation, std::uint32_t ranks, std::uint64_t bytes);

// What was promised of a contestant's times to Open MPI's, over the sizes of one operation.
struct CollPromise {
    Who who = Who::native;
    std::string operation;
    std::uint32_t ranks = 0;
    Interval mean;  // geometric, over sizes
    double bound = 0;
    std::vector<std::uint64_t> slow;  // sizes whose interval lies above 1.1
    [[nodiscard]] bool met() const { return mean.middle > 0 && mean.middle <= bound && slow.empty(); }
};

// What starting costs, without waiting.
struct StartLine {
    Who who = Who::native;
    std::string operation;
    std::uint32_t ranks = 0;
    std::uint64_t bytes = 0;
    // Seconds, by round: of a shape that was never asked for before, of one that was, and of one that is kept.
    std::vector<double> first, fresh, persistent;
    std::string failure;
    [[nodiscard]] Interval to_first() const { return bench::ratio(persistent, first); }
    [[nodiscard]] Interval to_fresh() const { return bench::ratio(persistent, fresh); }
};

struct CollResults {
    std::vector<CollCell> cells;
    std::vector<CollPromise> promises;
    std::vector<StartLine> starts;
    [[nodiscard]] bool ok() const;  // everyone came up, and all data was right
};

// Prints as it goes. About six minutes on two cores; the plan's match, ranks and bytes narrow it down.
[[nodiscard]] CollResults measure_coll(const Plan& plan);
[[nodiscard]] std::string to_json(const CollResults& results);

}  // namespace loom::bench
