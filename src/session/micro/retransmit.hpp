// Retransmit: keeps in mind what has left without being acknowledged, and sends it again when the timeout is over or
// the acknowledgements say that it is lost.
#pragma once

#include <deque>

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

// Keeps no bytes: these stay in the outbox until the peer's program has taken them.
class Retransmit {
public:
    static constexpr Micro self = Micro::retransmit;
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Attached, event::Asking, event::Filling, event::Departing, event::AckArrived,
                         event::Selected, event::Lost, event::Tick, event::TimedOut, event::Waking>;

    // Segments that may be under way where no congestion control says less. Fewer than ReliableFIFO keeps.
    static constexpr std::size_t most_under_way = 512;

    template <class Stack>
    void on(event::Attached&, Stack& stack) {
        Board& board = stack.board();
        board.acknowledged = 0;
        board.flight = 0;
        board.progress = board.now;
    }

    template <class Stack>
    void on(event::Asking& asking, Stack&) {
        if (open_.size() >= most_under_way) asking.stop = true;
    }

    template <class Stack>
    void on(event::Filling& filling, Stack& stack) {
        if (lost_ == 0) return;
        for (Entry& each : open_) {
            if (!each.lost || each.there) continue;
            Segment& segment = filling.segment;
            segment.piece = stack.board().outbox.again(each.number, each.offset, each.size);
            segment.sequence = each.sequence;
            segment.numbered = segment.again = filling.stop = true;
            return;
        }
    }

    template <class Stack>
    void on(event::Departing& departing, Stack& stack) {
        const Segment& segment = departing.segment;
        Board& board = stack.board();
        if (!segment.numbered) return;
        if (open_.empty()) board.progress = board.now;
        if (!segment.again) {
            open_.push_back(
                {segment.sequence, segment.piece.number, segment.piece.offset, segment.piece.data.size(), board.now});
        } else if (Entry* const entry = find(segment.sequence)) {
            entry->left = board.now;
            entry->repeated = true;
            entry->round = round_;
            if (entry->lost) --lost_;
            entry->lost = false;
        }
        count(board);
    }

    template <class Stack>
    void on(event::AckArrived& arrived, Stack& stack) {
        Board& board = stack.board();
        event::Acknowledged acknowledged;
        acknowledged.advanced = arrived.sequence > board.acknowledged;
        while (!open_.empty() && open_.front().sequence <= arrived.sequence) {
            const Entry& entry = open_.front();
            if (!entry.there) ++acknowledged.segments;
            if (!entry.repeated && !entry.there) acknowledged.trip = board.now - entry.left;
            if (entry.lost && !entry.there) --lost_;
            open_.pop_front();
        }
        if (!acknowledged.advanced) return;
        board.acknowledged = arrived.sequence;
        board.progress = board.now;
        count(board);
        // While losses are mended the next gap is at the front of what is left (as NewReno has it, RFC 6582). Selective
        // acknowledgements know better, but not after a timeout.
        const std::uint64_t until = highest_there_ == 0 ? mending_until_ : timeout_until_;
        if (arrived.sequence < until && !open_.empty() && open_.front().round < round_)
            declare_lost(open_.front(), board);
        stack.raise(acknowledged);
    }

    template <class Stack>
    void on(event::Selected& selected, Stack& stack) {
        Board& board = stack.board();
        event::Acknowledged acknowledged;
        acknowledged.advanced = false;
        const std::uint64_t first = open_.empty() ? 0 : std::max(selected.first, open_.front().sequence);
        for (Entry* entry = find(first); entry != nullptr && entry->sequence <= selected.last;
             entry = find(entry->sequence + 1)) {
            if (entry->there) continue;
            ++acknowledged.segments;
            if (!entry->repeated) acknowledged.trip = board.now - entry->left;
            if (entry->lost) --lost_;
            entry->there = true;
            entry->lost = false;
            newest_there_ = std::max(newest_there_, entry->left);
            highest_there_ = std::max(highest_there_, entry->sequence);
        }
        if (acknowledged.segments == 0) return;
        board.progress = board.now;
        count(board);
        stack.raise(acknowledged);
        find_gaps(stack);
    }

    template <class Stack>
    void on(event::Lost& lost, Stack& stack) {
        Board& board = stack.board();
        if (board.acknowledged >= mending_until_) {
            mending_until_ = board.sent;
            ++round_;
        }
        if (Entry* const entry = find(lost.sequence)) declare_lost(*entry, board);
    }

    template <class Stack>
    void on(event::Tick&, Stack& stack) {
        Board& board = stack.board();
        if (open_.empty() || board.now < due(board)) return;
        event::TimedOut timed_out;
        stack.raise(timed_out);
        board.progress = board.now;
    }

    template <class Stack>
    void on(event::TimedOut&, Stack& stack) {
        Board& board = stack.board();
        mending_until_ = timeout_until_ = board.sent;
        ++round_;  // each may be sent once more while this is mended
        declare_lost(open_.front(), board);
    }

    template <class Stack>
    void on(event::Waking& waking, Stack& stack) {
        if (!open_.empty()) waking.at = std::min(waking.at, due(stack.board()));
    }

private:
    struct Entry {
        std::uint64_t sequence, number, offset;
        std::size_t size;
        Time left;
        bool repeated = false;  // has been sent more than once: its round trip is not known
        unsigned round = 0;     // of mending in which it was sent again
        bool lost = false;      // waits to be sent again
        bool there = false;     // selectively acknowledged
    };

    [[nodiscard]] Entry* find(std::uint64_t sequence) {
        if (open_.empty() || sequence < open_.front().sequence) return nullptr;
        const std::uint64_t index = sequence - open_.front().sequence;
        return index < open_.size() ? &open_[index] : nullptr;
    }
    [[nodiscard]] static Time due(const Board& board) { return board.progress + board.trip.timeout(); }

    void declare_lost(Entry& entry, Board& board) {
        if (entry.lost || entry.there) return;
        entry.lost = true;
        ++lost_;
        count(board);
    }

    // A segment is lost when one that left later by a good part of a round trip, or three numbers on, is there.
    template <class Stack>
    void find_gaps(Stack& stack) {
        Board& board = stack.board();
        const Time slack{board.trip.smoothed.ps / 4};
        for (std::size_t i = 0; i < open_.size() && open_[i].sequence < highest_there_; ++i) {
            const Entry& each = open_[i];
            if (each.there || each.lost) continue;
            const bool overtaken =
                each.repeated ? each.left + slack < newest_there_ : each.sequence + 3 <= highest_there_;
            if (!overtaken) continue;
            event::Lost lost{each.sequence};
            stack.raise(lost);
        }
    }

    void count(Board& board) const {
        std::size_t there = 0;
        if (highest_there_ > board.acknowledged)
            for (const Entry& each : open_) there += each.there ? 1 : 0;
        board.flight = open_.size() - lost_ - there;
    }

    std::deque<Entry> open_;  // of numbers without a gap
    std::size_t lost_ = 0;
    unsigned round_ = 0;
    std::uint64_t mending_until_ = 0, timeout_until_ = 0, highest_there_ = 0;
    Time newest_there_{};
};

}  // namespace loom::session
