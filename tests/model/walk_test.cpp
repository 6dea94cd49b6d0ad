// The walk equals its slow, obvious version on schedules that no one would write.
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/model/walk.hpp"
#include "reference/random_schedules.hpp"
#include "reference/walk.hpp"

namespace loom::model {
namespace {

using reference::make_random;
using reference::RandomSchedule;

struct Case {
    const char* name;
    RandomSchedule shape;
    Large waits_for = Large::nothing;
    std::uint32_t host_cores = 0;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

MessageCosts draw_costs(Random& random) {
    return {.send = nanoseconds(random.below(4)),
            .send_first = nanoseconds(random.below(3)),
            .send_byte = 1000 * random.below(2),
            .gap = nanoseconds(random.below(5)),
            .gap_byte = 1000 * random.below(3),
            .latency = nanoseconds(random.below(6)),
            .take = nanoseconds(random.below(4)),
            .take_byte = 1000 * random.below(2)};
}

// Times that often coincide, so that the order of events at one time is tried; half of the messages are large.
Charges draw_charges(std::uint64_t seed, const Case& c) {
    Random random(seed);
    Charges charges;
    charges.way = {draw_costs(random),
                   draw_costs(random),
                   20,
                   nanoseconds(random.below(5)),
                   random.below(2) == 0 ? Copying::by_fewer : Copying::by_costs,
                   1000 * random.below(3)};
    if (seed % 2 == 0)
        charges.far = {draw_costs(random), draw_costs(random), 10, nanoseconds(random.below(5)), Copying::by_costs, 0};
    charges.waits_for = c.waits_for;
    charges.free = 1 + random.below(4);
    charges.taking = random.below(2) == 0 ? Taking::after_arrival : Taking::during_arrival;
    charges.local = {.copy = 1000 * random.below(2), .reduce = 1000 * random.below(3), .step = nanoseconds(1)};
    charges.host_cores = c.host_cores;
    if (seed % 5 == 0) charges.way.alone_byte = 1000;
    if (seed % 4 < 2) charges.way.advance = seed % 4 == 0 ? UINT64_MAX : 30;
    if (seed % 2 == 0) charges.call = nanoseconds(random.below(4));
    if (seed % 3 == 0) charges.turn = nanoseconds(random.below(4));
    return charges;
}

class AnySchedule : public testing::TestWithParam<Case> {};

TEST_P(AnySchedule, TakesWhatTheReferenceSays) {
    int ended = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const traffic::Schedule schedule = make_random(GetParam().shape, seed);
        const Charges charges = draw_charges(seed, GetParam());
        std::vector<std::uint32_t> hosts(schedule.ranks());
        for (std::size_t rank = 0; rank < hosts.size(); ++rank) hosts[rank] = static_cast<std::uint32_t>(rank / 3);
        Random random(seed);
        std::vector<std::uint8_t> shared(schedule.size());
        for (std::uint8_t& each : shared) each = static_cast<std::uint8_t>(random.below(2));
        const Prediction expected = reference::Walk(schedule, charges, hosts, shared).prediction();

        const Prediction got = walk(schedule, charges, hosts, shared);

        ASSERT_EQ(got.finished, expected.finished) << seed;
        ASSERT_EQ(got.ends, expected.ends) << seed;
        ASSERT_EQ(got.ops, expected.ops) << seed;
        ended += got.finished;
    }
    EXPECT_GT(ended, 50) << "too few schedules end to say much";
}

INSTANTIATE_TEST_SUITE_P(
    Random, AnySchedule,
    testing::Values(Case{"plain", {.local = true}}, Case{"two_ranks", {.ranks = 2, .messages = 12, .tags = 1}},
                    Case{"narrow", {.ranks = 12, .messages = 120, .tags = 2, .narrow = true}},
                    Case{"wild", {.ranks = 3, .messages = 10, .most_bytes = 20, .tags = 1, .wild = true}},
                    Case{"places", {.cores = 2, .adapters = 3}}, Case{"match", {.local = true}, Large::match},
                    Case{"match_places", {.cores = 2, .adapters = 2}, Large::match},
                    Case{"ready", {.local = true}, Large::ready},
                    Case{"ready_narrow", {.ranks = 12, .messages = 120, .narrow = true}, Large::ready},
                    Case{"ready_wild", {.ranks = 3, .messages = 10, .tags = 1, .wild = true}, Large::ready},
                    Case{"one_core", {.ranks = 6, .local = true}, Large::nothing, 1},
                    Case{"two_cores", {.ranks = 8, .messages = 80, .narrow = true}, Large::ready, 2},
                    Case{"two_cores_match", {.ranks = 7, .messages = 50, .cores = 2}, Large::match, 2}),
    [](const auto& each) { return each.param.name; });

TEST(Walk, RefusesCostsBelowZero) {
    const traffic::Schedule schedule = make_random({}, 1);

    EXPECT_THROW((void)walk(schedule, charges(LogGp{.L = Time{-1}})), UsageError);
    EXPECT_THROW((void)walk(schedule, charges(LogGp{.G = -1})), UsageError);
    EXPECT_THROW((void)walk(schedule, charges(LogfP{.f = 0})), UsageError);
    EXPECT_THROW((void)walk(schedule, charges(LogGp{.local = {.copy = -1}})), UsageError);
}

TEST(Walk, RefusesHostsOfOtherRanks) {
    const traffic::Schedule schedule = make_random({.ranks = 4}, 1);
    const std::vector<std::uint32_t> hosts(3);

    EXPECT_THROW((void)walk(schedule, Charges{}, hosts), UsageError);
}

TEST(Walk, RefusesWhatNoClockCanTell) {
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, UINT64_MAX / 2);
    builder.receive(Rank{1}, Rank{0}, UINT64_MAX / 2);
    const traffic::Schedule schedule = builder.build();

    EXPECT_THROW((void)walk(schedule, charges(LogGp{})), Error);
}

TEST(Walk, RefusesWhatWouldPassTheEndOfTime) {
    const auto lasting = [](std::int64_t ps) {
        traffic::ScheduleBuilder builder(1);
        builder.compute(Rank{0}, Time{ps});
        builder.compute(Rank{0}, Time{ps});
        return builder.build();
    };

    EXPECT_EQ(walk(lasting(1'900'000'000'000'000'000), charges(LogGp{})).finish().ps, 3'800'000'000'000'000'000);
    EXPECT_THROW((void)walk(lasting(5'000'000'000'000'000'000), charges(LogGp{})), Error);
}

TEST(Walk, SaysThatAReceiveWaitsForEver) {
    traffic::ScheduleBuilder builder(2);
    builder.receive(Rank{1}, Rank{0}, 8);
    const traffic::Schedule schedule = builder.build();

    const Prediction prediction = walk(schedule, charges(LogGp{}));

    EXPECT_FALSE(prediction.finished);
    EXPECT_EQ(prediction.finish(), never);
    EXPECT_EQ(prediction.ends[0], Time{});
}

TEST(Trouble, NamesWhatWaitsAndCountsWhatNobodyTakes) {
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 8, 5);
    builder.send(Rank{0}, Rank{1}, 100'000, 6);
    const auto receive = builder.receive(Rank{1}, Rank{0}, 3, 7);
    builder.require(Rank{1}, builder.compute(Rank{1}, nanoseconds(1)), receive);
    const traffic::Schedule schedule = builder.build();

    const Prediction prediction = walk(schedule, charges(LogGops{}));

    EXPECT_FALSE(prediction.finished);
    EXPECT_EQ(
        trouble(schedule, prediction),
        (std::vector<std::string>{"rank 0, operation 1: a send of 100000 bytes to rank 1, tag 6, is never received",
                                  "rank 1, operation 0: a receive of 3 bytes from rank 0, tag 7, has no message",
                                  "2 messages arrived that no receive takes"}));
}

TEST(Trouble, IsNoneWhereEverythingMeets) {
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 8, 5);
    builder.receive(Rank{1}, Rank{0}, 8, 5);
    const traffic::Schedule schedule = builder.build();

    for (const Charges& each : {charges(LogGp{}), charges(LogfP{}), charges(LogGops{.S = 0})})
        EXPECT_TRUE(trouble(schedule, walk(schedule, each)).empty());
}

}  // namespace
}  // namespace loom::model
