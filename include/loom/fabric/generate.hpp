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
#include <cstdint>
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

// How the outer ports of a Clos network are numbered, which decides where hosts and uplinks sit when it
// is used as a switch of a larger one: round_robin deals them out over the leaves (each leaf has as many
// hosts as uplinks), by_leaf takes all ports of the first leaf, then of the second (a leaf has either).
enum class OuterPorts : std::uint8_t { round_robin, by_leaf };

// How a leaf's uplinks are dealt to the spines: in_turn goes on where the leaf before left off, so that
// every spine gets as many and no leaf has two cables more to one spine than to another; from_first lets
// every leaf begin at the first spine, passing over spines that are full.
enum class UplinkOrder : std::uint8_t { in_turn, from_first };

// Recursive Clos networks (Hoefler 2008, II.5): leaf crossbars with up : down ports in the ratio given,
// joined by spines; at depth d > 1 full-sized networks of depth d-1 take the place of crossbars, half of
// their ports up and half down.
//
// Nodes: leaf networks, then spine networks, recursively; a crossbar is named by its place in each
// ("leaf02.spine1"). Hosts are numbered by crossbar and port.
struct Clos {
    unsigned crossbar = 0;  // ports of a switch
    unsigned up = 1;        // ratio of uplinks ...
    unsigned down = 1;      // ... to outer ports on a leaf crossbar; up + down must divide crossbar
    std::size_t ports = 0;  // hosts; 0: the largest network of this depth
    unsigned depth = 1;
    OuterPorts outer = OuterPorts::round_robin;
    UplinkOrder uplinks = UplinkOrder::in_turn;
    LinkRate rate = default_rate;
};

[[nodiscard]] Fabric clos(const Clos& parameters);

enum class Wrap : std::uint8_t { torus, mesh };

// A grid of switches, each with its hosts. Ports: hosts, then for each dimension the cables onwards and
// the cables back. A ring of two switches has one bundle of cables, not two. Switches are numbered with
// the last dimension varying fastest and named by coordinates ("S-0-2-1").
struct Torus {
    std::vector<unsigned> dimensions;
    unsigned hosts_per_switch = 1;
    Wrap wrap = Wrap::torus;
    unsigned parallel = 1;  // cables between neighbours
    unsigned radix = 0;     // ports of every switch; 0: as many as needed
    LinkRate rate = default_rate;
};

[[nodiscard]] Fabric torus(const Torus& parameters);

// Which group the k-th global cable of group i leads to, of g groups: absolute to the k-th other group;
// palmtree to group i-k-1 modulo g, which makes all groups alike.
enum class GlobalCables : std::uint8_t { palmtree, absolute };

// Canonical dragonfly (Kim 2008): groups of `routers` switches, all joined within the group, each with
// `hosts` hosts and `global` cables to other groups; global cable k of a group is on router k / global.
// With fewer than routers * global + 1 groups each pair of groups gets as many cables as go evenly, and
// what remains stays open. Ports: hosts, other routers of the group in order, global cables.
struct Dragonfly {
    unsigned routers = 0;  // a
    unsigned hosts = 0;    // p
    unsigned global = 0;   // h
    unsigned groups = 0;   // 0: as many as can be, a * h + 1
    GlobalCables arrangement = GlobalCables::palmtree;
    unsigned radix = 0;
    LinkRate rate = default_rate;
};

[[nodiscard]] Fabric dragonfly(const Dragonfly& parameters);

// Which spines a leaf reaches: all of them, or only those of its own rail (traffic between rails then
// has to change the rail inside a server; the rails are separate subnets).
enum class RailSpines : std::uint8_t { shared, per_rail };

// A rail-optimised tree as clusters of GPU servers use: units of servers with `rails` adapters each,
// adapter i of every server of a unit on the unit's leaf i. Leaves are numbered unit by unit, adapters
// server by server ("server03 mlx5_1", each a node of its own). Ports of a leaf: servers, then spines,
// parallel cables taking turns; of a spine: leaves in order, parallel cables taking turns.
struct Rail {
    unsigned units = 1;
    unsigned servers_per_unit = 0;
    unsigned rails = 8;
    unsigned spines = 0;      // per rail when the rails have their own
    unsigned parallel = 1;    // cables between a leaf and each of its spines
    std::size_t servers = 0;  // fewer than units * servers_per_unit, the last ones missing; 0: all
    RailSpines layout = RailSpines::shared;
    unsigned radix = 0;
    LinkRate rate = default_rate;
};

[[nodiscard]] Fabric rail(const Rail& parameters);

}  // namespace loom::fabric
