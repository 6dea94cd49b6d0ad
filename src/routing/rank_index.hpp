// Numbers for hosts such that consecutive hosts take different ways.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/routing/switch_graph.hpp"

namespace loom::routing {

// A host on a leaf, in rank order (leaf by leaf).
struct RankedHost {
    SwitchIndex leaf;
    std::uint8_t port;
    std::uint32_t piece;  // connected part of the fabric; numbers start at 0 in each
};

// The number of each host, from which ftree takes its way (mod `slots` at the leaves). On a full tree the
// rank. With hosts missing no numbering suits every shift: ranks meet contention where the ring of ranks
// closes, numbers that restart at each leaf meet it behind every leaf that is not full. Numbers may be left
// out after such leaves; which, is searched for as long as about 20 ms allow (to some 3,000 hosts; ranks
// beyond). With `place_keepers` a host's number depends on its leaf and port alone, missing hosts keep theirs.
[[nodiscard]] std::vector<std::uint32_t> number_hosts(const SwitchGraph& graph, std::span<const RankedHost> hosts,
                                                      unsigned slots, bool place_keepers);

}  // namespace loom::routing
