// Windows in virtual time, and what a notified put takes there.
#include "loom/window/window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/window/cases.hpp"
#include "loom/base/clock.hpp"
#include "loom/twin/run.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using transport::Transport;
using window::Tag;
using window::Window;
using window::World;

void all_cases(Transport& transport) {
    World world(transport, nullptr);
    conformance::run_window_cases(world);
    world.close();
}

class VirtualWindows : public testing::TestWithParam<std::uint32_t> {};

TEST_P(VirtualWindows, PassTheCasesAtTheMessageLevel) {
    Options options;
    options.ranks = GetParam();
    options.stack_bytes = 256 * 1024;
    Result result;

    EXPECT_NO_THROW(result = run(options, all_cases));

    EXPECT_EQ(result.state, sim::State::finished) << testing::PrintToString(result.trouble);
}

TEST_P(VirtualWindows, PassTheCasesOnATree) {
    const Tree tree(GetParam(), 2);
    Options options;
    options.level = sim::Level::packet;
    options.network = tree.network();
    options.stack_bytes = 256 * 1024;
    Result result;

    EXPECT_NO_THROW(result = run(options, all_cases));

    EXPECT_EQ(result.state, sim::State::finished) << testing::PrintToString(result.trouble);
}

INSTANTIATE_TEST_SUITE_P(Ranks, VirtualWindows, testing::Values(1, 2, 3, 5, 8));

// L 1 us, o 100 ns, 1 GB/s: a notified put of 8 bytes is a message of 8 bytes, a get a request and its answer.
TEST(VirtualWindows, ANotifiedPutIsOneMessage) {
    Options options;
    options.ranks = 2;
    options.simulation.message.parameters = {
        .L = microseconds(1), .o = nanoseconds(100), .g = nanoseconds(200), .G = 1000};
    Time put{}, got{};

    (void)run(options, [&](Transport& transport) {
        World world(transport, nullptr);
        std::uint64_t word = 0;
        Window window = world.team().create(std::as_writable_bytes(std::span(&word, 1)));
        sleep_until(milliseconds(1));
        if (world.rank() == Rank{0}) window.put_value_notify(Rank{1}, 0, std::uint64_t{7}, Tag{1});
        if (world.rank() == Rank{1}) {
            window.wait(Tag{1});
            put = now() - milliseconds(1);
            std::uint64_t back = 0;
            const Time before = now();
            window.get(Rank{0}, 0, std::as_writable_bytes(std::span(&back, 1)));
            window.flush();
            got = now() - before;
            EXPECT_EQ(word, 7u);
        }
        world.close();
    });

    EXPECT_EQ(put, nanoseconds(100 + 1000 + 100 + 7));
    EXPECT_GE(got, nanoseconds(2 * (100 + 1000)));
    EXPECT_LE(got, nanoseconds(3000));
}

TEST(VirtualWindows, AStallIsNamedByVirtualTime) {
    Options options;
    options.ranks = 2;
    std::string text;
    Time ended{};

    const Result result = run(options, [&](Transport& transport) {
        World world(transport, nullptr);
        Window window = world.team().create({});
        try {
            if (world.rank() == Rank{0}) window.wait({Tag{3}, Rank{1}}, 1, seconds(100));
        } catch (const window::Stalled& stalled) {
            text = stalled.what();
            ended = now();
        }
        world.close();
    });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_THAT(text, testing::HasSubstr("after 100 s rank 0 waits for tag 3 of window 1 from rank 1"));
    EXPECT_GE(ended, seconds(100));
    EXPECT_LE(ended, seconds(101));
}

}  // namespace
}  // namespace loom::twin
