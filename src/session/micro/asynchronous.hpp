// Asynchronous: a send never waits, and a message that still waits is replaced by a newer one; the program takes the
// newest complete message.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

struct Asynchronous {
    static constexpr Micro self = Micro::asynchronous;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Attached, event::Complete>;

    template <class Stack>
    void on(event::Attached&, Stack& stack) {
        stack.board().outbox.serve(false);
    }

    template <class Stack>
    void on(event::Complete& complete, Stack& stack) {
        Board& board = stack.board();
        Inbox& inbox = board.inbox;
        if (complete.number <= inbox.newest) return;  // older than what the program may have seen
        while (!inbox.messages.empty() && !inbox.messages.back().owed) {
            inbox.bytes -= inbox.messages.back().data.size();
            inbox.messages.pop_back();
            ++board.counters.messages_replaced;
        }
        inbox.add(complete.number, false, std::move(complete.data));
        ++board.counters.messages_received;
    }
};

}  // namespace loom::session
