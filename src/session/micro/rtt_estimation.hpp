// RTTEstimation: the smoothed round trip and its deviation (RFC 6298), from which Retransmit has its timeout.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

struct RttEstimation {
    static constexpr Micro self = Micro::rtt_estimation;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Acknowledged, event::TimedOut>;

    template <class Stack>
    void on(event::Acknowledged& acknowledged, Stack& stack) {
        if (acknowledged.trip.ps > 0) stack.board().trip.sample(acknowledged.trip);
    }

    template <class Stack>
    void on(event::TimedOut&, Stack& stack) {
        ++stack.board().trip.backoff;
    }
};

}  // namespace loom::session
