#include <gtest/gtest.h>

#include "hca/roce/rate.hpp"

namespace loom::hca::roce {
namespace {

constexpr Time us(std::int64_t number) {
    return Time(number * 1000);
}

RateOptions ten_gigabyte() {
    RateOptions options;
    options.line_rate = 10e9;
    return options;
}

// Sends packets as fast as allowed for a while and returns the rate in bytes a second.
double rate_over(RateControl& control, Time& now, Time span) {
    const Time end = now + span;
    double bytes = 0;
    while (true) {
        const Time next = std::max(now, control.next(now));
        if (next >= end) break;
        now = next;
        control.sent(4096, now);
        now += Time(400);  // what the packet takes at line rate
        bytes += 4096;
    }
    now = end;
    return bytes / std::chrono::duration<double>(span).count();
}

TEST(RoceRate, FlowWithoutNotificationIsNeverHeldBack) {
    RateControl control(ten_gigabyte());

    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(control.next(us(5)), us(5));
        control.sent(1 << 20, us(5));
    }
    EXPECT_FALSE(control.limited());
    EXPECT_EQ(control.rate(), 10e9);
}

TEST(RoceRate, FirstNotificationHalvesTheRateAndPacketsFollowIt) {
    RateOptions options = ten_gigabyte();
    options.rate_period = us(1'000'000);
    options.rate_bytes = std::uint64_t{1} << 60;
    RateControl control(options);
    Time now = us(100);

    control.notified(now);
    const double rate = rate_over(control, now, us(10'000));

    EXPECT_NEAR(control.rate(), 5e9, 1);
    EXPECT_NEAR(rate, 5e9, 0.03 * 5e9);
}

TEST(RoceRate, EachNotificationCutsTheRateDownToTheMinimum) {
    RateControl control(ten_gigabyte());
    double last = control.rate();

    for (int i = 0; i < 20; ++i) {
        control.notified(us(50 * i));
        ASSERT_LT(control.rate(), last);
        last = control.rate();
        if (last == RateOptions{}.minimum_rate) break;
    }
    for (int i = 20; i < 200; ++i) control.notified(us(50 * i));

    EXPECT_EQ(control.rate(), RateOptions{}.minimum_rate);
}

TEST(RoceRate, QuietFlowIsBackAtFullRate) {
    RateControl control(ten_gigabyte());
    Time now = us(0);
    control.notified(now);
    control.notified(us(50));
    const double cut = control.rate();

    double last = cut;
    for (int i = 0; i < 20; ++i) {
        now += us(300);
        (void)control.next(now);
        ASSERT_GE(control.rate(), last);
        last = control.rate();
    }
    (void)control.next(us(1'000'000));

    EXPECT_GT(last, 1.5 * cut);
    EXPECT_FALSE(control.limited());
    EXPECT_EQ(control.rate(), 10e9);
}

TEST(RoceRate, FirstStepsHalveTheWayBack) {
    RateControl control(ten_gigabyte());
    control.notified(us(0));

    (void)control.next(us(300));
    EXPECT_NEAR(control.rate(), 7.5e9, 1);
    (void)control.next(us(600));
    EXPECT_NEAR(control.rate(), 8.75e9, 1);
}

TEST(RoceRate, SentBytesRaiseTheRateToo) {
    RateOptions options = ten_gigabyte();
    options.rate_period = us(1'000'000);
    RateControl control(options);
    control.notified(us(0));

    control.sent(10 << 20, us(1));

    EXPECT_NEAR(control.rate(), 7.5e9, 1);
}

TEST(RoceRate, MarksThatComeSeldomCutLess) {
    RateControl often(ten_gigabyte());
    RateControl seldom(ten_gigabyte());
    for (int i = 0; i < 100; ++i) often.notified(us(50 * i));
    Time now = us(0);
    for (int i = 0; i < 100; ++i) seldom.notified(now += us(600));

    const double often_before = often.rate();
    const double seldom_before = seldom.rate();
    often.notified(us(5000));
    seldom.notified(now + us(600));

    EXPECT_LE(often.rate(), often_before);
    EXPECT_GT(seldom_before, 10 * often_before);
}

TEST(RoceRate, PauseIsNotSavedUp) {
    RateOptions options = ten_gigabyte();
    options.rate_period = us(10'000'000);
    options.rate_bytes = std::uint64_t{1} << 60;
    RateControl control(options);
    control.notified(us(0));
    Time now = us(1'000'000);

    int at_once = 0;
    while (control.next(now) <= now) {
        control.sent(4096, now);
        ++at_once;
    }

    EXPECT_NEAR(at_once, 5e9 * 100e-6 / 4096, 3);
}

TEST(RoceRate, NotificationsArePacedPerFlow) {
    NotificationPacer pacer;

    EXPECT_TRUE(pacer.due(QpNumber{1}, us(0)));
    EXPECT_FALSE(pacer.due(QpNumber{1}, us(49)));
    EXPECT_TRUE(pacer.due(QpNumber{2}, us(49)));
    EXPECT_TRUE(pacer.due(QpNumber{1}, us(50)));
    EXPECT_FALSE(pacer.due(QpNumber{1}, us(99)));
    EXPECT_TRUE(pacer.due(QpNumber{1}, us(1000)));
}

TEST(RoceRate, PacerForgetsOldFlows) {
    NotificationPacer pacer;
    for (std::uint32_t flow = 0; flow < 4096; ++flow) ASSERT_TRUE(pacer.due(QpNumber{flow}, us(0)));

    EXPECT_FALSE(pacer.due(QpNumber{5000}, us(10)));
    EXPECT_TRUE(pacer.due(QpNumber{5000}, us(60)));
    EXPECT_TRUE(pacer.due(QpNumber{1}, us(60)));
}

}  // namespace
}  // namespace loom::hca::roce
