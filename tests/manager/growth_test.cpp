#include "loom/manager/growth.hpp"

#include <gtest/gtest.h>

#include "loom/manager/dcms.hpp"
#include "support/living.hpp"

namespace loom::manager {
namespace {

using Kind = Growth::Kind;

TEST(GrowthOf, ACounterThatWentOn) {
    EXPECT_EQ(growth(5, 5), (Growth{0, Kind::exact}));
    EXPECT_EQ(growth(5, 12), (Growth{7, Kind::exact}));
    EXPECT_EQ(growth(0xffffffffu, 0x100000003u), (Growth{4, Kind::exact}));  // wider than 32 bits
    EXPECT_EQ(growth(0, UINT64_MAX), (Growth{UINT64_MAX, Kind::exact}));
}

TEST(GrowthOf, ACounterThatWasReset) {
    EXPECT_EQ(growth(1'000'000, 300), (Growth{300, Kind::at_least}));
    EXPECT_EQ(growth(0xbfffffffu, 300), (Growth{300, Kind::at_least}));
    EXPECT_EQ(growth(0xfffffff0u, 0x40000000u), (Growth{0x40000000u, Kind::at_least}));
    EXPECT_EQ(growth(0xffffffffu, 0), (Growth{0, Kind::at_least}));  // full, or nearly: they never wrap
    EXPECT_EQ(growth(3'500'000'000u, 0x10), (Growth{0x10, Kind::at_least}));
    EXPECT_EQ(growth(std::uint64_t{1} << 40, 0), (Growth{0, Kind::at_least}));
}

TEST(Scaling, IsExactWhereItCanBe) {
    EXPECT_EQ(scaled(UINT64_MAX, seconds(2), seconds(2)), UINT64_MAX);
    EXPECT_EQ(scaled(10, seconds(4), seconds(2)), 5u);
    EXPECT_EQ(scaled(9, seconds(2), seconds(1)), 4u);
    EXPECT_EQ(scaled(7, seconds(1), seconds(2)), 14u);
    EXPECT_EQ(scaled(UINT64_MAX, seconds(1), seconds(2)), UINT64_MAX);  // the largest, not what is left of it
    EXPECT_EQ(scaled(UINT64_MAX - 1, seconds(2), seconds(1)), UINT64_MAX / 2);
}

// Somebody resets counters of 32 bits that stood in their last quarter, on an idle fabric.
TEST(Dcms, ANarrowCounterThatIsResetHasNotWrapped) {
    const test::Testbed testbed;
    Dcms manager(testbed.fabric, paper_settings());
    test::FakeParameters parameters;
    std::vector<Decision> decisions;
    const auto sweep = [&](int number, std::uint64_t stands) {
        for (const PortIndex port : {testbed.root, testbed.victim})
            manager.observe(port, seconds(1.5 * number), {.xmit_wait = stands, .xmit_cong_time = stands});
        manager.judge(seconds(1.5 * number), parameters, [&](const Decision& d) { decisions.push_back(d); });
    };

    sweep(0, 3'500'000'000u);
    sweep(1, 0);
    sweep(2, 0);

    EXPECT_EQ(parameters.calls, 0u);
    ASSERT_EQ(decisions.size(), 2u);
    EXPECT_EQ(decisions[0].what, What::reset);
    EXPECT_EQ(decisions[1].what, What::reset);
}

// An operator resets the counters of the victim port while the root is low: no reason to call it relieved.
TEST(Dcms, AResetIsToldAndEndsNothing) {
    const test::Testbed testbed;
    Dcms manager(testbed.fabric, paper_settings());
    test::FakeParameters parameters;
    std::vector<Decision> decisions;
    const auto sweep = [&](int number, fabric::PortCounters root, fabric::PortCounters victim) {
        manager.observe(testbed.root, seconds(1.5 * number), root);
        manager.observe(testbed.victim, seconds(1.5 * number), victim);
        decisions.clear();
        manager.judge(seconds(1.5 * number), parameters, [&](const Decision& d) { decisions.push_back(d); });
    };
    const std::uint64_t many = std::uint64_t{1} << 40;
    sweep(0, {}, {.xmit_data = many});
    sweep(1, {.xmit_cong_time = 9'000'000}, {.xmit_data = many + 400'000'000, .xmit_wait = 40'000'000});
    ASSERT_EQ(decisions.size(), 1u);
    ASSERT_EQ(decisions[0].what, What::lower);

    sweep(2, {.xmit_cong_time = 9'000'000}, {.xmit_data = 1'000, .xmit_wait = 0});
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_EQ(decisions[0].what, What::reset);
    EXPECT_EQ(decisions[0].port, testbed.victim);
    sweep(3, {.xmit_cong_time = 9'000'000}, {.xmit_data = 2'000, .xmit_wait = 0});

    EXPECT_TRUE(decisions.empty());  // the sweep before is not known, so this one cannot be less
    EXPECT_EQ(parameters.rates.at(testbed.root.value), 0);
}

}  // namespace
}  // namespace loom::manager
