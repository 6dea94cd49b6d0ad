// The fabric drawn by levels, its cables coloured by load.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "loom/base/svg.hpp"
#include "loom/fabric/levels.hpp"

namespace loom::report {

struct PictureOptions {
    std::string title = {};           // above the picture; empty: none
    std::size_t most_switches = 160;  // in a level; beyond, whole subtrees become one box
    std::size_t most_hosts = 128;     // in all; beyond, hosts are counted, not drawn
    std::string load_word = "flows";  // what a load counts, for the legend and when pointing at a cable
};

// Roots at the top, leaves below, hosts as dots under them. A fabric without levels (torus, dragonfly)
// becomes a ring with its cables as chords. A line stands for all cables between the two boxes it joins
// and takes the colour of the most loaded one: calm green for one flow, red for the worst.
//
// `load` is by PortIndex, the load of the direction that leaves there; empty: all in one colour. Boxes
// and lines carry their names and figures as hover texts, and the attributes data-box and data-ends, so
// that a page can light up what belongs together. Size: about 130 bytes a line drawn, at most a few
// tens of thousands of lines however large the fabric.
[[nodiscard]] Svg draw_fabric(const fabric::Fabric& fabric, const fabric::Levels& levels,
                              const PictureOptions& options = {}, std::span<const double> load = {});

}  // namespace loom::report
