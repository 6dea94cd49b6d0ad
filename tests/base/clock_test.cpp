#include "loom/base/clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace loom {
namespace {

// Time passes when somebody sleeps or computes.
class Virtual final : public Clock {
public:
    Time now() override { return now_; }
    void sleep_until(Time time) override { now_ = std::max(now_, time); }
    void compute(Time duration) override {
        now_ += duration;
        busy += duration;
    }
    Time busy;

private:
    Time now_ = seconds(100);
};

class Under {
public:
    explicit Under(Clock* clock) : before_(swap_clock(clock)) {}
    Under(const Under&) = delete;
    Under& operator=(const Under&) = delete;
    ~Under() { swap_clock(before_); }

private:
    Clock* before_;
};

TEST(ClockTest, WithoutOneTheMachinesGoesOn) {
    ASSERT_EQ(current_clock(), nullptr);

    const Time before = now();
    sleep_for(microseconds(50));
    const Time after = now();

    EXPECT_GE(before, Time{});
    EXPECT_GE(after - before, microseconds(50));
    sleep_until(before);
    sleep_for(Time{-5});
    EXPECT_GE(now(), after) << "what is over is not slept for";
}

TEST(ClockTest, ComputingTakesTheMachineNoTimeAndTheVirtualClockExactlyWhatIsSaid) {
    compute(never);

    Virtual clock;
    const Under under(&clock);
    const Time before = now();
    compute(nanoseconds(700));
    compute(Time{1});

    EXPECT_EQ(now() - before, Time{700'001});
    EXPECT_EQ(clock.busy, Time{700'001});
    compute(Time{});
    compute(Time{-1});
    EXPECT_EQ(clock.busy, Time{700'001});
}

TEST(ClockTest, SleepsPassVirtualTimeAndKeepNobodyBusy) {
    Virtual clock;
    const Under under(&clock);

    sleep_for(seconds(3600));

    EXPECT_EQ(now(), seconds(3700));
    sleep_until(seconds(10));
    EXPECT_EQ(now(), seconds(3700));
    EXPECT_EQ(clock.busy, Time{});
}

TEST(ClockTest, IsOfOneThreadAndMayBeSwapped) {
    Virtual one, other;
    const Under under(&one);

    EXPECT_EQ(swap_clock(&other), &one);
    EXPECT_EQ(current_clock(), &other);
    EXPECT_EQ(swap_clock(&one), &other);

    Clock* elsewhere = &one;
    std::jthread([&] { elsewhere = current_clock(); }).join();
    EXPECT_EQ(elsewhere, nullptr);
}

}  // namespace
}  // namespace loom
