// The engine's lock, made for one thread that calls all the time and others that come now and then.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "loom/base/scheduling.hpp"

namespace loom::hca {

// Leaving is a plain store and a look at who waits. A locked instruction there, as in every ordinary mutex, would make
// each call wait until what it wrote for other processes has reached them. The look may come too early, and a sleeper
// is then not woken: it looks again by itself after a tenth of a millisecond.
class EngineLock {
public:
    void lock() {
        // Whoever waits has looked for longer: a caller that comes back at once must not pass it every time.
        if (waiting_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
        waiting_.fetch_add(1, std::memory_order_seq_cst);
        for (unsigned looks = 1;; ++looks) {
            pause_core();
            if (taken_.load(std::memory_order_relaxed) == 0 && try_lock()) break;
            if (looks < spins) continue;
            const timespec longest{0, 100'000};
            syscall(SYS_futex, &taken_, FUTEX_WAIT_PRIVATE, 1, &longest, nullptr, 0);
        }
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    bool try_lock() { return taken_.exchange(1, std::memory_order_acquire) == 0; }
    void unlock() {
        taken_.store(0, std::memory_order_release);
        if (waiting_.load(std::memory_order_relaxed) != 0)
            syscall(SYS_futex, &taken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }

private:
    static constexpr unsigned spins = 100;
    std::atomic<std::uint32_t> taken_{0};
    std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace loom::hca
