// What threads of a device sleep on while there is nothing to do.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace loom::device {

// Ringing costs an atomic addition while nobody sleeps.
class Bell {
public:
    void ring() {
        rung_.fetch_add(1);
        if (sleepers_.load() == 0) return;
        const std::scoped_lock lock(mutex_);
        woken_.notify_all();
    }
    // Ask before looking for work; then sleep() returns at once when it rang since.
    [[nodiscard]] std::uint64_t rung() const { return rung_.load(); }
    void sleep(std::uint64_t seen, std::chrono::microseconds most) {
        sleepers_.fetch_add(1);
        {
            std::unique_lock lock(mutex_);
            woken_.wait_for(lock, most, [&] { return rung_.load() != seen; });
        }
        sleepers_.fetch_sub(1);
    }

private:
    std::atomic<std::uint64_t> rung_{0};
    std::atomic<int> sleepers_{0};
    std::mutex mutex_;
    std::condition_variable woken_;
};

}  // namespace loom::device
