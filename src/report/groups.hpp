// What is drawn as one: switches into boxes, cables into bundles.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "loom/fabric/levels.hpp"

namespace loom::report {

struct Box {
    std::vector<NodeId> switches;
    std::size_t hosts = 0;  // host cables plugged in here
};

struct Bundle {
    std::size_t lower = 0;  // boxes; equal level: in box order
    std::size_t upper = 0;
    std::size_t cables = 0;
    double load = 0;              // of its most loaded direction
    PortIndex hottest = no_port;  // where that direction leaves
};

struct Groups {
    std::vector<Box> boxes;
    std::vector<std::vector<std::size_t>> rows;  // by level, boxes from left to right
    std::vector<Bundle> bundles;
    std::size_t cut_off = 0;  // switches that belong to no level
};

// No row is longer than `most` (>= 1). Switches of a crowded level are joined by pod (the subtree they
// stand in), roots by plane (those that reach the same subtrees), and by neighbourhood where neither
// is small enough. Cost: some passes over the cables for each level that is crowded.
[[nodiscard]] Groups group_switches(const fabric::Fabric& fabric, const fabric::Levels& levels, std::size_t most,
                                    std::span<const double> load);

}  // namespace loom::report
