// Resize: cuts messages into segments of a known size and puts them together again.
#pragma once

#include <array>

#include "session/stack/board.hpp"
#include "session/stack/bytes.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

// What is below delivers every segment once and in order, or does not.
enum class Delivery : std::uint8_t { ordered, best_effort };

// Where a piece belongs: what Resize adds to each segment. Number 0: of no message.
struct PieceHeader {
    static constexpr std::size_t bytes = 20;
    std::uint64_t number = 0, offset = 0, total = 0;

    [[nodiscard]] static PieceHeader read(const std::byte* at) { return {get<8>(at), get<6>(at + 8), get<6>(at + 14)}; }
    void write(std::byte* at) const {
        put<8>(at, number);
        put<6>(at + 8, offset);
        put<6>(at + 14, total);
    }
    [[nodiscard]] bool fits(std::size_t size, std::size_t most) const {
        return total <= most && offset <= total && size <= total - offset && (size > 0 || total == 0);
    }
};

// The pieces of one message that come in any order, some never.
class Patchwork {
public:
    Patchwork() = default;
    Patchwork(std::uint64_t number, std::uint64_t total, std::size_t piece)
        : number_(number), total_(total), piece_(piece), have_(total / piece + 1) {
        data_.reserve(total);
    }
    [[nodiscard]] std::uint64_t number() const { return number_; }

    // False when it cannot be a piece of this message, or is here already. Memory grows with what has come.
    bool add(const PieceHeader& header, std::span<const std::byte> bytes) {
        if (header.total != total_ || header.offset % piece_ != 0 ||
            bytes.size() != std::min<std::uint64_t>(piece_, total_ - header.offset) || have_[header.offset / piece_])
            return false;
        have_[header.offset / piece_] = true;
        if (header.offset == data_.size()) {
            data_.insert(data_.end(), bytes.begin(), bytes.end());
        } else {
            if (data_.size() < header.offset + bytes.size()) data_.resize(header.offset + bytes.size());
            std::copy(bytes.begin(), bytes.end(), data_.begin() + static_cast<std::ptrdiff_t>(header.offset));
        }
        received_ += bytes.size();
        return true;
    }
    [[nodiscard]] bool complete() const { return received_ == total_; }
    [[nodiscard]] Bytes take() { return std::move(data_); }

private:
    std::uint64_t number_ = 0, total_ = 0, received_ = 0;
    std::size_t piece_ = 1;
    std::vector<bool> have_;
    Bytes data_;
};

template <Delivery delivery>
class Resize {
public:
    static constexpr Micro self = Micro::resize;
    static constexpr std::size_t header_bytes = PieceHeader::bytes;
    using Events = Binds<event::Filling, event::Departing, event::Arriving>;

    template <class Stack>
    void on(event::Filling& filling, Stack& stack) {
        Outbox& outbox = stack.board().outbox;
        if (!outbox.has_more() || !outbox.may_begin()) return;
        event::Asking asking;
        stack.raise(asking);
        if (asking.stop) return;
        filling.segment.piece = outbox.cut(filling.most);
        filling.segment.numbered = true;
        filling.stop = true;
    }

    template <class Stack>
    void on(event::Departing& departing, Stack&) {
        const Piece& piece = departing.segment.piece;
        PieceHeader{piece.number, piece.offset, piece.total}.write(departing.header);
    }

    template <class Stack>
    void on(event::Arriving& arriving, Stack& stack) {
        Board& board = stack.board();
        const PieceHeader header = PieceHeader::read(arriving.header);
        const std::span<const std::byte> bytes = arriving.segment.piece.data;
        if (header.number == 0) return;
        if (!header.fits(bytes.size(), board.most_message)) {
            board.broken = "a segment that is no piece of a message";
            return;
        }
        if constexpr (delivery == Delivery::ordered)
            append(header, bytes, stack);
        else
            patch(header, bytes, stack);
    }

private:
    template <class Stack>
    void append(const PieceHeader& header, std::span<const std::byte> bytes, Stack& stack) {
        Board& board = stack.board();
        Resume& arrived = board.arrived;
        if (header.number < arrived.number) {
            ++board.counters.segments_dropped;
            return;
        }
        if (header.number > arrived.number && arrived.offset == 0) arrived.number = header.number;
        if (header.number != arrived.number || header.offset != arrived.offset) {
            board.broken = "a piece of a message out of its turn";
            return;
        }
        if (arrived.offset == 0) {
            board.partial.clear();
            board.partial.reserve(header.total);
        }
        board.partial.insert(board.partial.end(), bytes.begin(), bytes.end());
        arrived.offset += bytes.size();
        if (arrived.offset < header.total) return;
        ++arrived.number;
        arrived.offset = 0;
        event::Complete complete{header.number, std::move(board.partial)};
        board.partial = Bytes();
        stack.raise(complete);
    }

    // Two messages at a time: the newest and the one before, whose last pieces it may have overtaken.
    template <class Stack>
    void patch(const PieceHeader& header, std::span<const std::byte> bytes, Stack& stack) {
        Board& board = stack.board();
        Patchwork* open = nullptr;
        for (Patchwork& each : open_)
            if (each.number() == header.number) open = &each;
        if (header.number < board.arrived.number || (open == nullptr && header.number < open_[1].number())) {
            ++board.counters.segments_dropped;
            return;
        }
        if (open == nullptr) {
            open_[0] = std::move(open_[1]);
            open_[1] = Patchwork(header.number, header.total, stack.capacity());
            open = &open_[1];
        }
        if (!open->add(header, bytes)) {
            ++board.counters.segments_dropped;
            return;
        }
        if (!open->complete()) return;
        board.arrived = {header.number + 1, 0, board.arrived.taken};
        event::Complete complete{header.number, open->take()};
        *open = Patchwork();
        stack.raise(complete);
    }

    std::array<Patchwork, 2> open_;  // of rising numbers
};

}  // namespace loom::session
