// PositiveAck: every segment says up to which number all have arrived; one of its own goes where nothing else does.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

struct PositiveAck {
    static constexpr Micro self = Micro::positive_ack;
    static constexpr std::size_t header_bytes = 9;
    using Events = Binds<event::Departing, event::Arriving>;

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        Board& board = stack.board();
        put<8>(departing.header, board.in_sequence);
        put<1>(departing.header + 8, departing.segment.numbered ? 0 : 1);
        board.owe_ack = false;
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        Board& board = stack.board();
        const std::uint64_t sequence = get<8>(arriving.header);
        if (sequence > board.sent) {
            board.broken = "an acknowledgement of what was not sent";
            arriving.stop = true;
            return;
        }
        if (sequence < board.acknowledged) return;  // overtaken by a newer one
        const bool bare = get<1>(arriving.header + 8) != 0;
        event::AckArrived arrived{sequence, sequence == board.acknowledged && bare};
        stack.raise(arrived);
    }
};

}  // namespace loom::session
