#include "coll/trips.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace loom::coll {
namespace {

// A way whose costs are known: what is made of its round trips must be these.
struct Known final : Trips {
    Time latency = microseconds(2), send = nanoseconds(300), first = nanoseconds(100), take = nanoseconds(500);
    Time gap{};  // between messages, of an adapter with room for `room` of them
    std::uint32_t room = 1;
    std::int64_t byte = 200;  // ps that either end works for one of a small message
    std::int64_t large_byte = 400, shared_byte = 150;
    std::uint64_t limit = 16 * 1024;
    Time clock = nanoseconds(40);
    Time late{};  // more for a large message: it is announced first

    Trip trip(std::uint32_t count, std::uint64_t bytes, std::uint32_t, bool shared) override {
        const bool large = bytes > limit;
        const auto ps = static_cast<std::int64_t>(bytes);
        const Time copy{large ? 0 : byte * ps};
        const Time moved{large ? (shared ? shared_byte : large_byte) * ps : 2 * byte * ps};
        const Time way = send + first + latency + take + moved + (large ? late : Time{});
        const Time adapter = count > room ? gap * (count - room) : Time{};
        const Time burst = std::max({send * (count - 1), take * (count - 1), adapter});
        return {2 * way + burst, clock + send + first + copy, send + copy};
    }
    std::uint64_t eager_limit() override { return limit; }
};

void expect_near(Time got, Time expected) {
    EXPECT_NEAR(static_cast<double>(got.ps), static_cast<double>(expected.ps), static_cast<double>(expected.ps) / 50);
}

TEST(Trips, TellTheCostsOfANearWay) {
    Known known;
    known.late = microseconds(1);
    std::uint32_t free = 0;

    const model::WayCosts got = costs_of_way(known, {Way::near, false, known.clock, {}}, free);

    expect_near(got.small.send, known.send);
    expect_near(got.small.send_first, known.first);
    expect_near(got.small.take, known.take);
    expect_near(got.small.latency, known.latency);
    EXPECT_NEAR(static_cast<double>(got.small.send_byte), 200, 4);
    EXPECT_NEAR(static_cast<double>(got.small.take_byte), 200, 4);
    EXPECT_EQ(got.limit, known.limit);
    EXPECT_EQ(got.large.send_byte, 400);
    EXPECT_EQ(got.large.take_byte, 0);
    expect_near(got.large.latency, known.latency + known.late);
    EXPECT_EQ(got.shared_byte, 150);
    EXPECT_EQ(got.copying, model::Copying::by_fewer);
    expect_near(got.ready, known.latency + known.send + known.first + known.take);
    EXPECT_EQ(got.small.gap, Time{});
}

// Where ranks take turns the trip is the mean of several partners', and what a message more takes is both ends' work.
TEST(Trips, OfACrowdAreThoseThatWereGiven) {
    Known known;
    known.take = nanoseconds(900);
    std::uint32_t free = 0;

    const model::WayCosts got = costs_of_way(known, {Way::near, true, known.clock, microseconds(30)}, free);

    expect_near(got.small.take, known.take - known.send);
    expect_near(got.small.latency + got.small.send + got.small.send_first + got.small.take, microseconds(15));
    EXPECT_EQ(got.ready, Time{});  // who takes turns lends in advance
}

TEST(Trips, TellTheGapOfAFarWayAndHowManyMessagesAreFree) {
    for (const std::uint32_t room : {1u, 4u}) {
        Known known;
        known.latency = microseconds(10);
        known.take = nanoseconds(200);
        known.gap = microseconds(2);
        known.room = room;
        std::uint32_t free = 0;

        const model::WayCosts got = costs_of_way(known, {Way::far, false, known.clock, {}}, free);

        EXPECT_GE(free, room);
        EXPECT_LE(free, 2 * room);
        const Time slope{(known.gap * (16 - room)).ps / 15};
        expect_near(got.small.gap, slope);
        EXPECT_EQ(got.large.gap_byte, 400);
        EXPECT_EQ(got.large.send_byte, 0);
        EXPECT_EQ(got.copying, model::Copying::by_costs);
    }
}

TEST(Trips, OfAMachineThatIsBusyAreNotPlausible) {
    Known known;
    std::uint32_t free = 0;
    const model::WayCosts sound = costs_of_way(known, {Way::near, false, known.clock, {}}, free);
    model::WayCosts slow = sound, heavy = sound, weightless = sound, copying = sound;
    slow.small.latency = microseconds(100);
    heavy.large.send_byte = 50'000;
    weightless.large.send_byte = 0;
    copying.small.send_byte = 20'000;

    EXPECT_TRUE(plausible(sound, Way::near, false));
    for (const model::WayCosts& wrong : {slow, heavy, weightless, copying})
        EXPECT_FALSE(plausible(wrong, Way::near, false));
    EXPECT_TRUE(plausible(slow, Way::near, true));  // turns take that long
    EXPECT_TRUE(plausible(heavy, Way::far, false));
}

}  // namespace
}  // namespace loom::coll
