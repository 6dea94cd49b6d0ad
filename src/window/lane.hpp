// A ring of notifications from one rank to another of its host, in memory of the receiver that both reach.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

#include "loom/base/error.hpp"

namespace loom::window {

inline constexpr std::uint64_t lane_slots = 1024;

// Of one rank, for one other. All zero at first. A slot is a notification of 56 bits and, above it, the lap in which it
// was written: 1 to 255 in turn, so that what lay there before is never taken for a new one, and nothing is cleared.
struct Lane {
    std::atomic<std::uint64_t> slots[lane_slots];  // the other writes
    alignas(64) std::atomic<std::uint64_t> taken;  // the other writes: how many of ours it has taken, in all
};
inline constexpr unsigned lap_shift = 56;
[[nodiscard]] constexpr std::uint64_t next_lap(std::uint64_t lap) {
    return lap == 255 ? 1 : lap + 1;
}

class LaneWriter {
public:
    LaneWriter() = default;
    // `theirs`: their lane for us. `mine`: ours for them.
    LaneWriter(Lane& theirs, const Lane& mine) : slots_(theirs.slots), taken_(&mine.taken) {}

    // What is stored before is seen by whoever sees the word. Waits in memory of ours while the lane is full.
    void send(std::uint64_t word) {
        if (tail_ - known_ == lane_slots) [[unlikely]] {  // as long as one waits
            waiting_.push_back(word);
            send_waiting();
            return;
        }
        write(word);
    }
    // True: some of those that waited are sent. Throws Error when the other says what cannot be.
    bool send_waiting();
    [[nodiscard]] bool any_waiting() const { return !waiting_.empty(); }
    void give_up() { waiting_.clear(); }

private:
    void write(std::uint64_t word) {
        slots_[tail_ % lane_slots].store(word | lap_ << lap_shift, std::memory_order_release);
        if (++tail_ % lane_slots == 0) lap_ = next_lap(lap_);
    }

    std::atomic<std::uint64_t>* slots_ = nullptr;
    const std::atomic<std::uint64_t>* taken_ = nullptr;
    std::uint64_t tail_ = 0, known_ = 0, lap_ = 1;  // written and known to be taken, in all
    std::deque<std::uint64_t> waiting_;
};

class LaneReader {
public:
    LaneReader() = default;
    LaneReader(const Lane& mine, Lane& theirs) : slots_(mine.slots), taken_(&theirs.taken) {}

    [[nodiscard]] bool has_news() const {
        return slots_[head_ % lane_slots].load(std::memory_order_relaxed) >> lap_shift == lap_;
    }
    // The oldest, of 56 bits; false: there is none.
    bool next(std::uint64_t& word) {
        const std::uint64_t slot = slots_[head_ % lane_slots].load(std::memory_order_acquire);
        if (slot >> lap_shift != lap_) return false;
        word = slot & ((std::uint64_t{1} << lap_shift) - 1);
        if (++head_ % lane_slots == 0) lap_ = next_lap(lap_);
        if (head_ % (lane_slots / 4) == 0) taken_->store(head_, std::memory_order_release);
        return true;
    }

private:
    const std::atomic<std::uint64_t>* slots_ = nullptr;
    std::atomic<std::uint64_t>* taken_ = nullptr;
    std::uint64_t head_ = 0, lap_ = 1;
};

inline bool LaneWriter::send_waiting() {
    if (waiting_.empty()) return false;
    const std::uint64_t taken = taken_->load(std::memory_order_acquire);
    if (taken - known_ > tail_ - known_)
        throw Error("it says that it took " + std::to_string(taken) + " notifications of " + std::to_string(tail_));
    known_ = taken;
    bool any = false;
    while (!waiting_.empty() && tail_ - known_ < lane_slots) {
        write(waiting_.front());
        waiting_.pop_front();
        any = true;
    }
    return any;
}

}  // namespace loom::window
