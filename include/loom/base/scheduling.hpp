// What a thread may ask of the system's scheduler and of its core.
#pragma once

#include <pthread.h>

namespace loom {

// For a thread that works for moments and must not wait for them: it gets a core soon when it wakes, from one that
// computes, and gives it back soon. Without any right; ignored where the system does not know it (before Linux 6.12).
void ask_for_short_slices();

// The lowest real-time priority: whoever computes makes room at once. 0, or the system's error where it is not allowed.
[[nodiscard]] int take_real_time_priority(pthread_t thread);

// Between two looks at memory that another core writes: some ten nanoseconds, in which a sibling thread has the core.
inline void pause_core() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace loom
