// The fabrics of two papers' tables, as parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loom/fabric/generate.hpp"

namespace loom::fabric {

// Two cables of a switch exchanged: what "reordered" means in the table.
struct Swap {
    std::string_view node;
    PortNum first;
    PortNum second;
};

struct TreePreset {
    unsigned row;                  // of the table, from 1
    std::string_view name;         // unique, fit for a command line: "half-4-ary-3-tree"
    std::string_view description;  // the table's own words
    Pgft tree;
    std::vector<Swap> swaps = {};

    [[nodiscard]] Fabric make() const;
};

// Table I of Zahavi 2009, all 21 rows in its order, on the 8- and 24-port switches of the time. Where
// the authors published a row's topology with ibutils, cables are in the same ports here (rows 10 and 11
// have no gaps between used ports). Rows 5 and 7, and rows 15 and 16, describe the same tree.
[[nodiscard]] std::vector<TreePreset> zahavi_table1();

// Fig. II.24 of Hoefler 2008, all 48 networks: parts (a) to (d), rows in their order. The thesis does not
// say how cables are dealt; "every leaf from the first spine on" gives spreads closest to the printed ones.
[[nodiscard]] std::vector<Clos> hoefler_fat_trees();

}  // namespace loom::fabric
