// Numbers for hosts such that consecutive hosts take different ways.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/routing/switch_graph.hpp"

namespace loom::routing {

// A host on a leaf, in rank order (leaf by leaf).
struct LeafHost {
    SwitchIndex leaf;
    std::uint8_t port;
    std::uint32_t piece;          // connected part of the fabric; numbers start at 0 in each
    std::uint32_t leaf_position;  // among all leaves of the tree, with hosts or without
};

// What is needed to tell which channels of a complete tree a packet takes, level by level from the leaves up
// to the last that has cables upwards. A tree that is not complete is described by its leaves alone.
struct TreeShape {
    std::vector<unsigned> slots;                      // up cables of a switch
    std::vector<unsigned> parents;                    // different switches they lead to
    std::vector<std::vector<std::uint32_t>> subtree;  // by switch (leaves count): equal when in one subtree
};

// The number of each host, from which ftree takes its way (mod the slots of the leaves). On a full tree the
// rank. With hosts missing no numbering suits every shift: ranks meet contention where the ring of ranks
// closes, numbers that restart at each leaf meet it behind every leaf that is not full. Numbers may be left
// out after such leaves; which, is searched for as long as about 50 ms allow (to some 1,500 hosts; ranks
// beyond).
[[nodiscard]] std::vector<std::uint32_t> number_hosts(std::span<const LeafHost> hosts, const TreeShape& shape);

// Numbers that depend on a host's leaf and place alone, so that missing hosts keep theirs (Zahavi 2009, section
// 3.2). `ports` are the places of fabric::host_places; when empty, hosts are counted on each leaf.
[[nodiscard]] std::vector<std::uint32_t> number_places(std::span<const LeafHost> hosts, std::span<const PortNum> ports);

}  // namespace loom::routing
