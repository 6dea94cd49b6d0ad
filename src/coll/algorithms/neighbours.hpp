// Neighbour collectives: whose message is whose, and what is sent together.
#pragma once

#include <cstdint>
#include <span>

#include "coll/algorithms/parts.hpp"

namespace loom::coll {

bool has_neighbours(const Group& group, const Call& call);

// How often list[i] stands in the list before i.
[[nodiscard]] std::uint32_t occurrence(std::span<const Rank> list, std::size_t i);

// Which of the destinations of the rank's i-th source that is: the same occurrence of a pair of ranks, on a grid the
// opposite direction. Throws UsageError when lists do not match.
[[nodiscard]] std::uint32_t destination_of(const Group& group, Rank rank, std::uint32_t source);

// By combining: see neighbour_combining.cpp.
bool neighbours_on_hosts(const Group& group, const Call& call);
void neighbours_by_distance(const Group& group, const Call& call, const Tuning& tuning, Writer& writer);
void neighbours_by_host(const Group& group, const Call& call, const Tuning& tuning, Writer& writer);

}  // namespace loom::coll
