// What is measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure.hpp"
#include "sizes.hpp"

namespace loom::bench {

enum class Peers { none, some, full };

struct Plan {
    std::vector<Size> sizes;
    std::vector<std::string> engines;
    std::vector<unsigned> threads;
    Peers peers = Peers::some;
    bool quick = false;
};

using Sink = std::function<void(const Line&)>;

// From the fabric in memory to full tables, switch LIDs included, beside OpenSM on the same fabric.
void measure_routing(const Plan& plan, const Sink& sink);
// Checks beside ibdmchk, random bisect patterns, all shift stages of the 12-ary-3-tree.
void measure_analysis(const Plan& plan, const Sink& sink);

}  // namespace loom::bench
