// A priority queue whose entries can be moved and taken out: what comes first is known while times change.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "loom/base/time.hpp"

namespace loom::sim {

// Entries are small numbers, each once, ordered by (time, number). Every call but top() costs the logarithm of the
// size.
class IndexedHeap {
public:
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const { return heap_.size(); }
    [[nodiscard]] Time top_time() const { return heap_.front().time; }
    [[nodiscard]] std::uint32_t top() const { return heap_.front().number; }

    // Adds the entry or moves it.
    void set(std::uint32_t number, Time time) {
        if (number >= place_.size()) place_.resize(number + std::size_t{1}, absent);
        if (place_[number] == absent) {
            place_[number] = static_cast<std::uint32_t>(heap_.size());
            heap_.push_back({time, number});
            rise(place_[number]);
            return;
        }
        const std::uint32_t at = place_[number];
        heap_[at].time = time;
        rise(at);
        sink(place_[number]);
    }

    void remove(std::uint32_t number) {
        const std::uint32_t at = place_[number];
        place_[number] = absent;
        const Entry last = heap_.back();
        heap_.pop_back();
        if (at == heap_.size()) return;
        put(at, last);
        rise(at);
        sink(place_[last.number]);
    }

private:
    static constexpr std::uint32_t absent = 0xffffffffu;
    static constexpr std::uint32_t children = 4;  // of a node: fewer cache misses than with two

    struct Entry {
        Time time;
        std::uint32_t number;
        friend bool operator<(const Entry& a, const Entry& b) {
            return a.time != b.time ? a.time < b.time : a.number < b.number;
        }
    };

    void put(std::uint32_t at, const Entry& entry) {
        heap_[at] = entry;
        place_[entry.number] = at;
    }

    void rise(std::uint32_t at) {
        const Entry entry = heap_[at];
        while (at != 0) {
            const std::uint32_t parent = (at - 1) / children;
            if (!(entry < heap_[parent])) break;
            put(at, heap_[parent]);
            at = parent;
        }
        put(at, entry);
    }

    void sink(std::uint32_t at) {
        const Entry entry = heap_[at];
        for (;;) {
            const std::size_t first = std::size_t{at} * children + 1;
            if (first >= heap_.size()) break;
            std::size_t least = first;
            for (std::size_t child = first + 1; child < first + children && child < heap_.size(); ++child)
                if (heap_[child] < heap_[least]) least = child;
            if (!(heap_[least] < entry)) break;
            put(at, heap_[least]);
            at = static_cast<std::uint32_t>(least);
        }
        put(at, entry);
    }

    std::vector<Entry> heap_;
    std::vector<std::uint32_t> place_;  // by number
};

}  // namespace loom::sim
