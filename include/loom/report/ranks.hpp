// The section of a page that tells what a job of ranks did: where their time went, over which links, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loom/base/svg.hpp"
#include "loom/report/page.hpp"
#include "loom/sim/links.hpp"

namespace loom::report {

// Where a rank's time went; the four make up its end.
struct RankLine {
    std::uint32_t rank = 0;
    std::string host;
    Time end = never;  // never: it did not
    Time computing{}, waiting{}, sending{}, other{};
    std::uint64_t messages = 0;  // sent
    std::uint64_t bytes = 0;
};

// A run of ranks, real or simulated.
struct RanksPlayed {
    std::string title;  // of the program
    sim::Level level = sim::Level::message;
    sim::State state = sim::State::finished;
    Time finish = never;
    std::string computation;  // "declared": how computing got its time; empty: not said
    std::vector<RankLine> ranks;
    std::vector<std::string> trouble;  // of one that came to no end
    std::vector<std::string> remarks;
    sim::LinkAnswers links;
    std::optional<Svg> timeline;
    const fabric::Fabric* fabric = nullptr;  // for the picture of its links; null: none is drawn
};

struct RanksOptions {
    std::size_t most_ranks = 50;     // beyond, these are the slowest, and all together are summed up
    std::size_t most_switches = 96;  // of a level, in the picture
};

// How it ended and when, the trouble, ranks with the slowest first, links and who waited behind whom, the fabric with
// its links coloured by the time they were busy, the timeline. Names are escaped.
[[nodiscard]] Section ranks_section(const RanksPlayed& played, const RanksOptions& options = {});

// Least, mean and most of something over the ranks.
struct Spread {
    Time least = never, mean{}, most{};
};
// Of `member` over ranks that ended, or over all where none did.
[[nodiscard]] Spread spread_of(const std::vector<RankLine>& ranks, Time RankLine::*member);
// Positions in `ranks`: those without an end first, then the latest.
[[nodiscard]] std::vector<std::size_t> slowest_ranks(const std::vector<RankLine>& ranks, std::size_t most);

}  // namespace loom::report
