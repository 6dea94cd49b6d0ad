// A physical layer in virtual time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "loom/base/random.hpp"
#include "loom/base/time.hpp"
#include "loom/session/physical.hpp"
#include "loom/session/simulation.hpp"
#include "session/stack/mail.hpp"

namespace loom::session {

// One direction: what becomes of each segment is drawn from the seed alone.
class SimulatedWire {
public:
    SimulatedWire(const Wire& wire, Random random) : wire_(wire), random_(random) {}

    // `reliable`: neither lost nor repeated, and in order.
    void send(Time now, std::span<const std::byte> segment, bool reliable);
    // What is there at this time, in the order of arrival. Empty: nothing.
    [[nodiscard]] Bytes take(Time now);
    [[nodiscard]] Time next_arrival() const { return arrivals_.empty() ? never : arrivals_.begin()->first.first; }
    // When less than half of the queue is full; the past if it is now.
    [[nodiscard]] Time has_room_at() const;
    [[nodiscard]] bool sees_queue() const { return wire_.sees_queue; }
    void lose(double probability) { wire_.loss = probability; }
    void cut() { arrivals_.clear(); }  // what is under way is gone

private:
    [[nodiscard]] Time length(std::size_t bytes) const;
    void arrive(Time at, std::span<const std::byte> segment);

    Wire wire_;
    Random random_;
    Time busy_until_{}, last_in_order_{};
    std::uint64_t count_ = 0;
    std::map<std::pair<Time, std::uint64_t>, Bytes> arrivals_;
};

// An end of two wires.
class SimulatedPort final : public Physical {
public:
    SimulatedPort(SimulatedWire& out, SimulatedWire& in, Network network, std::size_t block_bytes)
        : out_(out), in_(in), network_(network), block_(block_bytes) {}

    [[nodiscard]] std::span<std::byte> block() override;
    void push(std::size_t bytes) override;
    void serve(Scheme scheme) override { scheme_ = scheme; }
    [[nodiscard]] std::span<std::byte> pop() override;
    [[nodiscard]] const std::string& failure() const override { return failure_; }

    void fail(std::string why) { failure_ = std::move(why); }
    // When block() has room again, if it was asked for in vain.
    [[nodiscard]] Time wake() const;

private:
    SimulatedWire& out_;
    SimulatedWire& in_;
    Network network_;
    Scheme scheme_ = Scheme::synchronous;
    Bytes block_, arrived_;
    std::string failure_;
    bool wanted_ = false;
};

}  // namespace loom::session
