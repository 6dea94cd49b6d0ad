// The fabrics that are measured.
#pragma once

#include <string>
#include <vector>

#include "loom/fabric/generate.hpp"

namespace loom::bench {

struct Size {
    std::string name;
    fabric::Pgft tree;
    bool opensm_by_default = false;  // OpenSM needs seconds here
    bool opensm_at_all = false;      // OpenSM needs minutes here

    // With LIDs for hosts and switches.
    [[nodiscard]] fabric::Fabric make() const {
        fabric::Fabric fabric = fabric::pgft(tree);
        fabric.assign_lids();
        return fabric;
    }
};

inline std::vector<Size> all_sizes() {
    return {
        {"648, 2-level 36-port", {.children = {18, 36}, .parents = {1, 18}, .radix = 36}, true, true},
        {"3456, 3-level 24-port", {.children = {12, 12, 24}, .parents = {1, 12, 12}, .radix = 24}, true, true},
        {"11664, 3-level 36-port", {.children = {18, 18, 36}, .parents = {1, 18, 18}, .radix = 36}, false, true},
        {"45056, 3-level 64-port", {.children = {32, 32, 44}, .parents = {1, 32, 32}, .radix = 64}, false, false},
    };
}

inline std::vector<Size> quick_sizes() {
    return {{"64, 3-level 8-port", {.children = {4, 4, 4}, .parents = {1, 4, 4}, .radix = 8}, true, true}};
}

// The tree of Zahavi's Table I: 1,728 hosts, 1,727 shift stages.
inline Size twelve_ary_three() {
    fabric::Pgft tree = fabric::kary_tree(12, 3);
    tree.radix = 24;
    return {"1728, 12-ary-3-tree", tree, false, false};
}

}  // namespace loom::bench
