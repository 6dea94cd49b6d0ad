// TCPCongAvoid: the window of an unreliable flow grows and shrinks as TCP's (CCID 2, RFC 4341).
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

class TcpAvoidance {
public:
    static constexpr Micro self = Micro::tcp_avoidance;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Attached, event::Acknowledged, event::Lost, event::TimedOut>;

    template <class Stack>
    void on(event::Attached&, Stack&) {
        halved_at_ = 0;
    }

    template <class Stack>
    void on(event::Acknowledged& acknowledged, Stack& stack) {
        Window& window = stack.board().window;
        const auto segments = static_cast<double>(acknowledged.segments);
        window.set(window.size + (window.starting() ? segments : segments / window.size));
    }

    // Losses of what had left before the last one belong to that.
    template <class Stack>
    void on(event::Lost& lost, Stack& stack) {
        Board& board = stack.board();
        if (lost.sequence <= halved_at_) return;
        halved_at_ = board.sent;
        board.window.threshold = std::max(board.window.size / 2, 2.0);
        board.window.set(board.window.threshold);
    }

    template <class Stack>
    void on(event::TimedOut&, Stack& stack) {
        Board& board = stack.board();
        halved_at_ = board.sent;
        board.window.threshold = std::max(board.window.size / 2, 2.0);
        board.window.set(1);
    }

private:
    std::uint64_t halved_at_ = 0;
};

}  // namespace loom::session
