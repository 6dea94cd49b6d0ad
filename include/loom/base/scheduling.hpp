// What a thread may ask of the system's scheduler.
#pragma once

namespace loom {

// For a thread that works for moments and must not wait for them: it gets a core soon when it wakes, from one that
// computes, and gives it back soon. Without any right; ignored where the system does not know it (before Linux 6.12).
void ask_for_short_slices();

// The lowest real-time priority: whoever computes makes room at once. False where it is not allowed.
[[nodiscard]] bool take_real_time_priority();

}  // namespace loom
