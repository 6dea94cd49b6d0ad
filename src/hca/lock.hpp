// The engine's lock, made for one thread that calls all the time and others that come now and then.
#pragma once

#include <time.h>

#include <atomic>

namespace loom::hca {

// Leaving is a plain store. A locked instruction there, as in every mutex that keeps track of sleepers, would make each
// call wait until what it wrote for other processes has reached them. Whoever finds the lock taken spins for some
// microseconds, then sleeps and looks again.
class EngineLock {
public:
    void lock() {
        // Whoever waits has looked for longer: a caller that comes back at once must not pass it every time.
        if (waiting_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
        waiting_.fetch_add(1, std::memory_order_relaxed);
        for (unsigned looks = 1;; ++looks) {
            pause();
            if (!taken_.load(std::memory_order_relaxed) && try_lock()) break;
            if (looks % spins == 0) {
                const timespec nap{0, 20'000};
                nanosleep(&nap, nullptr);
            }
        }
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }
    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    static constexpr unsigned spins = 2000;
    std::atomic<bool> taken_{false};
    std::atomic<unsigned> waiting_{0};
};

}  // namespace loom::hca
