// The queue of a simulation that never looks back: events in order of time and, at one time, of their keys.
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
// horizon, unsorted; what comes before it, some hundred events or all those of one moment, is one sorted array. So an
// event is moved a few times in all, by streaming, where a binary heap would compare and swap all over memory; and the
// engine can look ahead in the array. 8 bytes and a key an event.
template <class Key>
class TimedQueue {
public:
    // `time` is not before the last event taken.
    void push(std::int64_t time, const Key& key) {
        const Event event{time, key};
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
    // Brings the first event near; there is one.
    std::int64_t next_time() {
        if (next_ == near_.size() && late_.empty()) refill();
        now_ = late_.empty()           ? near_[next_].time
               : next_ == near_.size() ? late_.front().time
                                       : std::min(near_[next_].time, late_.front().time);
        return now_;
    }
    // The first event; next_time() was called since the last.
    Key take() {
        --size_;
        Key key;
        if (late_.empty() || (next_ < near_.size() && near_[next_] < late_.front())) {
            key = near_[next_++].key;
        } else {
            key = late_.front().key;
            std::pop_heap(late_.begin(), late_.end(), std::greater<>{});
            late_.pop_back();
        }
        return key;
    }
    // Whether the array of those to look ahead in is a new one.
    [[nodiscard]] bool is_new() const { return next_ == 0; }
    // What will be taken `ahead` events from now, as far as is known: a hint for the caches, nothing else.
    [[nodiscard]] const Key* peek(std::size_t ahead) const {
        return next_ + ahead < near_.size() ? &near_[next_ + ahead].key : nullptr;
    }

private:
    struct Event {
        std::int64_t time;
        Key key;
        friend bool operator<(const Event& a, const Event& b) {
            return a.time != b.time ? a.time < b.time : a.key < b.key;
        }
        friend bool operator>(const Event& a, const Event& b) { return b < a; }
    };
    static constexpr unsigned digit_bits = 6;
    static constexpr unsigned digits = 1u << digit_bits;
    static constexpr unsigned levels = (63 + digit_bits) / digit_bits;
    static constexpr std::size_t few = 1024;    // events that are sorted at once, at most
    static constexpr std::size_t enough = 256;  // events to look ahead in
    static constexpr std::size_t most_late = 128;

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

    // Takes first buckets apart until one holds few events, or those of one time, and brings that one near, with others
    // that follow while they are small: the engine looks ahead in what is near.
    void refill() {
        near_.clear();
        next_ = 0;
        for (unsigned last_level = levels;;) {
            const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
            if (!near_.empty() && level != last_level) break;
            const auto digit = static_cast<unsigned>(std::countr_zero(used_[level]));
            Bucket& bucket = buckets_[level * digits + digit];
            const Chunk* const head = bucket.head;
            std::int64_t first = head->events[0].time, last = first;
            std::size_t count = 0;
            for (const Chunk* chunk = head; chunk; chunk = chunk->next) {
                count += chunk->count;
                for (std::uint32_t i = 0; i < chunk->count; ++i) {
                    first = std::min(first, chunk->events[i].time);
                    last = std::max(last, chunk->events[i].time);
                }
            }
            const bool apart = count > few && first != last;
            if (!near_.empty() && (apart || near_.size() + count > few)) break;
            // The least of all that is left: what is put back from near must not come before it.
            if (near_.empty()) base_ = static_cast<std::uint64_t>(first);
            empty_bucket(level, digit, apart);
            last_level = level;
            if (near_.size() >= enough) break;
        }
        if (!std::is_sorted(near_.begin(), near_.end())) std::sort(near_.begin(), near_.end());
        horizon_ = near_.back().time + 1;
    }

    // Its events go to lower levels, or near.
    void empty_bucket(unsigned level, unsigned digit, bool apart) {
        Chunk* chunk = buckets_[level * digits + digit].head;
        buckets_[level * digits + digit] = {};
        used_[level] &= used_[level] - 1;
        if (used_[level] == 0) used_levels_ &= used_levels_ - 1;
        while (chunk) {
            if (apart)
                for (std::uint32_t i = 0; i < chunk->count; ++i) put(chunk->events[i]);
            else
                near_.insert(near_.end(), chunk->events.begin(), chunk->events.begin() + chunk->count);
            Chunk* const next = chunk->next;
            chunk->next = free_;
            free_ = chunk;
            chunk = next;
        }
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
