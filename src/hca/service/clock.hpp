// The clocks that timers and naps go by.
#pragma once

#include <cstdint>

namespace loom::hca {

std::uint64_t now_ns();         // monotonic
std::uint64_t coarse_now_ns();  // the same clock, some milliseconds behind, a few ns to read

}  // namespace loom::hca
