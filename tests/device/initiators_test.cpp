// The pool of initiators, on a model of the network in which queue pairs overtake each other.
#include "device/host/initiators.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <vector>

#include "loom/base/random.hpp"

namespace loom::device {
namespace {

// Listing 4.1 of the thesis as printed: it never waits.
class Printed {
public:
    Printed(std::uint32_t destinations, std::uint32_t pool) : last_qp_(destinations, 0), last_dest_(pool, ~0u) {}
    std::uint32_t take(std::uint32_t to) {
        if (last_dest_[last_qp_[to]] != to) {
            last_qp_[to] = next_;
            last_dest_[next_] = to;
            next_ = (next_ + 1) % static_cast<std::uint32_t>(last_dest_.size());
        }
        return last_qp_[to];
    }

private:
    std::vector<std::uint32_t> last_qp_, last_dest_;
    std::uint32_t next_ = 0;
};

struct Sent {
    std::uint32_t to, number;
};

// Each queue pair delivers in order; which one goes on is chance. True: every destination got its messages in order.
class Wires {
public:
    Wires(std::uint32_t pool, std::uint64_t seed) : queues_(pool), random_(seed) {}
    void send(std::uint32_t initiator, Sent sent) { queues_[initiator].push_back(sent); }
    // The destination whose oldest message arrived.
    std::uint32_t deliver() {
        while (true) {
            auto& queue = queues_[random_.below(static_cast<std::uint32_t>(queues_.size()))];
            if (queue.empty()) continue;
            const Sent sent = queue.front();
            queue.pop_front();
            in_order_ &= got_[sent.to]++ == sent.number;
            return sent.to;
        }
    }
    [[nodiscard]] bool empty() const {
        for (const auto& queue : queues_)
            if (!queue.empty()) return false;
        return true;
    }
    [[nodiscard]] bool in_order() const { return in_order_; }

private:
    std::vector<std::deque<Sent>> queues_;
    Random random_;
    std::map<std::uint32_t, std::uint32_t> got_;
    bool in_order_ = true;
};

constexpr std::uint32_t pool = 10, destinations = 11, messages = 2;

bool printed_keeps_order(std::uint64_t seed) {
    Printed initiators(destinations, pool);
    Wires wires(pool, seed);
    for (std::uint32_t number = 0; number < messages; ++number)
        for (std::uint32_t to = 0; to < destinations; ++to) wires.send(initiators.take(to), {to, number});
    while (!wires.empty()) wires.deliver();
    return wires.in_order();
}

bool ours_keeps_order(std::uint64_t seed, std::uint32_t& waits) {
    Initiators initiators(destinations, pool);
    Wires wires(pool, seed);
    for (std::uint32_t number = 0; number < messages; ++number)
        for (std::uint32_t to = 0; to < destinations; ++to) {
            std::optional<std::uint32_t> initiator;
            while (!(initiator = initiators.take(to))) {
                initiators.complete(wires.deliver());
                ++waits;
            }
            wires.send(*initiator, {to, number});
        }
    while (!wires.empty()) initiators.complete(wires.deliver());
    return wires.in_order();
}

TEST(Initiators, eleven_destinations_over_ten_arrive_in_order) {
    std::uint32_t waits = 0, out_of_order_as_printed = 0;

    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        EXPECT_TRUE(ours_keeps_order(seed, waits)) << "seed " << seed;
        out_of_order_as_printed += !printed_keeps_order(seed);
    }

    EXPECT_GT(waits, 0u);
    EXPECT_GT(out_of_order_as_printed, 0u) << "the model does not show why the wait is needed";
}

TEST(Initiators, a_destination_keeps_its_initiator_until_another_takes_it) {
    Initiators initiators(3, 2);

    EXPECT_EQ(initiators.take(0), 0u);
    EXPECT_EQ(initiators.take(0), 0u);
    EXPECT_EQ(initiators.take(1), 1u);
    EXPECT_EQ(initiators.take(2), 0u);
    EXPECT_EQ(initiators.take(0), std::nullopt);  // two are under way on 0, which is 2's now
    initiators.complete(0);
    EXPECT_EQ(initiators.take(0), std::nullopt);
    initiators.complete(0);
    EXPECT_EQ(initiators.take(0), 1u);
    EXPECT_EQ(initiators.take(2), 0u);
}

}  // namespace
}  // namespace loom::device
