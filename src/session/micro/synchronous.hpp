// Synchronous: a send ends when the peer's program has taken the message; messages are taken one by one, in order.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

struct Synchronous {
    static constexpr Micro self = Micro::synchronous;
    static constexpr std::size_t header_bytes = 8;  // the last message that was taken here
    using Events = Binds<event::Attached, event::Filling, event::Departing, event::Arriving, event::Complete>;

    // What is left of an asynchronous time is sent like all else: the channel below loses nothing.
    template <class Stack>
    void on(event::Attached&, Stack& stack) {
        stack.board().outbox.keep_all();
        stack.board().outbox.serve(true);
    }

    // Nothing of a message goes: a segment of its own tells the peer what was taken, and is repeated until it arrives.
    template <class Stack>
    void on(event::Filling& filling, Stack& stack) {
        if (!stack.board().owe_taken) return;
        filling.segment.numbered = true;
        filling.stop = true;
    }

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        Board& board = stack.board();
        put<8>(departing.header, board.inbox.taken);
        if (departing.segment.numbered) board.owe_taken = false;
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        stack.board().outbox.take(get<8>(arriving.header));
    }

    template <class Stack>
    void on(event::Complete& complete, Stack& stack) {
        Board& board = stack.board();
        board.inbox.add(complete.number, true, std::move(complete.data));
        ++board.counters.messages_received;
        if (board.inbox.overflows()) board.broken = "more messages than may be on their way";
    }
};

}  // namespace loom::session
