// Lines of a scenario that its level and its traffic do not look at.
#pragma once

#include <string>
#include <vector>

#include "loom/sim/scenario.hpp"

namespace loom::sim {

struct UnusedLine {
    std::string keyword;  // "congestion threshold"
    std::string why;      // "level flow has no packets, buffers, lanes or congestion control"
    Source source;
};

// In the order of the lines. To be asked after the last one.
[[nodiscard]] std::vector<UnusedLine> unused_lines(const Scenario& scenario, Traffic traffic = Traffic::scenario);

// A sentence for each reason.
[[nodiscard]] std::vector<std::string> describe(const std::vector<UnusedLine>& lines);

}  // namespace loom::sim
