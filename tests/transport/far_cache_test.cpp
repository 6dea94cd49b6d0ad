#include "transport/verbs/far_cache.hpp"

#include <gtest/gtest.h>

namespace loom::transport {
namespace {

using Way = FarCache::Way;

constexpr std::chrono::nanoseconds once{100}, each{18};

// Writes frames of 64 lines, each line of which takes that long; how many went the other way, and how many were timed.
struct Writer {
    FarCache cache{once, each};
    unsigned other = 0, timed = 0;

    void write(unsigned frames, std::chrono::nanoseconds a_line) {
        other = timed = 0;
        for (unsigned i = 0; i < frames; ++i) {
            const Way way = cache.next();
            other += way == Way::other;
            timed += way == Way::timed;
            if (way == Way::timed) cache.took(64, once + a_line * 64);
        }
    }
};

TEST(FarCache, QuickOnesGoTheUsualWayAndAreRarelyTimed) {
    Writer writer;

    writer.write(800, each);

    EXPECT_EQ(writer.other, 0u);
    EXPECT_EQ(writer.timed, 800 / FarCache::one_in);
}

TEST(FarCache, SlowOnesGoTheOtherWayFromTheFirstFewOnButForALookNowAndThen) {
    Writer writer;

    writer.write(FarCache::in_a_row + 10 * (FarCache::believed_for + 1), each + std::chrono::nanoseconds(1));

    EXPECT_EQ(writer.other, 10 * FarCache::believed_for);
    EXPECT_EQ(writer.timed, FarCache::in_a_row + 10);
}

TEST(FarCache, AnAccidentChangesNothing) {
    Writer writer;
    for (unsigned i = 0; i < 100; ++i) {
        writer.write(FarCache::in_a_row - 1, std::chrono::milliseconds(1));
        EXPECT_EQ(writer.other, 0u);
        writer.write(20, each);
        EXPECT_EQ(writer.other, 0u);
    }
}

TEST(FarCache, WhatHasChangedIsNoticed) {
    Writer writer;
    writer.write(100, std::chrono::nanoseconds(40));

    writer.write(100, std::chrono::nanoseconds(8));
    EXPECT_LE(writer.other, FarCache::believed_for);
    writer.write(100, std::chrono::nanoseconds(8));
    EXPECT_EQ(writer.other, 0u);

    writer.write(100, std::chrono::nanoseconds(40));
    EXPECT_GE(writer.other, 100u - FarCache::one_in - 2 * FarCache::in_a_row);
}

}  // namespace
}  // namespace loom::transport
