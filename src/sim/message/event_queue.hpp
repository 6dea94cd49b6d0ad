// The events of a schedule that is played, in order of time and, at one time, of number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/message/timed_queue.hpp"

namespace loom::sim {

// 16 bytes an event.
class EventQueue {
public:
    // `time` is not before the last event taken. `what` is the engine's own.
    void push(std::int64_t time, std::uint32_t number, std::uint32_t what) {
        queue_.push(time, std::uint64_t{number} << 32 | what);
    }
    [[nodiscard]] bool empty() const { return queue_.empty(); }
    // Brings the first event near; there is one.
    std::int64_t next_time() { return queue_.next_time(); }
    struct Taken {
        std::uint32_t number;
        std::uint32_t what;
    };
    // The first event; next_time() was called since the last.
    Taken take() {
        const std::uint64_t key = queue_.take();
        return {static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)};
    }
    // As in TimedQueue.
    [[nodiscard]] bool is_new() const { return queue_.is_new(); }
    [[nodiscard]] bool peek(std::size_t ahead, std::uint32_t& what) const {
        const std::uint64_t* const key = queue_.peek(ahead);
        if (key) what = static_cast<std::uint32_t>(*key);
        return key != nullptr;
    }

private:
    TimedQueue<std::uint64_t> queue_;
};

}  // namespace loom::sim
