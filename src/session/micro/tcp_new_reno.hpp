// TCPNewRenoCA: slow start, congestion avoidance and fast recovery after RFC 5681 and 6582, in segments.
#pragma once

#include "session/micro/recovery.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

class TcpNewReno {
public:
    static constexpr Micro self = Micro::tcp_new_reno;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Acknowledged, event::Repeated, event::Lost, event::TimedOut>;

    template <class Stack>
    void on(event::Acknowledged& acknowledged, Stack& stack) {
        Board& board = stack.board();
        Window& window = board.window;
        const auto segments = static_cast<double>(acknowledged.segments);
        if (recovery_.active()) {
            if (recovery_.ends(board))
                window.set(window.threshold);
            else if (acknowledged.advanced)  // a partial acknowledgement takes out what it acknowledges, less one
                window.set(std::max(window.threshold, window.size - segments + 1));
        } else {
            window.set(window.size + (window.starting() ? segments : segments / window.size));
        }
    }

    // Each one says that a segment has left the network; selective acknowledgements have said so already.
    template <class Stack>
    void on(event::Repeated&, Stack& stack) {
        if (recovery_.active() && !Stack::has(Micro::selective_ack))
            stack.board().window.set(stack.board().window.size + 1);
    }

    template <class Stack>
    void on(event::Lost&, Stack& stack) {
        Board& board = stack.board();
        if (!recovery_.begin(board)) return;
        board.window.threshold = std::max(static_cast<double>(board.flight) / 2, 2.0);
        board.window.set(board.window.threshold + 3);
    }

    template <class Stack>
    void on(event::TimedOut&, Stack& stack) {
        Board& board = stack.board();
        board.window.threshold = std::max(static_cast<double>(board.flight) / 2, 2.0);
        board.window.set(1);
        recovery_.forget();
    }

private:
    Recovery recovery_;
};

}  // namespace loom::session
