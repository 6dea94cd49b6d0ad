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

TEST(GrowthOf, AThirtyTwoBitCounterThatWrapped) {
    EXPECT_EQ(growth(0xfffffff0u, 0x10), (Growth{0x20, Kind::wrapped}));
    EXPECT_EQ(growth(0xffffffffu, 0), (Growth{1, Kind::wrapped}));
    EXPECT_EQ(growth(0xc0000000u, 0x3fffffffu), (Growth{0x7fffffff, Kind::wrapped}));
}

TEST(GrowthOf, ACounterThatWasReset) {
    EXPECT_EQ(growth(1'000'000, 300), (Growth{300, Kind::at_least}));
    EXPECT_EQ(growth(0xbfffffffu, 300), (Growth{300, Kind::at_least}));
    EXPECT_EQ(growth(0xfffffff0u, 0x40000000u), (Growth{0x40000000u, Kind::at_least}));
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

// Both counters of the congested port in 32 bits that wrap in the middle of the event; the words likewise.
TEST(Dcms, DecidesTheSameWhenCountersWrap) {
    const test::Testbed testbed;
    const auto play = [&](std::uint64_t start, bool narrow) {
        class Narrow : public fabric::CounterSource {
        public:
            Narrow(fabric::CounterSource& inner, bool narrow) : inner_(inner), narrow_(narrow) {}
            void read(std::span<const PortIndex> ports, std::span<fabric::PortCounters> counters) override {
                inner_.read(ports, counters);
                for (fabric::PortCounters& one : counters)
                    for (std::uint64_t* counter : {&one.xmit_cong_time, &one.xmit_wait, &one.xmit_data})
                        if (narrow_) *counter &= 0xffffffffu;
            }

        private:
            fabric::CounterSource& inner_;
            bool narrow_;
        };
        test::FakeParameters parameters;
        test::FakeFabric living(testbed.behaviour(parameters, seconds(4.5), seconds(60), seconds(100)), seconds(120));
        for (const PortIndex port : {testbed.root, testbed.victim})
            living.totals[port.value] = {.xmit_data = start, .xmit_wait = start, .xmit_cong_time = start};
        Narrow source(living, narrow);
        std::vector<Decision> decisions;
        (void)run_manager(testbed.fabric, source, parameters, living, {},
                          [&](const Decision& decision) { decisions.push_back(decision); });
        return decisions;
    };

    const auto wide = play(0xfff00000u, false);
    const auto narrow = play(0xfff00000u, true);

    EXPECT_GT(wide.size(), 8u);
    EXPECT_EQ(narrow, wide);
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
