// SelectiveAck: says beside PositiveAck which segments beyond a gap have arrived, so that only the gap is sent again.
#pragma once

#include "session/micro/reliable_fifo.hpp"
#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

// Three ranges, each as a distance from the acknowledged number and a length; length 0: none.
struct SelectiveAck {
    static constexpr Micro self = Micro::selective_ack;
    static constexpr std::size_t ranges = 3;
    static constexpr std::size_t header_bytes = 8 + 4 * ranges;
    using Events = Binds<event::Departing, event::Arriving>;

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        const std::uint64_t base = stack.board().in_sequence;
        std::byte* at = departing.header;
        put<8>(at, base);
        std::fill(at + 8, at + header_bytes, std::byte{});
        at += 8;
        for (const auto& [first, last] : stack.template micro<ReliableFifo>().ranges(ranges)) {
            put<2>(at, first - base);
            put<2>(at + 2, last - first + 1);
            at += 4;
        }
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        const std::uint64_t base = get<8>(arriving.header);
        for (std::size_t i = 0; i < ranges; ++i) {
            const std::uint64_t distance = get<2>(arriving.header + 8 + 4 * i);
            const std::uint64_t length = get<2>(arriving.header + 10 + 4 * i);
            if (length == 0) break;
            event::Selected selected{base + distance, base + distance + length - 1};
            stack.raise(selected);
        }
    }
};

}  // namespace loom::session
