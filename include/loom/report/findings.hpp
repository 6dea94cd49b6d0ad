// Everything a report tells about a fabric and its tables, found once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loom/congestion/bisection.hpp"
#include "loom/congestion/contention.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/routing/check.hpp"

namespace loom::report {

struct LevelLine {
    std::string name;  // "leaves", "level 1", "roots"
    std::size_t switches = 0;
    std::size_t hosts = 0;        // host cables, as everywhere without those of aggregation nodes
    std::size_t up = 0;           // cables to higher levels
    std::size_t down = 0;         // cables to lower levels, hosts included
    std::size_t inside = 0;       // cables within the level
    double oversubscription = 0;  // as in fabric::LevelSummary
};

struct Verdict {
    enum class Kind { good, note, bad };
    Kind kind = Kind::good;
    std::string question;  // "Reachable"
    std::string answer;    // one sentence
};

struct HotLinkLine {
    std::string name;
    std::uint32_t peak = 0;   // flows at once in the worst stage
    std::uint64_t total = 0;  // flows of all stages
};

struct SlowLine {
    std::string name;
    std::string rate;
    std::string supported;
};

struct Findings {
    std::string title;
    std::size_t switches = 0;
    std::size_t hosts = 0;  // nodes, aggregation nodes not among them
    std::size_t routers = 0;
    std::size_t aggregation_nodes = 0;
    std::size_t cables = 0;
    std::size_t ranks = 0;  // host ports that take part in a job
    fabric::Levels levels;
    std::vector<LevelLine> level_lines;   // leaves first
    std::vector<std::string> deviations;  // from a perfect tree, and oddities of the input, in plain words

    std::string engine;        // who made the tables; "" when the file does not say
    bool routed_here = false;  // no tables were given, so `engine` made them
    std::vector<std::string> routing_remarks;
    bool valid = false;  // the check's verdict
    std::vector<Verdict> verdicts;
    std::vector<SlowLine> slow;  // links below what their ends support, 1,000 at most
    std::size_t slow_count = 0;

    congestion::Contention shift;      // all-to-all in shift order
    std::size_t stage_step = 1;        // only every so-manieth stage was counted
    std::vector<HotLinkLine> hottest;  // 50 at most
    std::vector<double> load;          // by PortIndex: peak flows of the direction leaving there
    bool has_bisection = false;        // below two ranks there is none
    congestion::Bisection bisection;
};

struct FindOptions {
    std::uint64_t seed = 1;
    unsigned threads = 0;  // 0: all cores; findings never depend on it
    std::size_t bisection_samples = 1000;
    std::size_t most_pairs = 200'000'000;       // beyond, shift stages are counted at regular intervals
    std::function<void(double)> progress = {};  // called with 0..1 now and then, if set
};

// `tables` null: the ftree engine routes first (sssp where it does not apply), and that is said. Cost: for
// 1,728 hosts a fraction of a second; for 11,664 a few seconds, most of it the 136 million pairs.
// Throws Error when the fabric has no LIDs and tables are given, or has no switch.
[[nodiscard]] Findings find(const routing::SwitchGraph& graph, const routing::Tables* tables,
                            const FindOptions& options = {});

}  // namespace loom::report
