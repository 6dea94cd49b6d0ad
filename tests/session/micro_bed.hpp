// A micro-protocol alone: a stack of it and what it needs, over a wire that keeps what leaves.
#pragma once

#include <gtest/gtest.h>

#include <deque>

#include "session/micro/positive_ack.hpp"
#include "session/micro/reliable_fifo.hpp"
#include "session/micro/resize.hpp"
#include "session/micro/retransmit.hpp"
#include "session/micro/sequenced_segment.hpp"
#include "session/micro/synchronous.hpp"
#include "session/micro/transport_drive.hpp"
#include "session/stack/stack.hpp"

namespace loom::session::test {

class KeptWire final : public Physical {
public:
    explicit KeptWire(std::size_t bytes) : block_(bytes) {}
    std::span<std::byte> block() override { return room > 0 ? std::span<std::byte>(block_) : std::span<std::byte>(); }
    void push(std::size_t bytes) override {
        --room;
        left.emplace_back(block_.begin(), block_.begin() + static_cast<std::ptrdiff_t>(bytes));
    }
    std::span<std::byte> pop() override { return {}; }
    const std::string& failure() const override { return none_; }

    std::deque<Bytes> left;
    int room = 1'000'000;

private:
    Bytes block_;
    std::string none_;
};

// Sees all that reaches the top.
struct Probe {
    static constexpr Micro self = Micro::seal;  // of no stack that it is in
    static constexpr std::size_t header_bytes = 0;
    using Events = Binds<event::Arriving, event::Complete, event::Acknowledged, event::Repeated, event::Lost,
                         event::TimedOut, event::OutOfOrder, event::AckArrived>;

    std::vector<std::uint64_t> arrived, lost, complete, acks;
    std::uint64_t acknowledged = 0, repeated = 0, timeouts = 0, out_of_order = 0;
    Time trip{};
    Bytes message;

    template <class Stack>
    void on(event::Arriving& arriving, Stack&) {
        arrived.push_back(arriving.segment.sequence);
    }
    template <class Stack>
    void on(event::Complete& complete_one, Stack&) {
        complete.push_back(complete_one.number);
        message = complete_one.data;
    }
    template <class Stack>
    void on(event::Acknowledged& event, Stack&) {
        acknowledged += event.segments;
        if (event.trip.ps > 0) trip = event.trip;
    }
    template <class Stack>
    void on(event::Repeated&, Stack&) {
        ++repeated;
    }
    template <class Stack>
    void on(event::Lost& event, Stack&) {
        lost.push_back(event.sequence);
    }
    template <class Stack>
    void on(event::TimedOut&, Stack&) {
        ++timeouts;
    }
    template <class Stack>
    void on(event::OutOfOrder&, Stack&) {
        ++out_of_order;
    }
    template <class Stack>
    void on(event::AckArrived& event, Stack&) {
        acks.push_back(event.sequence);
    }
};

template <class... Micros>
class Bed {
public:
    using Of = Stack<Probe, Micros...>;

    explicit Bed(std::size_t segment = 100) : wire(segment), stack(board) {
        board.physical = &wire;
        board.segment_bytes = segment;
        board.most_message = 1 << 20;
        board.own_port = board.peer_port = 5;
        board.epoch = 1;
        board.now = milliseconds(1);
        stack.attach();
    }
    void put(std::size_t bytes, bool owed = true) {
        board.outbox.serve(owed);
        Bytes message(bytes);
        for (std::size_t i = 0; i < bytes; ++i) message[i] = static_cast<std::byte>(i);
        board.outbox.add(std::move(message), owed, nullptr);
    }
    // The wire's oldest, or what another bed has sent.
    Bytes next() {
        Bytes packet = std::move(wire.left.front());
        wire.left.pop_front();
        return packet;
    }
    void arrive(Bytes packet) { stack.arrive(packet); }
    template <class Event>
    void raise(Event event) {
        stack.raise(event);
    }
    void pass(Time time) {
        board.now += time;
        stack.pump();
    }
    Probe& probe() { return stack.template micro<Probe>(); }

    KeptWire wire;
    Board board;
    Of stack;
};

}  // namespace loom::session::test
