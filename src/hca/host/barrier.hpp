// A store followed by a load of another location, made visible in that order by the rare side alone: those who write to
// others and look whether they sleep do so all the time, those who fall asleep seldom.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace loom::hca {

// Once in a process, before light_barrier(): true when heavy barriers of other processes reach this one.
inline bool register_for_barriers() {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

// The frequent side. `registered`: what register_for_barriers() said.
inline void light_barrier(bool registered) {
    if (registered)
        std::atomic_signal_fence(std::memory_order_seq_cst);
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
}

// The rare side: a full barrier here and in every registered process. False: only here. Some microseconds.
inline bool heavy_barrier() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

}  // namespace loom::hca
