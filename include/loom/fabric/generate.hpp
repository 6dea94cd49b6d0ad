// Fabrics from parameters. Every generator gives the same fabric for the same parameters: same order
// of nodes, names, GUIDs and port numbers. Cost: one pass over the cables (45,056 hosts on 3,840
// switches in well under a second). LIDs are not assigned; call Fabric::assign_lids.
//
// Nodes: leaf switches first, then the levels above, then hosts. A switch of a tree is named after its
// level and its place in it ("L0-003" is the fourth leaf), a host after its place ("host0042"); places
// count from 0 and are padded with zeros so that names sort as numbers do.
//
// Parameters that make no fabric throw UsageError with the offending value.
#pragma once

#include <cstddef>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

inline constexpr LinkRate default_rate{Width::x4, Speed::qdr};

// The order in which a switch's ports take the parallel cables to its parents (or children) x, y:
// adjacent x x y y, round_robin x y x y.
enum class ParallelOrder : std::uint8_t { adjacent, round_robin };

// Parallel-ports generalised fat tree PGFT(h; m; w; p) of Zahavi: level 0 are the hosts, level h the
// roots. A node of level i has children[i-1] children, a node of level i-1 has parents[i-1] parents,
// and parallel[i-1] cables join each such pair. XGFT is parallel = 1.
//
// Level i node (a_h .. a_{i+1}, b_i .. b_1) with a_j < children[j-1], b_j < parents[j-1] is number
// "those digits read from left to right" of its level, so that each subtree is contiguous; it is the
// parent of the level i-1 nodes that agree with it in every digit but the i-th.
//
// Ports of a switch: children first, then parents, each in order of their i-th digit, unused ports
// last. A position keeps its port number when the host there is missing.
struct Pgft {
    std::vector<unsigned> children;
    std::vector<unsigned> parents;
    std::vector<unsigned> parallel = {};  // empty: 1 everywhere
    unsigned radix = 0;                   // ports of every switch; 0: as many as its level needs
    unsigned hosts_per_leaf = 0;          // populate only the first so many places of a leaf; 0: all
    std::size_t hosts = 0;                // populate only so many places in all, leaves in order; 0: all
    ParallelOrder up_order = ParallelOrder::round_robin;
    ParallelOrder down_order = ParallelOrder::round_robin;
    LinkRate rate = default_rate;
};

[[nodiscard]] Fabric pgft(const Pgft& parameters);

// k hosts a leaf, n levels of switches with k down and k up ports each (roots: k down ports only):
// PGFT(n; k,..,k; 1,k,..,k; 1,..,1). k^n hosts, n * k^(n-1) switches.
[[nodiscard]] Pgft kary_tree(unsigned k, unsigned n);

// The same tree with `merge` roots at a time made into one switch: its cables to a child run in parallel.
// Throws UsageError unless merge divides the number of parents of the level below the roots.
[[nodiscard]] Pgft merge_roots(Pgft tree, unsigned merge = 2);

}  // namespace loom::fabric
