// The software HCA beside its peers: every line a ratio of two figures taken in turn in one run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lines.hpp"

namespace loom::bench {

enum class Better : unsigned char { less, more };

struct VerbsLine {
    std::string what;   // "ib_send_lat"
    std::string bytes;  // of one message
    std::string unit;   // "us", "MB/s", "M/s"
    Better better = Better::less;
    double bound = 0;                  // the ratio that is promised: at most, or at least where more is better
    std::string peer;                  // who is beside it
    std::string path;                  // that carried the bytes, by the HCA's own counters: "store 100 %"
    std::vector<double> ours, theirs;  // one of each per repetition, as taken
    bool ok = true;                    // both ran, and the bytes went the way that the line is about
    std::string notes;                 // what went wrong

    [[nodiscard]] double our_median() const;
    [[nodiscard]] double peer_median() const;
    [[nodiscard]] double ratio() const;  // ours to theirs: the median of the repetitions' ratios, as a machine
                                         // changes its mood between them more than within; 0 when one is missing
    [[nodiscard]] bool met() const;      // the promise
};

using VerbsSink = std::function<void(const VerbsLine&)>;

// Latencies, bandwidths and rates of perftest on the HCA, beside UCX's shared memory, bare copies between processes,
// and the kernel's TCP and UDP. The lines between two network namespaces need root and are left out with a remark
// otherwise.
void measure_verbs(const Plan& plan, const VerbsSink& sink);

void print_verbs_header();
void print(const VerbsLine& line);
// The other lines as JSON, with these in it.
[[nodiscard]] std::string to_json(const std::vector<Line>& lines, const std::vector<VerbsLine>& verbs);

}  // namespace loom::bench
