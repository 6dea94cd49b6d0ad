// One thread's share of the fabric and what it needs to play a window.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "sim/packet/calendar.hpp"
#include "sim/packet/plant.hpp"

namespace loom::sim::packet {

struct alignas(64) Worker {
    unsigned id = 0;
    unsigned shift = 0;
    Calendar calendar;
    Window window = -1;                       // being played
    const std::uint8_t* worker_of = nullptr;  // by port

    std::vector<Event> gathered;
    std::vector<Event> sorted;
    std::vector<std::uint32_t> counts;
    std::vector<Event> late;  // what the entity being played has still to do in this window, the next one last

    std::uint64_t events = 0;
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    // To another entity: a later window, always.
    void send(Port to, std::int64_t moment, What what, const Packet& packet) {
        assert(moment >> shift > window);
        calendar.push(worker_of[to], window, moment, Event::pack(what, to), packet);
    }
    // To the entity that is being played.
    void remind(Port self, std::int64_t moment, What what, const Packet& packet) {
        if (moment >> shift != window) {
            calendar.push(id, window, moment, Event::pack(what, self), packet);
            return;
        }
        const auto offset = static_cast<std::uint32_t>(moment & ((std::int64_t{1} << shift) - 1));
        const Event event{offset, Event::pack(what, self), packet};
        late.insert(std::upper_bound(late.begin(), late.end(), event,
                                     [](const Event& a, const Event& b) { return b.before(a); }),
                    event);
    }
    void give_credit(Port to, std::int64_t moment, Credit credit) {
        calendar.push_credit(worker_of[to], window, moment, credit, to);
    }
};

}  // namespace loom::sim::packet
