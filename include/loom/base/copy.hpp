// Copies of what no cache will hold.
#pragma once

#include <cstddef>

namespace loom {

// Like memcpy, but the target goes to memory past the caches, which then need not fetch it first: of data that is
// beyond them two thirds of the traffic. Whoever reads it next finds it in no cache. Ordered before everything that the
// thread stores later. On machines without such stores it is memcpy.
void copy_past_caches(void* to, const void* from, std::size_t bytes);

// Of the last caches of this host together, in bytes; 32 MiB where the system does not say. Asks it once, which takes
// some microseconds for each core.
[[nodiscard]] std::size_t last_caches_bytes();

}  // namespace loom
