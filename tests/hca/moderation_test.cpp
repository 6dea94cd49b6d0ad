#include <gtest/gtest.h>

#include "hca/service/moderation.hpp"

namespace loom::hca {
namespace {

constexpr std::uint64_t us = 1000;
constexpr double gigabit = 0.125;  // bytes a nanosecond

TEST(Moderation, LooksAtOnceWhenNothingIsUnderWay) {
    Moderation moderation;

    EXPECT_EQ(moderation.nap_ns(1000, 1000, {}, 5000 * us), 0u);
}

TEST(Moderation, LooksAtOnceAsLongAsItKnowsNoRate) {
    Moderation moderation;

    EXPECT_EQ(moderation.nap_ns(0, 0, {1 << 20, 0, 0}, 5000 * us), 0u);
}

// Sleeps through messages that come at a rate, and counts.
struct Receiver {
    Moderation moderation;
    std::uint64_t now = 1000 * us, before = 0;
    unsigned looks = 0;
    std::uint64_t late = 0;  // ns after the end until it was seen

    void take(std::uint64_t bytes, double rate) {
        const std::uint64_t begun = now, end = begun + static_cast<std::uint64_t>(static_cast<double>(bytes) / rate);
        looks = 0;
        while (true) {
            ++looks;
            const std::uint64_t came =
                std::min(bytes, static_cast<std::uint64_t>(static_cast<double>(now - begun) * rate));
            const std::uint64_t nap = moderation.nap_ns(before + came, 0, {bytes - came, 0, 0}, now);
            if (came == bytes) break;
            now += nap != 0 ? nap : 33 * us;  // else the next packet wakes it
        }
        late = now - end;
        before += bytes;
        now += 2000 * us;  // nothing for a while
    }
};

TEST(Moderation, SleepsThroughLongMessagesAndNotOverTheirEnd) {
    Receiver receiver;
    receiver.take(1 << 20, gigabit);

    receiver.take(1 << 20, gigabit);

    EXPECT_LE(receiver.looks, 25u);  // of 256 packets
    EXPECT_LE(receiver.late, 40 * us);
}

TEST(Moderation, ShortMessagesAfterLongOnesAreNotSleptOver) {
    Receiver receiver;
    receiver.take(4 << 20, gigabit);

    receiver.take(64 << 10, gigabit);

    EXPECT_LE(receiver.late, 40 * us);
}

// What comes at once wakes whoever listens: a timer would cost as much and be late.
TEST(Moderation, TheLastThatComesTogetherIsListenedFor) {
    Moderation moderation;
    moderation.nap_ns(0, 0, {1 << 20, 0, 0}, 1000 * us);

    EXPECT_GT(moderation.nap_ns(125'000, 0, {Moderation::one_arrival * 2, 0, 0}, 2000 * us), 400 * us);
    EXPECT_EQ(moderation.nap_ns(250'000, 0, {Moderation::one_arrival, 0, 0}, 3000 * us), 0u);
}

TEST(Moderation, AFastWireIsNeverSleptOver) {
    Receiver receiver;
    receiver.take(64 << 20, 100 * gigabit);

    receiver.take(64 << 10, 100 * gigabit);

    EXPECT_LE(receiver.late, 40 * us);
}

TEST(Moderation, TheSenderLooksBeforeTheWireRunsDry) {
    Moderation moderation;
    const std::uint64_t window = 512 << 10, comes = 4 << 20;
    std::uint64_t now = 1000 * us;
    moderation.nap_ns(0, 0, {comes, window, 0}, now);

    now += 1000 * us;
    const std::uint64_t nap = moderation.nap_ns(125'000, 125'000, {comes, window, 0}, now);

    EXPECT_GT(nap, 0u);
    EXPECT_LE(static_cast<double>(nap) * gigabit, 0.5 * static_cast<double>(window));
}

// The other's message may begin at any time, and be over before ours is acknowledged.
TEST(Moderation, WhoOnlySendsListens) {
    Moderation moderation;
    const std::uint64_t window = 512 << 10;
    moderation.nap_ns(0, 0, {0, window, 0}, 1000 * us);

    EXPECT_EQ(moderation.nap_ns(0, 125'000, {0, window, 0}, 2000 * us), 0u);
    EXPECT_EQ(moderation.nap_ns(0, 250'000, {0, 0, window}, 3000 * us), 0u);
}

TEST(Moderation, WhatEndsFirstDecides) {
    Moderation moderation;
    moderation.nap_ns(0, 0, {1 << 20, 0, 1 << 20}, 1000 * us);

    const std::uint64_t nap = moderation.nap_ns(125'000, 125'000, {1 << 20, 0, 8192}, 2000 * us);

    EXPECT_LE(nap, 8192 * 8u);
}

}  // namespace
}  // namespace loom::hca
