// How the patterns are built; not seen outside the room.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "loom/traffic/pattern.hpp"

namespace loom::traffic {

using StageMaker = std::function<void(std::size_t stage, std::vector<Pair>& out)>;

// A pattern that is its stage function. The function only appends; it must be free of state that changes.
PatternPtr from_function(std::string name, std::size_t ranks, std::size_t stages, StageMaker maker);

inline Pair pair(std::size_t from, std::size_t to) {
    return {Rank{static_cast<std::uint32_t>(from)}, Rank{static_cast<std::uint32_t>(to)}};
}

// Rounds until 2^rounds >= ranks.
std::size_t doubling_rounds(std::size_t ranks);

PatternPtr make_shift(std::string name, std::size_t ranks);
PatternPtr make_single_shift(std::string name, std::size_t ranks, std::size_t distance);
PatternPtr make_xor(std::string name, std::size_t ranks);
PatternPtr make_single_xor(std::string name, std::size_t ranks, std::size_t mask);
PatternPtr make_doubling_shift(std::string name, std::size_t ranks);
PatternPtr make_recursive_doubling(std::string name, std::size_t ranks);
PatternPtr make_binomial(std::string name, std::size_t ranks, std::size_t root);
PatternPtr make_gather(std::string name, std::size_t ranks, std::size_t root);
PatternPtr make_scatter(std::string name, std::size_t ranks, std::size_t root);
PatternPtr make_neighbors(std::string name, std::vector<std::size_t> extent);
PatternPtr make_permutation(std::string name, std::size_t ranks, std::size_t samples, std::uint64_t seed);
PatternPtr make_bisect(std::string name, std::size_t ranks, std::size_t samples, std::uint64_t seed);

}  // namespace loom::traffic
