// SequencedSegment: numbers the segments that the peer must get, from 1 in each epoch. 0: not one of those.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

struct SequencedSegment {
    static constexpr Micro self = Micro::sequenced_segment;
    static constexpr std::size_t header_bytes = 8;
    using Events = Binds<event::Attached, event::Departing, event::Arriving>;

    template <class Stack>
    void on(event::Attached&, Stack& stack) {
        stack.board().sent = 0;
    }

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        Segment& segment = departing.segment;
        if (segment.numbered && !segment.again) segment.sequence = ++stack.board().sent;
        put<8>(departing.header, segment.sequence);
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack&) {
        arriving.segment.sequence = get<8>(arriving.header);
        arriving.segment.numbered = arriving.segment.sequence != 0;
    }
};

}  // namespace loom::session
