// The named events that micro-protocols bind handlers to, and the segment that most of them are about.
//
// An event visits the micro-protocols of a composition that bind it, in the order of the stack: down from the program
// towards the wire, or up. A handler that sets `stop` ends the visit.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "loom/base/time.hpp"
#include "session/stack/mail.hpp"

namespace loom::session {

// The attributes that micro-protocols give each other along with a segment.
struct Segment {
    Piece piece;                 // of a message, or of none
    std::uint64_t sequence = 0;  // 0: has none
    bool numbered = false;       // wants a sequence number: the peer must get it
    bool again = false;          // a retransmission; the sequence number stands
};

enum class Way : std::uint8_t { down, up };

namespace event {

struct Attached {  // the composition begins
    static constexpr Way way = Way::down;
    bool stop = false;
};
struct Detached {  // it ends; what has been learnt goes onto the board
    static constexpr Way way = Way::down;
    bool stop = false;
};
struct Tick {  // time has passed
    static constexpr Way way = Way::down;
    bool stop = false;
};
struct Waking {  // when is the next timer?
    static constexpr Way way = Way::down;
    Time at = never;
    bool stop = false;
};
struct Asking {  // may one more new segment leave? stop: no
    static constexpr Way way = Way::down;
    bool stop = false;
};
struct Filling {  // what leaves next? stop: found
    static constexpr Way way = Way::up;
    Segment& segment;
    std::size_t most;  // bytes of a message
    bool stop = false;
};
struct Departing {  // headers are written into the packet, payload is there
    static constexpr Way way = Way::down;
    Segment& segment;
    std::span<std::byte> packet;
    std::byte* header = nullptr;  // of whom is visited
    bool stop = false;
};
struct Arriving {  // headers are read
    static constexpr Way way = Way::up;
    Segment& segment;
    std::span<std::byte> packet;
    std::byte* header = nullptr;
    bool stop = false;
};
struct OutOfOrder {  // a segment came before its turn, or again
    static constexpr Way way = Way::down;
    bool stop = false;
};
struct AckArrived {  // the peer has all up to `sequence`
    static constexpr Way way = Way::up;
    std::uint64_t sequence = 0;
    bool repeated = false;  // nothing new, and the segment had nothing else
    bool stop = false;
};
struct Selected {  // ... and these two beyond, `first` to `last`
    static constexpr Way way = Way::up;
    std::uint64_t first = 0, last = 0;
    bool stop = false;
};
struct Acknowledged {  // so many segments for the first time
    static constexpr Way way = Way::up;
    std::uint64_t segments = 0;
    Time trip{};           // of one that went once; 0: none
    bool advanced = true;  // the beginning of the window moved
    bool stop = false;
};
struct Repeated {  // one acknowledgement more that says nothing new: a segment has arrived out of order
    static constexpr Way way = Way::up;
    bool stop = false;
};
struct Lost {  // a segment, as the acknowledgements say
    static constexpr Way way = Way::up;
    std::uint64_t sequence = 0;
    bool stop = false;
};
struct TimedOut {  // nothing was acknowledged for long
    static constexpr Way way = Way::up;
    bool stop = false;
};
struct Complete {  // a message
    static constexpr Way way = Way::up;
    std::uint64_t number = 0;
    Bytes data;
    bool stop = false;
};

}  // namespace event

// The events of a micro-protocol: each has a handler on(Event&, Stack&).
template <class... Events>
struct Binds {
    template <class Event>
    static constexpr bool has = (std::is_same_v<Event, Events> || ...);
};

}  // namespace loom::session
