// WindCongCtrl: no more segments are under way than the window holds, and they leave at its rate. What the window is,
// another micro-protocol says.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

// Pacing: a window a round trip and a quarter more, twice that while it grows fast; so many at once.
class WindowControl {
public:
    static constexpr Micro self = Micro::window_control;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Asking, event::Departing, event::Waking>;

    static constexpr double at_once = 10;

    template <class Stack>
    void on(event::Asking& asking, Stack& stack) {
        const Board& board = stack.board();
        held_ = false;
        if (board.flight >= static_cast<std::size_t>(board.window.size)) {
            asking.stop = true;
        } else if (earned(board) < 1) {
            held_ = asking.stop = true;
        }
    }

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        const Board& board = stack.board();
        if (!departing.segment.numbered) return;
        credit_ = earned(board) - 1;
        counted_at_ = board.now;
    }

    template <class Stack>
    void on(event::Waking& waking, Stack& stack) {
        const Board& board = stack.board();
        if (!held_) return;
        const Time missing = seconds((1 - credit_) / rate(board)) + microseconds(1);
        waking.at = std::min(waking.at, std::max(counted_at_ + missing, board.now));
    }

private:
    // Segments a second; without a round trip there is no rate to keep.
    [[nodiscard]] static double rate(const Board& board) {
        if (board.trip.smoothed.ps == 0) return 1e12;
        return board.window.size * (board.window.starting() ? 2 : 1.25) / board.trip.smoothed.seconds();
    }
    [[nodiscard]] double earned(const Board& board) const {
        return std::min(at_once, credit_ + (board.now - counted_at_).seconds() * rate(board));
    }

    double credit_ = at_once;
    Time counted_at_{};
    bool held_ = false;
};

}  // namespace loom::session
