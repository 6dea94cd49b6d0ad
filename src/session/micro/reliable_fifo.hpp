// ReliableFIFO: hands segments up in the order of their numbers, each once; keeps those that came before their turn.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

class ReliableFifo {
public:
    static constexpr Micro self = Micro::reliable_fifo;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Attached, event::Arriving>;

    static constexpr std::size_t most_early = 1024;  // as far ahead of its turn a segment is kept

    template <class Stack>
    void on(event::Attached&, Stack& stack) {
        stack.board().in_sequence = 0;
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        Board& board = stack.board();
        const std::uint64_t sequence = arriving.segment.sequence;
        if (!arriving.segment.numbered) return;  // acknowledgements have no turn
        board.owe_ack = true;
        if (sequence == board.in_sequence + 1) {
            ++board.in_sequence;
            if (early_.empty()) return;
            arriving.stop = true;  // the rest of the visit happens here, so that what follows comes after it
            event::Arriving again{arriving.segment, arriving.packet};
            stack.template raise_above<ReliableFifo>(again);
            release(stack);
            return;
        }
        arriving.stop = true;
        const bool kept = sequence > board.in_sequence && sequence - board.in_sequence <= most_early &&
                          early_.try_emplace(sequence, arriving.packet.begin(), arriving.packet.end()).second;
        if (!kept) ++board.counters.segments_dropped;
        event::OutOfOrder out_of_order;
        stack.raise(out_of_order);
    }

    // What is here beyond the gap, at most `most` ranges from first to last, the nearest first.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(std::size_t most) const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
        for (const auto& [sequence, packet] : early_) {
            if (!all.empty() && all.back().second + 1 == sequence)
                all.back().second = sequence;
            else if (all.size() == most)
                break;
            else
                all.emplace_back(sequence, sequence);
        }
        return all;
    }

private:
    template <class Stack>
    void release(Stack& stack) {
        Board& board = stack.board();
        while (!early_.empty() && early_.begin()->first == board.in_sequence + 1) {
            ++board.in_sequence;
            Bytes packet = std::move(early_.begin()->second);
            early_.erase(early_.begin());
            Segment segment;
            segment.sequence = board.in_sequence;
            segment.numbered = true;
            segment.piece.data = std::span(packet).subspan(Stack::header_bytes);
            event::Arriving arriving{segment, packet};
            stack.template raise_above<ReliableFifo>(arriving);
        }
    }

    std::map<std::uint64_t, Bytes> early_;
};

}  // namespace loom::session
