#include "session/settling.hpp"

#include <gtest/gtest.h>

#include "session/physical/blocks.hpp"

namespace loom::session {
namespace {

TEST(Settling, WaitsLongerAfterEachFailure) {
    Settling settling(milliseconds(10));
    EXPECT_EQ(settling.due(), never);
    Time at = milliseconds(100);
    for (const int wait : {10, 20, 40, 80, 160, 320, 640, 640}) {
        settling.failed(at);
        EXPECT_EQ(settling.due(), never) << "it is away";
        settling.back(at + milliseconds(1));
        settling.back(at + milliseconds(5));
        EXPECT_EQ(settling.due(), at + milliseconds(1 + wait)) << "from when it was back first";
        at += milliseconds(50);
    }
}

TEST(Settling, ForgetsWhatIsLongAgo) {
    Settling settling(milliseconds(10));
    settling.failed(milliseconds(0));
    settling.failed(milliseconds(1));
    EXPECT_EQ(settling.wait(), milliseconds(20));
    settling.failed(milliseconds(1000));
    EXPECT_EQ(settling.wait(), milliseconds(10));
}

TEST(Settling, BeginsAnewWhenItFailsWhileItSettles) {
    Settling settling(milliseconds(10));
    settling.failed(milliseconds(0));
    settling.back(milliseconds(2));
    settling.failed(milliseconds(3));
    EXPECT_FALSE(settling.is_back());
    settling.back(milliseconds(4));
    EXPECT_EQ(settling.due(), milliseconds(24));
}

TEST(Blocks, GoInTheOrderInWhichTheyWereSetFree) {
    Blocks blocks(4);
    for (std::uint32_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(blocks.any());
        EXPECT_EQ(blocks.head(), i);
        blocks.take();
    }
    EXPECT_FALSE(blocks.any());

    for (const std::uint32_t each : {2u, 0u, 3u}) blocks.put(each);

    EXPECT_EQ(blocks.free(), 3u);
    for (const std::uint32_t each : {2u, 0u}) {
        EXPECT_EQ(blocks.head(), each);
        blocks.take();
    }
    blocks.put(1);
    EXPECT_EQ(blocks.head(), 3u);
    blocks.take();
    EXPECT_EQ(blocks.head(), 1u);
    blocks.take();
    EXPECT_FALSE(blocks.any());
}

}  // namespace
}  // namespace loom::session
