// The events of a walk, the first one first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <vector>

namespace loom::model {

// Most events are made in their order: those are appended to one of two sorted runs,
// and only the others go to a heap.
template <class Event>
class EventQueue {
public:
    explicit EventQueue(std::pmr::memory_resource* memory)
        : runs_{Run{std::pmr::vector<Event>(memory)}, Run{std::pmr::vector<Event>(memory)}}, heap_(memory) {}

    void reserve(std::size_t events) { runs_[0].events.reserve(events); }
    [[nodiscard]] bool empty() const { return runs_[0].empty() && runs_[1].empty() && heap_.empty(); }
    void push(const Event& event) {
        for (Run& run : runs_)
            if (run.empty() || !(run.events.back() > event)) return run.append(event);
        heap_.push_back(event);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
    }
    Event take() {
        Run* first = nullptr;
        for (Run& run : runs_)
            if (!run.empty() && (first == nullptr || first->front() > run.front())) first = &run;
        if (first != nullptr && (heap_.empty() || !(first->front() > heap_.front()))) return first->take();
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
        const Event event = heap_.back();
        heap_.pop_back();
        return event;
    }

private:
    struct Run {
        std::pmr::vector<Event> events;
        std::size_t next = 0;  // those before it are taken

        [[nodiscard]] bool empty() const { return next == events.size(); }
        [[nodiscard]] const Event& front() const { return events[next]; }
        void append(const Event& event) {
            if (events.size() == events.capacity() && next > events.size() / 2) {
                events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(next));
                next = 0;
            }
            events.push_back(event);
        }
        Event take() {
            const Event event = events[next++];
            if (empty()) {
                events.clear();
                next = 0;
            }
            return event;
        }
    };
    std::array<Run, 2> runs_;
    std::pmr::vector<Event> heap_;
};

}  // namespace loom::model
