// How much of a collective's time is free for computing, as NBCBench measures it (Hoefler 2008).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contest.hpp"
#include "lines.hpp"

namespace loom::bench {

// One way of making progress meanwhile.
struct Progressing {
    Who who = Who::native;
    coll::Progress progress = coll::Progress::manual;
    std::uint32_t tests = 0;  // calls of test while computing
    bool spare = false;       // a core for the thread; ranks compute in turns then, while the others sleep
};
[[nodiscard]] std::string to_string(const Progressing& how);  // "16 tests", "thread"

struct OverlapLine {
    Progressing how;
    std::string operation;
    std::string wire;  // "1 Gbit/s", or empty: shared memory
    std::uint32_t ranks = 0;
    std::uint64_t bytes = 0;
    // By round. Blocking: seconds of start and wait without work, the shorter of manual progress and this one, so that
    // nobody gains by being slow.
    std::vector<double> blocking;
    // Share of it that was free, by an amount of work fixed beforehand. Of ranks that compute in turns the lesser one.
    std::vector<double> fixed;
    std::vector<double> deadline;   // the same by computing until a deadline, which hides stolen cycles
    std::vector<double> start;      // seconds in the call that starts, with the fixed work: median of ranks
    std::vector<double> processor;  // seconds of all ranks and their threads, with the fixed work done twice
    double promised = 0;            // of `fixed`; 0: nothing was
    std::string failure;

    [[nodiscard]] bool met() const;
};

struct OverlapResults {
    std::vector<OverlapLine> lines;
    [[nodiscard]] bool ok() const;
};

enum class OverlapWires : std::uint8_t { all, between };  // between: hosts only

// Between ranks of this host, and, as root, between two network namespaces joined by a wire of 1 Gbit/s. Prints as it
// goes.
[[nodiscard]] OverlapResults measure_overlap(const Plan& plan, OverlapWires wires);
[[nodiscard]] std::string to_json(const OverlapResults& results);

}  // namespace loom::bench
