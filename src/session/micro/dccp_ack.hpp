// DCCPAck: numbers the segments of an unreliable flow and acknowledges them by a vector, one bit for each (RFC 4340).
// What is lost stays lost; the window needs to know of it.
#pragma once

#include <deque>

#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

class DccpAck {
public:
    static constexpr Micro self = Micro::dccp_ack;
    static constexpr std::size_t header_bytes = 24;  // own number, the highest that arrived, the 64 before that
    using Events = Binds<event::Attached, event::Departing, event::Arriving, event::TimedOut>;

    static constexpr std::uint64_t late = 3;  // one so far behind the highest is lost

    template <class Stack>
    void on(event::Attached&, Stack& stack) {
        Board& board = stack.board();
        board.sent = 0;
        board.flight = 0;
        board.progress = board.now;
    }

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        Board& board = stack.board();
        Segment& segment = departing.segment;
        if (segment.numbered) {
            if (open_.empty()) board.progress = board.now;
            segment.sequence = ++board.sent;
            open_.push_back({segment.sequence, board.now});
            board.flight = open_.size();
        }
        put<8>(departing.header, segment.sequence);
        put<8>(departing.header + 8, highest_);
        put<8>(departing.header + 16, vector_);
        board.owe_ack = false;
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        Board& board = stack.board();
        const std::uint64_t sequence = get<8>(arriving.header), highest = get<8>(arriving.header + 8);
        if (highest > board.sent) {
            board.broken = "an acknowledgement of what was not sent";
            arriving.stop = true;
            return;
        }
        acknowledge(highest, get<8>(arriving.header + 16), stack);
        if (sequence == 0) return;
        note(sequence);
        board.owe_ack = true;
    }

    template <class Stack>
    void on(event::TimedOut&, Stack& stack) {
        open_.clear();
        stack.board().flight = 0;
    }

private:
    struct Entry {
        std::uint64_t sequence;
        Time left;
    };

    // Bit i: the one i before the highest.
    void note(std::uint64_t sequence) {
        if (sequence > highest_) {
            const std::uint64_t on = sequence - highest_;
            vector_ = (on < 64 ? vector_ << on : 0) | 1;
            highest_ = sequence;
        } else if (highest_ - sequence < 64) {
            vector_ |= std::uint64_t{1} << (highest_ - sequence);
        }
    }

    template <class Stack>
    void acknowledge(std::uint64_t highest, std::uint64_t vector, Stack& stack) {
        Board& board = stack.board();
        event::Acknowledged acknowledged;
        std::uint64_t lost = 0;
        std::size_t kept = 0;
        for (const Entry& each : open_) {
            const std::uint64_t behind = highest - each.sequence;
            if (each.sequence <= highest && behind < 64 && (vector >> behind & 1) != 0) {
                ++acknowledged.segments;
                if (behind == 0) acknowledged.trip = board.now - each.left;
            } else if (each.sequence + late <= highest) {
                lost = each.sequence;
            } else {
                open_[kept++] = each;
            }
        }
        open_.resize(kept);
        board.flight = open_.size();
        if (acknowledged.segments > 0) {
            board.progress = board.now;
            board.acknowledged = highest;
            stack.raise(acknowledged);
        }
        if (lost == 0) return;
        event::Lost event{lost};
        stack.raise(event);
    }

    std::deque<Entry> open_;  // left and neither acknowledged nor lost
    std::uint64_t highest_ = 0, vector_ = 0;
};

}  // namespace loom::session
