// When things happen: a ring of windows, each with the events of all entities in no order, and a heap for what lies
// beyond the ring. A window is shorter than any hop, so what one entity does in a window reaches others in later
// windows only: entities can be handled one after the other, or by several threads, with the same result.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/packet/types.hpp"

namespace loom::sim::packet {

using Window = std::int64_t;  // number of a window; it begins at number << shift picoseconds
inline constexpr Window no_window = INT64_MAX;

// What one worker has sent to all workers, itself included. Written by that worker; a receiver empties the window that
// is being played and touches nothing else.
class Calendar {
public:
    static constexpr unsigned ring = 256;

    void prepare(unsigned workers, unsigned shift) {
        shift_ = shift;
        slots_.resize(std::size_t{workers} * ring);
    }

    struct Slot {
        std::vector<Event> events;
        std::vector<Credit> credits;
    };
    [[nodiscard]] Slot& slot(unsigned worker, Window window) {
        return slots_[std::size_t{worker} * ring + static_cast<std::size_t>(window) % ring];
    }
    [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }

    // `current` is the window being played; the moment lies in a later one.
    void push(unsigned worker, Window current, std::int64_t moment, std::uint32_t what_port, const Packet& packet) {
        const Window window = moment >> shift_;
        const Event event{static_cast<std::uint32_t>(moment & ((std::int64_t{1} << shift_) - 1)), what_port, packet};
        if (window - current < ring) {
            slot(worker, window).events.push_back(event);
            occupy(window);
        } else {
            far_.push_back({window, worker, event});
            std::push_heap(far_.begin(), far_.end(), later);
        }
    }
    // Takes effect before all events of the first window that begins at or after the moment and is not being played.
    void push_credit(unsigned worker, Window current, std::int64_t moment, Credit credit, Port port) {
        const Window window = std::max(current + 1, (moment + (std::int64_t{1} << shift_) - 1) >> shift_);
        if (window - current < ring) {
            slot(worker, window).credits.push_back(credit);
            occupy(window);
        } else {
            const Packet packet{static_cast<std::uint32_t>(credit.blocks), credit.slot, 0, 0, 0, 0, 0};
            push(worker, current, window << shift_, Event::pack(What::credit, port), packet);
        }
    }

    // The earliest window after `current` with something in it.
    [[nodiscard]] Window next(Window current) const {
        Window found = far_.empty() ? no_window : far_.front().window;
        const auto base = static_cast<unsigned>(static_cast<std::uint64_t>(current + 1) % ring);
        for (unsigned step = 0; step < ring;) {
            const unsigned at = (base + step) % ring;
            const std::uint64_t word = occupied_[at / 64] >> (at % 64);
            const unsigned span = std::min(64 - at % 64, ring - step);
            const auto zeros = static_cast<unsigned>(std::countr_zero(word));
            if (word != 0 && zeros < span) return std::min(found, current + 1 + step + zeros);
            step += span;
        }
        return found;
    }
    // Moves what has come near `window` from the heap to the ring.
    void bring_near(Window window) {
        while (!far_.empty() && far_.front().window - window < ring) {
            const Far& far = far_.front();
            Slot& near = slot(far.worker, far.window);
            if (far.event.what() == What::credit)
                near.credits.push_back(far.event.credit());
            else
                near.events.push_back(far.event);
            occupy(far.window);
            std::pop_heap(far_.begin(), far_.end(), later);
            far_.pop_back();
        }
    }
    // The window is about to be played: its events are no longer to come.
    void enter(Window window) {
        const auto at = static_cast<std::size_t>(window) % ring;
        occupied_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
    }
    [[nodiscard]] bool empty() const {
        return far_.empty() && std::all_of(occupied_.begin(), occupied_.end(), [](std::uint64_t w) { return w == 0; });
    }
    template <class Visit>
    void visit_far(Visit&& visit) const {
        for (const Far& far : far_) visit(far.event);
    }

private:
    struct Far {
        Window window;
        unsigned worker;
        Event event;
    };
    static bool later(const Far& a, const Far& b) { return a.window > b.window; }
    void occupy(Window window) {
        const auto at = static_cast<std::size_t>(window) % ring;
        occupied_[at / 64] |= std::uint64_t{1} << (at % 64);
    }

    unsigned shift_ = 0;
    std::vector<Slot> slots_;
    std::vector<Far> far_;  // a heap, the earliest in front; within a window any order will do
    std::array<std::uint64_t, ring / 64> occupied_{};
};

}  // namespace loom::sim::packet
