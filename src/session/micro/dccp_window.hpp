// DCCPWindCCtrl: the window of an unreliable flow, in segments (RFC 4341), and the timer for when no acknowledgement
// comes.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

struct DccpWindow {
    static constexpr Micro self = Micro::dccp_window;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Asking, event::Acknowledged, event::Tick, event::Waking>;

    template <class Stack>
    void on(event::Asking& asking, Stack& stack) {
        const Board& board = stack.board();
        if (board.flight >= static_cast<std::size_t>(board.window.size)) asking.stop = true;
    }

    template <class Stack>
    void on(event::Acknowledged& acknowledged, Stack& stack) {
        if (acknowledged.trip.ps > 0) stack.board().trip.sample(acknowledged.trip);
    }

    template <class Stack>
    void on(event::Tick&, Stack& stack) {
        Board& board = stack.board();
        if (board.flight == 0 || board.now < board.progress + board.trip.timeout()) return;
        ++board.trip.backoff;
        board.progress = board.now;
        event::TimedOut timed_out;
        stack.raise(timed_out);
    }

    template <class Stack>
    void on(event::Waking& waking, Stack& stack) {
        const Board& board = stack.board();
        if (board.flight > 0) waking.at = std::min(waking.at, board.progress + board.trip.timeout());
    }
};

}  // namespace loom::session
