// Grouping of things by what they have in common.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace loom {

// Puts sets that share at least half of the smaller one's members into one group, greedily: the first
// set not yet in a group opens one and draws in all that overlap with it. Members are numbers below
// `universe`; a set must not hold one twice. Returns a group number for each set, counted from 0 in
// order of first appearance; an empty set is a group of its own.
// Cost: for each group, the members of its first set times the number of sets that hold each.
[[nodiscard]] std::vector<std::uint32_t> group_by_overlap(std::span<const std::vector<std::uint32_t>> sets,
                                                          std::uint32_t universe);

}  // namespace loom
