// TransportDrive: adds the ports of both ends to each segment, and the epoch of the composition that wrote it.
#pragma once

#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

// The lowest, so that its header comes first: whoever demultiplexes reads it before there is a stack.
struct TransportDrive {
    static constexpr Micro self = Micro::transport_drive;
    static constexpr std::size_t header_bytes = 8;
    using Events = Binds<event::Departing, event::Arriving>;

    struct Header {
        std::uint16_t source = 0, destination = 0;
        std::uint32_t epoch = 0;
    };
    [[nodiscard]] static Header read(const std::byte* at) {
        return {static_cast<std::uint16_t>(get<2>(at)), static_cast<std::uint16_t>(get<2>(at + 2)),
                static_cast<std::uint32_t>(get<4>(at + 4))};
    }

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        const Board& board = stack.board();
        put<2>(departing.header, board.own_port);
        put<2>(departing.header + 2, board.peer_port);
        put<4>(departing.header + 4, board.epoch);
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        Board& board = stack.board();
        const Header header = read(arriving.header);
        if (header.source == board.peer_port && header.destination == board.own_port && header.epoch == board.epoch)
            return;
        ++board.counters.segments_dropped;
        arriving.stop = true;
    }
};

}  // namespace loom::session
