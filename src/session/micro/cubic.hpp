// CubicCA: the window grows as a cubic of the time since the last loss (RFC 9438), in place of TCPNewRenoCA.
#pragma once

#include <cmath>

#include "session/micro/recovery.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

class Cubic {
public:
    static constexpr Micro self = Micro::cubic;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Attached, event::Acknowledged, event::Lost, event::TimedOut>;

    static constexpr double scale = 0.4, beta = 0.7;

    template <class Stack>
    void on(event::Attached&, Stack& stack) {
        begin(stack.board());
    }

    template <class Stack>
    void on(event::Acknowledged& acknowledged, Stack& stack) {
        Board& board = stack.board();
        Window& window = board.window;
        const auto segments = static_cast<double>(acknowledged.segments);
        if (recovery_.active()) {
            if (recovery_.ends(board)) begin(board);
            return;
        }
        if (window.starting()) return window.set(window.size + segments);
        const double trip = board.trip.smoothed.seconds();
        const double target = at((board.now - since_).seconds() + trip);
        reno_ += 3 * (1 - beta) / (1 + beta) * segments / window.size;  // never slower than NewReno would be
        const double growth = std::clamp(target - window.size, 0.0, window.size / 2) * segments / window.size;
        window.set(std::max(window.size + growth, reno_));
    }

    template <class Stack>
    void on(event::Lost&, Stack& stack) {
        Board& board = stack.board();
        if (recovery_.begin(board)) shrink(board, board.window.size * beta);
    }

    template <class Stack>
    void on(event::TimedOut&, Stack& stack) {
        Board& board = stack.board();
        shrink(board, 1);
        recovery_.forget();
    }

    // The window so many seconds after the last loss.
    [[nodiscard]] double at(double seconds) const {
        const double k = std::cbrt(most_ * (1 - beta) / scale);
        return scale * std::pow(seconds - k, 3) + most_;
    }

private:
    void shrink(Board& board, double size) {
        // A flow that lost before it reached its last maximum leaves room for others.
        most_ = board.window.size < most_ ? board.window.size * (1 + beta) / 2 : board.window.size;
        board.window.threshold = std::max(board.window.size * beta, 2.0);
        board.window.set(std::max(size, 1.0));
        begin(board);
    }
    void begin(const Board& board) {
        since_ = board.now;
        reno_ = board.window.size;
        if (most_ == 0) most_ = board.window.size;
    }

    Recovery recovery_;
    Time since_{};
    double most_ = 0, reno_ = 0;
};

}  // namespace loom::session
