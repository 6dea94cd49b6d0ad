// Micro-protocols put together at compile time: an event is a row of calls that the compiler sees through.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "session/stack/channel.hpp"
#include "session/stack/events.hpp"
#include "session/trace.hpp"

namespace loom::session {

// From the program down to the wire. Each of Micros has: `self`, its name; `header_bytes`, its part of a segment's
// header; `Events`, what it binds; and a handler for each of these. The lowest one's header comes first in a packet.
template <class... Micros>
class Stack final : public Channel {
public:
    static constexpr std::size_t header_bytes = (Micros::header_bytes + ...);

    [[nodiscard]] static constexpr bool has(Micro micro) { return ((Micros::self == micro) || ...); }

    explicit Stack(Board& board) : board_(board) {}

    [[nodiscard]] Board& board() { return board_; }
    // Bytes of a message that a segment can carry.
    [[nodiscard]] std::size_t capacity() const { return board_.segment_bytes - header_bytes; }
    template <class Each>
    [[nodiscard]] Each& micro() {
        return std::get<Each>(micros_);
    }

    template <class Event>
    void raise(Event& event) {
        if constexpr (Event::way == Way::down)
            down(event, std::index_sequence_for<Micros...>{});
        else
            up<count>(event, std::index_sequence_for<Micros...>{});
    }
    // To those above `From` alone, for one that held a segment back.
    template <class From, class Event>
    void raise_above(Event& event) {
        up<index_of<From>()>(event, std::make_index_sequence<index_of<From>()>{});
    }

    // A segment of no message and without a number: it carries what the headers say.
    void send_bare() {
        const std::span<std::byte> block = board_.physical->block();
        if (block.empty()) return;
        Segment segment;
        depart(segment, block);
    }

    void attach() override {
        event::Attached attached;
        raise(attached);
    }
    void detach() override {
        event::Detached detached;
        raise(detached);
    }

    void arrive(std::span<std::byte> packet) override {
        ++board_.counters.segments_received;
        if (packet.size() < header_bytes || packet.size() > board_.segment_bytes) {
            ++board_.counters.segments_dropped;
            return;
        }
        if (board_.trace != nullptr) trace_received(*board_.trace, board_, packet.size());
        Segment segment;
        segment.piece.data = packet.subspan(header_bytes);
        event::Arriving arriving{segment, packet};
        raise(arriving);
    }

    void pump() override {
        event::Tick tick;
        raise(tick);
        for (;;) {
            const std::span<std::byte> block = board_.physical->block();
            if (block.empty()) return;
            Segment segment;
            event::Filling filling{segment, capacity()};
            raise(filling);
            if (!filling.stop) break;
            depart(segment, block);
        }
        if (board_.owe_ack) send_bare();
        board_.owe_ack = false;
        board_.physical->flush();
    }

    [[nodiscard]] Time wake() override {
        event::Waking waking;
        raise(waking);
        return waking.at;
    }

    [[nodiscard]] std::vector<Micro> micros() const override { return {Micros::self...}; }

private:
    static constexpr std::size_t count = sizeof...(Micros);

    template <class Each>
    static constexpr std::size_t index_of() {
        constexpr std::array<bool, count> same{std::is_same_v<Each, Micros>...};
        return static_cast<std::size_t>(std::find(same.begin(), same.end(), true) - same.begin());
    }
    static constexpr std::size_t header_at(std::size_t index) {
        constexpr std::array<std::size_t, count> sizes{Micros::header_bytes...};
        std::size_t at = 0;
        for (std::size_t i = index + 1; i < count; ++i) at += sizes[i];
        return at;
    }

    template <std::size_t index, class Event>
    void deliver(Event& event) {
        using Each = std::tuple_element_t<index, std::tuple<Micros...>>;
        if constexpr (Each::Events::template has<Event>) {
            if (event.stop) return;
            if constexpr (requires { event.header; }) event.header = event.packet.data() + header_at(index);
            std::get<index>(micros_).on(event, *this);
        }
    }
    template <class Event, std::size_t... index>
    void down(Event& event, std::index_sequence<index...>) {
        (deliver<index>(event), ...);
    }
    template <std::size_t end, class Event, std::size_t... index>
    void up(Event& event, std::index_sequence<index...>) {
        (deliver<end - 1 - index>(event), ...);
    }

    void depart(Segment& segment, std::span<std::byte> block) {
        const std::size_t size = header_bytes + segment.piece.data.size();
        if (!segment.piece.data.empty())
            std::memcpy(block.data() + header_bytes, segment.piece.data.data(), segment.piece.data.size());
        event::Departing departing{segment, block.first(size)};
        raise(departing);
        board_.physical->push(size);
        ++board_.counters.segments_sent;
        if (segment.again) ++board_.counters.segments_again;
        if (board_.trace != nullptr) trace_sent(*board_.trace, board_, segment, size);
    }

    Board& board_;
    std::tuple<Micros...> micros_;
};

}  // namespace loom::session
