// The order of leaves in which every subtree is contiguous.
#pragma once

#include <cstdint>
#include <vector>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric {

// `level` by NodeId as in Levels. Subtrees are found by the parents they share, so that a missing or a
// misplaced cable does not tear one apart or melt two together; within a subtree, NodeId order.
[[nodiscard]] std::vector<NodeId> tree_leaf_order(const Fabric& fabric, const std::vector<std::uint8_t>& level,
                                                  std::uint8_t top);

}  // namespace loom::fabric
