// What a seed decides for one rank of all that the standard leaves open.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/base/time.hpp"
#include "loom/transport/transport.hpp"

namespace loom::twin {

struct Outgoing;

// A seed disturbs in one way, by one size, every other one by the largest. All that a rank or a pair sends is late by
// the same, which gives ranks random priorities and changes orders of whole chains of messages, where noise on every
// message changes those of neighbours. Draws in the order of the rank's own operations: threads do not matter.
class Disturbance {
public:
    static constexpr std::int64_t budget = 16;  // delays of one rank are no longer together, in longest ones

    Disturbance(std::uint64_t seed, Time longest, Rank me);

    // When to begin the message; nothing: now. A message never overtakes another to the same rank.
    [[nodiscard]] std::optional<Time> hold(Outgoing& outgoing, Rank to, Time now);
    // The next that is due by `now`; null: none.
    [[nodiscard]] Outgoing* release(Time now);

    // What declared or measured computation takes.
    [[nodiscard]] Time computation(Time duration) const;
    // Moves out what to say next: one operation or all, in any order.
    [[nodiscard]] std::vector<transport::Message*> next(std::vector<transport::Message*>& finished);
    // The first of one of the senders.
    [[nodiscard]] transport::Notification next(std::deque<transport::Notification>& notifications);

    // A hash of the order in which the rank has seen what came.
    [[nodiscard]] std::uint64_t order() const { return order_; }

private:
    enum class Way : std::uint8_t { senders, pairs, messages, computation };
    struct Held {
        Outgoing* outgoing;
        Rank to;
    };
    struct Pair {
        Time constant{};
        Time due{};
        std::uint32_t held = 0;
    };

    [[nodiscard]] Time delay(const Pair& pair);
    [[nodiscard]] Time draw_delay(Random& random) const;
    [[nodiscard]] Pair& pair(Rank to);
    void saw(std::uint64_t what);

    Way way_;
    bool one_at_a_time_;
    Time size_;             // of this seed's delays
    std::uint32_t one_in_;  // ranks, pairs or messages is late
    std::uint64_t seed_;    // of this rank
    Time left_;             // of the budget
    Time of_sender_{};
    double slower_ = 1;
    Random random_;
    std::unordered_map<std::uint32_t, Pair> pairs_;  // by the other rank
    std::multimap<Time, Held> held_;                 // in the order of their turn
    std::uint64_t order_ = 0;
};

}  // namespace loom::twin
