// Messages on their way between the program and the data channel. They stay where they are when the channel is composed
// anew, so that a change neither loses nor repeats one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "loom/session/request.hpp"

namespace loom::session {

struct Outgoing {
    std::uint64_t number = 0;
    bool owed = false;  // synchronous: kept until the peer's program has taken it
    Bytes data;
    Request request;
};

// A part of a message.
struct Piece {
    std::uint64_t number = 0;  // 0: of none
    std::uint64_t offset = 0, total = 0;
    std::span<const std::byte> data;
};

// How far the receiver has come: messages below `number` are there, and the first `offset` bytes of that one.
struct Resume {
    std::uint64_t number = 1, offset = 0;
    std::uint64_t taken = 0;  // the last message that the program took

    bool operator==(const Resume&) const = default;
};

// Numbers rise, but not by one: asynchronous messages are replaced before they leave.
class Outbox {
public:
    // What may be on its way without being taken, beyond one message. The receiver's memory is bounded by it.
    static constexpr std::size_t most_messages = 64;
    static constexpr std::size_t most_bytes = std::size_t{4} << 20;

    void add(Bytes data, bool owed, Request request) {
        messages_.push_back({++last_, owed, std::move(data), std::move(request)});
    }

    // Asynchronous: takes out whatever has not begun to leave. Returns how many.
    std::size_t drop_waiting() {
        std::size_t dropped = 0;
        while (messages_.size() > cursor_ && !messages_.back().owed && !(begun() && cursor_ + 1 == messages_.size())) {
            messages_.pop_back();
            ++dropped;
        }
        return dropped;
    }

    // Which messages the channel takes: those of the other scheme wait for the next composition.
    void serve(bool owed) { serves_owed_ = owed; }
    [[nodiscard]] bool has_more() const {
        return cursor_ < messages_.size() && messages_[cursor_].owed == serves_owed_;
    }
    // Another message may begin, or one has begun.
    [[nodiscard]] bool may_begin() const {
        return begun() || under_way_ == 0 || (under_way_ < most_messages && under_way_bytes_ < most_bytes);
    }

    // The next piece of at most `most` bytes. A message without bytes has one piece.
    Piece cut(std::size_t most) {
        Outgoing& message = messages_[cursor_];
        const std::size_t size = std::min<std::size_t>(most, message.data.size() - offset_);
        const Piece piece{message.number, offset_, message.data.size(), std::span(message.data).subspan(offset_, size)};
        offset_ += size;
        if (offset_ == message.data.size()) finish_cutting();
        return piece;
    }

    // The same bytes once more; of no message when it has been taken meanwhile.
    [[nodiscard]] Piece again(std::uint64_t number, std::uint64_t offset, std::size_t size) const {
        const auto at = find(number);
        if (at == messages_.end() || at->number != number) return {};
        return {number, offset, at->data.size(), std::span(at->data).subspan(offset, size)};
    }

    // The peer's program has taken all up to this number.
    void take(std::uint64_t number) {
        while (cursor_ > 0 && messages_.front().number <= number) {
            if (const Request& request = messages_.front().request) request->end();
            --under_way_;
            under_way_bytes_ -= messages_.front().data.size();
            messages_.pop_front();
            --cursor_;
        }
    }

    // The channel begins anew where the receiver says. The newest asynchronous message goes once more if it did not
    // arrive. A receiver that claims more than was sent is corrected.
    void rewind(const Resume& resume) {
        std::size_t front = cursor_ + (begun() ? 1 : 0);  // nothing behind has left
        if (leaving_.number >= resume.number && newest_is(leaving_.number)) {
            const auto place = find(leaving_.number) - messages_.begin();
            messages_.insert(messages_.begin() + place, std::move(leaving_));
            if (static_cast<std::size_t>(place) < front) ++front;
        }
        leaving_ = {};
        cursor_ = offset_ = under_way_ = under_way_bytes_ = 0;
        std::size_t left = front;
        while (left > 0 && cursor_ < messages_.size() && messages_[cursor_].number < resume.number) {
            --left;
            step();
        }
        if (left > 0 && messages_[cursor_].number == resume.number) {
            offset_ = std::min<std::uint64_t>(resume.offset, messages_[cursor_].data.size());
            if (begun() && offset_ == messages_[cursor_].data.size()) finish_cutting();
        }
        take(resume.taken);
    }

    // From now on all are kept until they are taken: the channel has become reliable.
    void keep_all() {
        for (Outgoing& each : messages_) each.owed = true;
    }
    // No message is here whose sender waits.
    [[nodiscard]] bool drained() const {
        return std::none_of(messages_.begin(), messages_.end(), [](const Outgoing& each) { return each.owed; });
    }
    [[nodiscard]] std::size_t waiting() const { return messages_.size() - cursor_; }

    void fail_all() {
        for (Outgoing& each : messages_)
            if (each.request && !each.request->done()) each.request->fail();
        messages_.clear();
        cursor_ = offset_ = under_way_ = under_way_bytes_ = 0;
    }

private:
    [[nodiscard]] bool begun() const { return offset_ > 0; }

    [[nodiscard]] std::deque<Outgoing>::const_iterator find(std::uint64_t number) const {
        return std::lower_bound(messages_.begin(), messages_.end(), number,
                                [](const Outgoing& each, std::uint64_t wanted) { return each.number < wanted; });
    }

    void finish_cutting() {
        offset_ = 0;
        step();
    }

    // The message at the cursor has left: it stays while somebody waits for it.
    void step() {
        if (messages_[cursor_].owed) {
            ++under_way_;
            under_way_bytes_ += messages_[cursor_].data.size();
            ++cursor_;
        } else {
            leaving_ = std::move(messages_[cursor_]);  // its last piece is on its way into a segment
            messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(cursor_));
        }
    }
    // No other asynchronous message is newer.
    [[nodiscard]] bool newest_is(std::uint64_t number) const {
        return number > 0 &&
               std::all_of(messages_.begin(), messages_.end(), [](const Outgoing& each) { return each.owed; });
    }

    std::deque<Outgoing> messages_;
    Outgoing leaving_;        // the last asynchronous message that left
    std::size_t cursor_ = 0;  // those before it have left and are owed
    std::size_t offset_ = 0;  // of the message at the cursor, that much has left
    std::size_t under_way_ = 0, under_way_bytes_ = 0;
    std::uint64_t last_ = 0;
    bool serves_owed_ = true;
};

struct Incoming {
    std::uint64_t number = 0;
    bool owed = false;
    Bytes data;
};

// Complete messages that the program has not taken.
class Inbox {
public:
    std::deque<Incoming> messages;
    std::uint64_t newest = 0;  // the last complete one, taken or not
    std::uint64_t taken = 0;   // the last synchronous one that the program took
    std::size_t bytes = 0;

    void add(std::uint64_t number, bool owed, Bytes data) {
        bytes += data.size();
        newest = number;
        messages.push_back({number, owed, std::move(data)});
    }
    Incoming pop() {
        Incoming first = std::move(messages.front());
        messages.pop_front();
        bytes -= first.data.size();
        if (first.owed) taken = first.number;
        return first;
    }
    // More than a peer that keeps to its limits can have on its way.
    [[nodiscard]] bool overflows() const {
        return messages.size() > 2 * Outbox::most_messages ||
               (messages.size() > 2 && bytes - messages.back().data.size() > 2 * Outbox::most_bytes);
    }
};

}  // namespace loom::session
