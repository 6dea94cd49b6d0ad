#include "sim/message/event_queue.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "loom/base/random.hpp"

namespace loom::sim {
namespace {

struct Shape {
    const char* name;
    std::int64_t reach;        // how far ahead events are put
    std::uint32_t fan;         // at most so many for each taken
    std::uint32_t most;        // events at a time
    std::uint32_t coarse = 1;  // times are multiples of it
    std::uint32_t burst = 0;   // once in a while, so many at nearly one time
    bool old_numbers = false;  // events that were taken come back with their numbers
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.name;
}

class EventQueueOrder : public testing::TestWithParam<Shape> {};

TEST_P(EventQueueOrder, IsThatOfASortedSet) {
    const Shape& shape = GetParam();
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Random random(seed);
        EventQueue queue;
        std::set<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>> expected;
        std::uint32_t numbers = 0;
        const auto push = [&](std::int64_t time, std::uint32_t number) {
            const auto what = static_cast<std::uint32_t>(random());
            queue.push(time, number, what);
            expected.emplace(time, number, what);
        };
        const auto ahead = [&] {
            const auto reach = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape.reach + 1));
            return reach / shape.coarse * shape.coarse;
        };
        for (std::uint32_t i = 0; i < 100; ++i) push(ahead(), numbers++);

        for (std::uint32_t step = 0; step < 20'000 && !expected.empty(); ++step) {
            const std::int64_t time = queue.next_time();
            const auto [number, what] = queue.take();
            ASSERT_EQ(std::tuple(time, number, what), *expected.begin()) << "seed " << seed << ", step " << step;
            expected.erase(expected.begin());
            for (std::uint32_t more = random.below(shape.fan + 1); more > 0 && expected.size() < shape.most; --more)
                push(time + ahead(), numbers++);
            if (shape.old_numbers && random.below(2) == 0) push(time + 1 + ahead(), number);
            if (shape.burst > 0 && random.below(1000) == 0) {
                const std::int64_t then = time + ahead();
                for (std::uint32_t i = 0; i < shape.burst; ++i) push(then + random.below(4), numbers++);
            }
        }

        EXPECT_EQ(queue.empty(), expected.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EventQueueOrder,
                         testing::Values(Shape{"few", 100, 2, 20}, Shape{"wide", 1'000'000'000'000, 3, 5000},
                                         Shape{"dense", 3000, 3, 20000}, Shape{"lockstep", 20, 3, 5000, 10},
                                         Shape{"now", 0, 2, 1000}, Shape{"bursts", 100'000, 2, 3000, 1, 2000},
                                         Shape{"short_bursts", 3000, 2, 300, 1, 400},
                                         Shape{"again", 10'000, 2, 3000, 100, 0, true}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace loom::sim
