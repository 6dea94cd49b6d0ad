#include "model/event_queue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "loom/base/random.hpp"

namespace loom::model {
namespace {

struct Event {
    std::int64_t time;
    std::uint64_t number;
    bool operator>(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
    bool operator<(const Event& other) const { return other > *this; }
};

// Bursts of events near and far, in and out of order, against a set that is always sorted.
TEST(EventQueue, GivesTheFirstOfAllFirst) {
    Random random(7);
    EventQueue<Event> queue(std::pmr::get_default_resource());
    std::set<Event> expected;
    std::uint64_t number = 0;
    std::int64_t now = 0;
    for (int round = 0; round < 5000; ++round) {
        for (std::uint64_t i = random.below(4); i > 0; --i) {
            const Event event{now + static_cast<std::int64_t>(random.below(3) * random.below(50)), number++};
            queue.push(event);
            expected.insert(event);
        }
        for (std::uint64_t i = random.below(4); i > 0 && !expected.empty(); --i) {
            const Event got = queue.take();
            EXPECT_EQ(got.number, expected.begin()->number);
            expected.erase(expected.begin());
            now = got.time;
        }
        EXPECT_EQ(queue.empty(), expected.empty());
    }
}

}  // namespace
}  // namespace loom::model
