// What calls have in common that get the same answer from the model.
#pragma once

#include <cstdint>

#include "loom/coll/call.hpp"

namespace loom::coll {

// Of a block that only some ranks know.
inline constexpr std::uint64_t usual_block = 4096;

// What sizes have in common that get the same answer: the first 3 bits stay, the rest becomes 0.
[[nodiscard]] std::uint64_t size_class(std::uint64_t bytes);

// The bytes by which a call is judged: those of the message or of one block (their mean, where all know them).
[[nodiscard]] std::uint64_t known_bytes(const Call& call);

// Of everything in a group that algorithms look at, but for who we are in it.
[[nodiscard]] std::uint64_t signature(const Group& group);

}  // namespace loom::coll
