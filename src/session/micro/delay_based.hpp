// DelayBasedCA: keeps a few segments in the queue of the bottleneck and no more (after TCP Vegas), in place of
// TCPNewRenoCA. Losses where the round trip has not grown are the wire's, and leave the window alone.
#pragma once

#include "session/micro/recovery.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

class DelayBased {
public:
    static constexpr Micro self = Micro::delay_based;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Acknowledged, event::Lost, event::TimedOut>;

    static constexpr double few = 2, many = 4;  // segments in the queue
    static constexpr double after_loss = 0.7;

    template <class Stack>
    void on(event::Acknowledged& acknowledged, Stack& stack) {
        Board& board = stack.board();
        Window& window = board.window;
        (void)recovery_.ends(board);
        if (board.trip.smoothed.ps == 0) return window.set(window.size + static_cast<double>(acknowledged.segments));
        const double queued = in_queue(board);
        const auto share = static_cast<double>(acknowledged.segments) / window.size;  // of a round trip
        if (window.starting()) {
            if (queued < few) return window.set(window.size + static_cast<double>(acknowledged.segments) / 2);
            window.threshold = window.size;
        }
        if (queued < few)
            window.set(window.size + share);
        else if (queued > many)
            window.set(std::max(window.size - share, 2.0));
    }

    template <class Stack>
    void on(event::Lost&, Stack& stack) {
        Board& board = stack.board();
        if (!recovery_.begin(board) || in_queue(board) < many) return;
        window_after(board, board.window.size * after_loss);
    }

    template <class Stack>
    void on(event::TimedOut&, Stack& stack) {
        window_after(stack.board(), 2);
        recovery_.forget();
    }

private:
    [[nodiscard]] static double in_queue(const Board& board) {
        const double trip = board.trip.smoothed.seconds();
        return trip == 0 ? 0 : board.window.size * (1 - board.trip.least.seconds() / trip);
    }
    static void window_after(Board& board, double size) {
        board.window.threshold = std::max(board.window.size * after_loss, 2.0);
        board.window.set(std::max(size, 2.0));
    }

    Recovery recovery_;
};

}  // namespace loom::session
