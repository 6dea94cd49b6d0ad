#include "transport/verbs/far_cache.hpp"

#include <gtest/gtest.h>

namespace loom::transport {
namespace {

using Way = FarCache::Way;

// Writes frames of 64 lines, each line of which takes that long; how many went past the caches, and how many were
// timed.
struct Writer {
    FarCache cache;
    unsigned past = 0, timed = 0;

    void write(unsigned frames, std::chrono::nanoseconds a_line) {
        past = timed = 0;
        for (unsigned i = 0; i < frames; ++i) {
            const Way way = cache.next();
            past += way == Way::past;
            timed += way == Way::timed;
            if (way == Way::timed) cache.took(64, a_line * 64);
        }
    }
};

TEST(FarCache, QuickLinesAreWrittenAsUsualAndRarelyTimed) {
    Writer writer;

    writer.write(800, FarCache::slow_line);

    EXPECT_EQ(writer.past, 0u);
    EXPECT_EQ(writer.timed, 100u);
}

TEST(FarCache, SlowOnesGoPastTheCachesFromTheFirstOnButForALookNowAndThen) {
    Writer writer;

    writer.write(320, FarCache::slow_line + std::chrono::nanoseconds(1));

    EXPECT_EQ(writer.past, 310u);
    EXPECT_EQ(writer.timed, 10u);
}

TEST(FarCache, WhatHasChangedIsNoticed) {
    Writer writer;
    writer.write(100, std::chrono::nanoseconds(40));

    writer.write(100, std::chrono::nanoseconds(8));
    EXPECT_LE(writer.past, FarCache::believed_for);
    writer.write(100, std::chrono::nanoseconds(8));
    EXPECT_EQ(writer.past, 0u);

    writer.write(100, std::chrono::nanoseconds(40));
    EXPECT_GE(writer.past, 100u - FarCache::one_in - 4);
}

}  // namespace
}  // namespace loom::transport
