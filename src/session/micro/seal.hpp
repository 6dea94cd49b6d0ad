// Seal: encrypts and authenticates all of a segment but TransportDrive's header; beyond the paper.
#pragma once

#include "session/seal/sealer.hpp"
#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

// Right above TransportDrive. A segment that is replayed within its epoch opens once more: sequence and message numbers
// drop it as they drop any repeated one. In another epoch it does not open.
struct Seal {
    static constexpr Micro self = Micro::seal;
    static constexpr std::size_t header_bytes = 8 + Sealer::tag_bytes;
    using Events = Binds<event::Departing, event::Arriving>;

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        Board& board = stack.board();
        const std::uint64_t count = board.sealer->next();
        put<8>(departing.header, count);
        board.sealer->seal(board.epoch, count, text(departing), departing.header + 8);
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        Board& board = stack.board();
        if (board.sealer->open(board.epoch, get<8>(arriving.header), text(arriving), arriving.header + 8)) return;
        ++board.counters.segments_dropped;
        arriving.stop = true;
    }

private:
    template <class Event>
    static std::span<std::byte> text(const Event& event) {
        std::byte* const begin = event.header + header_bytes;
        return {begin, event.packet.data() + event.packet.size()};
    }
};

}  // namespace loom::session
