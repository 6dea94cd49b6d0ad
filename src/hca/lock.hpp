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
        while (taken_.exchange(true, std::memory_order_acquire)) wait();
    }
    bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }
    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    void wait() const {
        for (unsigned looks = 0; taken_.load(std::memory_order_relaxed); ++looks) {
            if (looks < spins) {
                __builtin_ia32_pause();
                continue;
            }
            const timespec nap{0, 20'000};
            nanosleep(&nap, nullptr);
        }
    }

    static constexpr unsigned spins = 500;
    std::atomic<bool> taken_{false};
};

}  // namespace loom::hca
