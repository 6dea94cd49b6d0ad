// Splitting independent work over the machine's cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace loom {

// 0 means "as many as the machine has".
[[nodiscard]] inline unsigned thread_count(unsigned asked) {
    return asked != 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// Calls work(begin, end) on disjoint pieces of [0, count), from `threads` threads at once; which
// thread gets which piece is not fixed, so work must not depend on it. One thread calls it in place.
// The first exception is passed on after all threads have stopped.
template <class Work>
void parallel_for(std::size_t count, unsigned threads, std::size_t piece, Work&& work) {
    piece = std::max<std::size_t>(piece, 1);
    threads = static_cast<unsigned>(std::min<std::size_t>(thread_count(threads), (count + piece - 1) / piece));
    if (threads <= 1) {
        if (count != 0) work(std::size_t{0}, count);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    auto loop = [&] {
        try {
            for (;;) {
                const std::size_t begin = next.fetch_add(piece);
                if (begin >= count) return;
                work(begin, std::min(count, begin + piece));
            }
        } catch (...) {
            next = count;
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(loop);
    loop();
    others.clear();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace loom
