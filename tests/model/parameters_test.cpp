#include "loom/model/parameters.hpp"

#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom::model {
namespace {

MessageCosts draw(Random& random) {
    const auto ps = [&] { return static_cast<std::int64_t>(random.below(5'000'000)); };
    return {Time{ps()}, Time{ps()}, ps(), Time{ps()}, ps(), Time{ps()}, Time{ps()}, ps()};
}

TEST(Parameters, ComeBackFromTheirText) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Random random(seed);
        Charges charges;
        charges.way = {draw(random),    draw(random), random(), Time{17}, static_cast<Copying>(random.below(2)),
                       random.below(99)};
        if (seed % 2 == 0)
            charges.far = {draw(random), draw(random), random.below(9999), Time{4}, Copying::by_costs, 0};
        charges.waits_for = static_cast<Large>(random.below(3));
        charges.free = 1 + random.below(20);
        charges.taking = static_cast<Taking>(random.below(2));
        charges.local = {random.below(1000), random.below(1000), Time{random.below(1000)}};
        charges.host_cores = random.below(4);
        if (seed % 3 == 0)
            charges.cold = ColdCosts{random.below(9999),
                                     random.below(99'999),
                                     static_cast<std::int64_t>(random.below(999)),
                                     static_cast<std::int64_t>(random.below(999)),
                                     static_cast<std::int64_t>(random.below(999)),
                                     static_cast<std::int64_t>(random.below(999))};

        charges.way.advance = random();
        charges.way.alone_byte = random.below(99);
        charges.turn = Time{random.below(99)};
        charges.call = Time{random.below(99)};
        for (std::uint64_t i = 0; i < seed % 4; ++i)
            charges.sized.push_back({1000 * (i + 1) + random.below(999), random.below(99), random.below(99),
                                     random.below(99), random.below(99), random.below(99)});

        const Charges back = parse_charges(to_text(charges), {});

        ASSERT_EQ(back, charges) << to_text(charges);
    }
}

TEST(Parameters, WithoutPrefixHoldForAll) {
    Charges base;
    base.far = base.way;

    const Charges got = parse_charges("L=2.5us,o=300ns,large.G=7ps,far.small.g=1ns,near.limit=4KiB", base);

    EXPECT_EQ(got.way.small.latency, nanoseconds(2500));
    EXPECT_EQ(got.far->large.latency, nanoseconds(2500));
    EXPECT_EQ(got.way.large.take, nanoseconds(300));
    EXPECT_EQ(got.way.large.gap_byte, 7);
    EXPECT_EQ(got.way.small.gap_byte, 0);
    EXPECT_EQ(got.far->small.gap, nanoseconds(1));
    EXPECT_EQ(got.way.small.gap, Time{});
    EXPECT_EQ(got.way.limit, 4096u);
    EXPECT_EQ(got.far->limit, UINT64_MAX);
}

TEST(Parameters, OfAFarWayBeginAsTheNearOnes) {
    const Charges got = parse_charges("L=1us,far.G=100ps", {});

    ASSERT_TRUE(got.far);
    EXPECT_EQ(got.far->small.latency, microseconds(1));
    EXPECT_EQ(got.far->small.gap_byte, 100);
    EXPECT_EQ(got.way.small.gap_byte, 0);
}

TEST(Parameters, ThatAreWrongAreNamed) {
    for (const char* text : {"L", "L=", "L=3", "L=-1us", "x=1us", "far.f=2", "f=0", "f=two", "limit=much", "large=so",
                             "near.far.L=1us", "taking=never", "cores=-1", "small.limit=1"})
        EXPECT_THROW((void)parse_charges(text, {}), UsageError) << text;
}

TEST(Parameters, OfWorkingSetsGoFromWarmToColdByDoublings) {
    Charges charges;
    charges.local.copy = 20;
    charges.local.reduce = 50;
    charges.way.large.send_byte = 80;
    charges.way.shared_byte = 10;
    charges.cold = ColdCosts{1 << 20, 16 << 20, 100, 40, 160, 90};
    const auto copy_at = [&](std::uint64_t bytes) { return for_working_set(charges, bytes).local.copy; };

    EXPECT_EQ(for_working_set(charges, 1 << 20), charges);
    EXPECT_EQ(copy_at(2 << 20), 40);
    EXPECT_EQ(copy_at(4 << 20), 60);
    EXPECT_EQ(copy_at(16 << 20), 100);
    const Charges far_beyond = for_working_set(charges, 1 << 30);
    EXPECT_EQ(far_beyond.local.copy, 100);
    EXPECT_EQ(far_beyond.local.reduce, 50) << "nothing is cheaper where caches end";
    EXPECT_EQ(far_beyond.way.large.send_byte, 160);
    EXPECT_EQ(far_beyond.way.shared_byte, 90);
    EXPECT_FALSE(far_beyond.cold);
}

TEST(ChargesText, LogGopsTakesBytesAsTheNetworkBringsThem) {
    const Charges base = charges(LogGops{});

    EXPECT_EQ(parse_charges("G=80ps", base), charges(LogGops{.G = 80}));
    EXPECT_EQ(parse_charges("O=90,G=80", base), charges(LogGops{.G = 80, .O = 90}));
    EXPECT_EQ(parse_charges("S=1000", base), charges(LogGops{.S = 1000}));
    for (const char* text : {"O_receive=7ps,G=80ps", "G=80ps,O_receive=7ps"}) {
        Charges given = charges(LogGops{.G = 80});
        given.way.small.take_byte = given.way.large.take_byte = 7;
        EXPECT_EQ(parse_charges(text, base), given) << text;
    }
}

TEST(ChargesText, OtherModelsTakeBytesAsTheTextSays) {
    const Charges got = parse_charges("G=80ps,O=5ps", charges(LogGp{}));

    EXPECT_EQ(got.way.small.gap_byte, 80);
    EXPECT_EQ(got.way.small.send_byte, 5);
    EXPECT_EQ(got.way.large.take_byte, 5);
}

TEST(ChargesText, SaysEachThingOnce) {
    EXPECT_THROW((void)parse_charges("L=1us,o=2ns,L=2us", {}), UsageError);
    EXPECT_NO_THROW((void)parse_charges("L=1us,far.L=2us,large.L=3us", {}));
}

}  // namespace
}  // namespace loom::model
