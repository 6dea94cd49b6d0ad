// The queue of a simulation that never looks back: events in order of time and, at one time, of number.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace loom::sim {

// A radix heap. What lies beyond the horizon is kept by the highest digit in which its time differs from a time at the
// horizon, unsorted; what comes before it, a few dozen events or all those of one moment, is one sorted array. So an
// event is moved a few times in all, by streaming, where a binary heap would compare and swap all over memory; and the
// engine can look ahead in the array. 16 bytes an event.
class EventQueue {
public:
    // `time` is not before the last event taken. `what` is the engine's own.
    void push(std::int64_t time, std::uint32_t number, std::uint32_t what) {
        const Event event{time, std::uint64_t{number} << 32 | what};
        ++size_;
        if (time >= horizon_) return put(event);
        assert(time >= now_);
        if (near_.empty() || near_.back() < event) {
            near_.push_back(event);
        } else {
            late_.push_back(event);
            std::push_heap(late_.begin(), late_.end(), std::greater<>{});
            if (late_.size() > most_late && horizon_ > now_ + 1) come_closer();
        }
    }

    [[nodiscard]] bool empty() const { return size_ == 0; }
    // Brings the first event near; there is one. On the way, `soon` is told of events that come before long, so that
    // memory can be asked for what they touch.
    template <class Soon>
    std::int64_t next_time(const Soon& soon) {
        if (next_ == near_.size() && late_.empty()) refill(soon);
        now_ = late_.empty()           ? near_[next_].time
               : next_ == near_.size() ? late_.front().time
                                       : std::min(near_[next_].time, late_.front().time);
        return now_;
    }
    struct Taken {
        std::uint32_t number;
        std::uint32_t what;
    };
    // The first event; next_time() was called since the last.
    Taken take() {
        --size_;
        std::uint64_t key;
        if (late_.empty() || (next_ < near_.size() && near_[next_] < late_.front())) {
            key = near_[next_++].key;
        } else {
            key = late_.front().key;
            std::pop_heap(late_.begin(), late_.end(), std::greater<>{});
            late_.pop_back();
        }
        return {static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key)};
    }
    // What will be taken `ahead` events from now, as far as is known: a hint for the caches, nothing else.
    [[nodiscard]] bool peek(std::size_t ahead, std::uint32_t& what) const {
        if (next_ + ahead >= near_.size()) return false;
        what = static_cast<std::uint32_t>(near_[next_ + ahead].key);
        return true;
    }

private:
    struct Event {
        std::int64_t time;
        std::uint64_t key;
        friend bool operator<(const Event& a, const Event& b) {
            return a.time != b.time ? a.time < b.time : a.key < b.key;
        }
        friend bool operator>(const Event& a, const Event& b) { return b < a; }
    };
    static constexpr unsigned digit_bits = 6;
    static constexpr unsigned digits = 1u << digit_bits;
    static constexpr unsigned levels = (63 + digit_bits) / digit_bits;
    static constexpr std::uint32_t few = 48;  // events that are sorted at once
    static constexpr std::size_t most_late = 128;
    static constexpr std::uint32_t soon_is = 768;  // events that still fit a near cache with all they touch

    struct Chunk {
        static constexpr std::uint32_t capacity = 254;
        Chunk* next = nullptr;
        std::uint32_t count = 0;
        std::array<Event, capacity> events;
    };
    // In the order of putting.
    struct Bucket {
        Chunk* head = nullptr;
        Chunk* tail = nullptr;
    };

    void put(const Event& event) {
        const auto time = static_cast<std::uint64_t>(event.time);
        const std::uint64_t differs = time ^ base_;
        const unsigned level = static_cast<unsigned>(std::bit_width(differs | 1) - 1) / digit_bits;
        const unsigned digit = time >> (level * digit_bits) & (digits - 1);
        Bucket& bucket = buckets_[level * digits + digit];
        if (!bucket.tail || bucket.tail->count == Chunk::capacity) {
            Chunk* const chunk = new_chunk();
            (bucket.tail ? bucket.tail->next : bucket.head) = chunk;
            bucket.tail = chunk;
            used_levels_ |= std::uint32_t{1} << level;
            used_[level] |= std::uint64_t{1} << digit;
        }
        bucket.tail->events[bucket.tail->count++] = event;
    }

    // Takes the first bucket apart until few events, or those of one time, are left in the first.
    template <class Soon>
    void refill(const Soon& soon) {
        near_.clear();
        next_ = 0;
        for (;;) {
            const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
            const auto digit = static_cast<unsigned>(std::countr_zero(used_[level]));
            Bucket& bucket = buckets_[level * digits + digit];
            Chunk* const head = bucket.head;
            bucket = {};
            used_[level] &= used_[level] - 1;
            if (used_[level] == 0) used_levels_ &= used_levels_ - 1;

            std::int64_t first = head->events[0].time, last = first;
            for (const Chunk* chunk = head; chunk; chunk = chunk->next)
                for (std::uint32_t i = 0; i < chunk->count; ++i) {
                    first = std::min(first, chunk->events[i].time);
                    last = std::max(last, chunk->events[i].time);
                }
            base_ = static_cast<std::uint64_t>(first);
            if (first == last || (!head->next && head->count <= few)) return bring_near(head);
            const bool are_soon = !head->next || head->count + head->next->count <= soon_is;
            for (Chunk* chunk = head; chunk;) {
                for (std::uint32_t i = 0; i < chunk->count; ++i) {
                    if (are_soon) soon(static_cast<std::uint32_t>(chunk->events[i].key));
                    put(chunk->events[i]);
                }
                chunk = discard(chunk);
            }
        }
    }

    void bring_near(Chunk* chunk) {
        bool sorted = true;
        while (chunk) {
            for (std::uint32_t i = 0; i < chunk->count; ++i) {
                sorted = sorted && (near_.empty() || near_.back() < chunk->events[i]);
                near_.push_back(chunk->events[i]);
            }
            chunk = discard(chunk);
        }
        if (!sorted) std::sort(near_.begin(), near_.end());
        horizon_ = near_.back().time + 1;
    }

    // Many events have come between those that were near: only the present stays so.
    void come_closer() {
        horizon_ = now_ + 1;
        const auto first = near_.begin() + static_cast<std::ptrdiff_t>(next_);
        const auto beyond = std::partition_point(first, near_.end(), [&](const Event& e) { return e.time < horizon_; });
        for (auto event = beyond; event != near_.end(); ++event) put(*event);
        near_.erase(beyond, near_.end());
        const auto stays =
            std::partition(late_.begin(), late_.end(), [&](const Event& e) { return e.time < horizon_; });
        for (auto event = stays; event != late_.end(); ++event) put(*event);
        late_.erase(stays, late_.end());
        std::make_heap(late_.begin(), late_.end(), std::greater<>{});
    }

    Chunk* discard(Chunk* chunk) {
        Chunk* const next = chunk->next;
        chunk->next = free_;
        free_ = chunk;
        return next;
    }
    Chunk* new_chunk() {
        if (!free_) {
            chunks_.push_back(std::make_unique_for_overwrite<Chunk>());
            free_ = chunks_.back().get();
            free_->next = nullptr;
        }
        Chunk* const chunk = free_;
        free_ = chunk->next;
        chunk->next = nullptr;
        chunk->count = 0;
        return chunk;
    }

    std::size_t size_ = 0;
    std::int64_t now_ = 0;
    std::int64_t horizon_ = 1;  // all events before it are near
    std::uint64_t base_ = 0;    // where the digits of all others are told from
    std::vector<Event> near_;   // sorted; those before next_ are taken
    std::size_t next_ = 0;
    std::vector<Event> late_;  // near ones that came out of order, a heap
    std::array<Bucket, levels * digits> buckets_{};
    std::array<std::uint64_t, levels> used_{};
    std::uint32_t used_levels_ = 0;
    std::vector<std::unique_ptr<Chunk>> chunks_;
    Chunk* free_ = nullptr;
};

}  // namespace loom::sim
