// DuplicateAck: acknowledges each segment that comes out of order at once; three acknowledgements that say nothing new
// are a loss.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

class DuplicateAck {
public:
    static constexpr Micro self = Micro::duplicate_ack;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::OutOfOrder, event::AckArrived>;

    static constexpr unsigned loss = 3;

    template <class Stack>
    void on(event::OutOfOrder&, Stack& stack) {
        stack.send_bare();
    }

    template <class Stack>
    void on(event::AckArrived& arrived, Stack& stack) {
        const Board& board = stack.board();
        if (!arrived.repeated || arrived.sequence == board.sent) {
            repeated_ = 0;
            return;
        }
        event::Repeated repeated;
        if (++repeated_ == loss) {
            event::Lost lost{arrived.sequence + 1};
            stack.raise(lost);
        } else {
            stack.raise(repeated);
        }
    }

private:
    unsigned repeated_ = 0;
};

}  // namespace loom::session
