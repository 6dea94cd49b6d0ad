// How a run of ranks in virtual time is told: to people, as JSON, and as a section of the report's page.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "loom/report/ranks.hpp"
#include "loom/sim/links.hpp"
#include "loom/twin/run.hpp"

namespace loom::cli {

struct TwinAnswers {
    const twin::Options& options;
    const twin::Result& result;
    sim::LinkAnswers links;   // sim::look_at_links(), called in twin::run()'s look_at
    std::string title;        // the program
    std::string computation;  // "measured, times 0.8": how computing got its time
    double wall_seconds = 0;
    std::vector<std::string> remarks;  // beside those of links and timeline
};

// The end, the trouble, where the time went (the slowest ranks where they are many), hottest links, who waited behind
// whom.
void print_twin(const TwinAnswers& answers, std::FILE* to = stdout);
// Times in picoseconds (_ps), the machine's in seconds; what there is none of is null. Ranks all, in their order.
[[nodiscard]] nlohmann::ordered_json twin_json(const TwinAnswers& answers);
// Everything but the timeline's picture, which the caller draws where one is wanted.
[[nodiscard]] report::RanksPlayed ranks_played(const TwinAnswers& answers);
// "12.3 us, 3 of 64 ranks have ended, 1,234 messages (1.2 MiB)".
[[nodiscard]] std::string twin_progress(const twin::Progress& progress, std::size_t ranks);

}  // namespace loom::cli
