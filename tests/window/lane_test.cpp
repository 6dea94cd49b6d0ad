// Lanes: what goes in comes out, in order, over many laps; what another process writes is checked.
#include "window/lane.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "window/board.hpp"

namespace loom::window {
namespace {

struct Pair {
    std::unique_ptr<Lane> left = std::make_unique<Lane>(), right = std::make_unique<Lane>();
    LaneWriter writer{*right, *left};  // of the left one
    LaneReader reader{*right, *left};  // of the right one
};

TEST(Lane, KeepsOrderOverManyLaps) {
    Pair pair;
    std::uint64_t sent = 0, taken = 0;
    // Different speeds, over more than twice the laps that have names.
    while (taken < lane_slots * 600) {
        for (std::uint64_t i = 0; i < 700 && sent < lane_slots * 600; ++i) pair.writer.send(sent++ & 0xffffffffffffff);
        std::uint64_t word = 0;
        for (std::uint64_t i = 0; i < 701 && pair.reader.next(word); ++i) {
            ASSERT_EQ(word, taken);
            ++taken;
        }
        pair.writer.send_waiting();
    }
    std::uint64_t word = 0;

    EXPECT_FALSE(pair.reader.next(word));
    EXPECT_FALSE(pair.writer.any_waiting());
}

TEST(Lane, KeepsWhatHasNoRoom) {
    Pair pair;
    for (std::uint64_t i = 0; i < 3 * lane_slots; ++i) pair.writer.send(i);
    EXPECT_TRUE(pair.writer.any_waiting());

    std::uint64_t word = 0, taken = 0;
    while (pair.reader.next(word)) {
        ASSERT_EQ(word, taken++);
        pair.writer.send_waiting();
    }

    EXPECT_EQ(taken, 3 * lane_slots);
    EXPECT_FALSE(pair.writer.any_waiting());
}

TEST(Lane, IsBetweenThreads) {
    constexpr std::uint64_t number = 200'000;
    Pair pair;
    std::uint64_t data = 0;  // of the last one; read by whoever took that
    std::jthread writer([&] {
        for (std::uint64_t i = 0; i < number; ++i) {
            if (i + 1 == number) data = 77;
            pair.writer.send(i);
            while (pair.writer.any_waiting())
                if (!pair.writer.send_waiting()) std::this_thread::yield();
        }
    });
    std::uint64_t word = 0;
    for (std::uint64_t taken = 0; taken < number;) {
        if (!pair.reader.next(word)) {
            std::this_thread::yield();
            continue;
        }
        ASSERT_EQ(word, taken);
        ++taken;
    }

    EXPECT_EQ(data, 77u);
}

TEST(Lane, RefusesACountThatCannotBe) {
    for (const std::uint64_t taken : {lane_slots + 1, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
        Pair pair;
        for (std::uint64_t i = 0; i < lane_slots; ++i) pair.writer.send(i);
        pair.left->taken = taken;

        EXPECT_THROW(pair.writer.send(1), Error) << taken;
    }
}

TEST(Lane, TakesNothingOfAnotherLap) {
    for (const std::uint64_t lap : {0ull, 2ull, 3ull, 255ull}) {
        Pair pair;
        pair.right->slots[0] = lap << lap_shift | 5;
        std::uint64_t word = 0;

        EXPECT_FALSE(pair.reader.next(word)) << lap;
    }
}

TEST(Board, SaysWhatWasWritten) {
    Board board;
    Waits waits;
    waits.what = static_cast<std::uint64_t>(Waits::For::notification);
    waits.tag = 9;
    board.write(waits);

    const auto read = Board::read(std::as_bytes(std::span(&board, 1)));

    ASSERT_TRUE(read);
    EXPECT_EQ(read->tag, 9u);
    board.clear();
    EXPECT_EQ(Board::read(std::as_bytes(std::span(&board, 1)))->what, 0u);
}

TEST(Board, IsNothingWhileItIsWrittenAndWhenItIsNonsense) {
    Board board;
    board.write({});
    std::array<std::uint64_t, sizeof(Board) / 8> words;
    std::memcpy(words.data(), static_cast<const void*>(&board), sizeof board);
    const auto read = [&] { return Board::read(std::as_bytes(std::span(words))); };
    ASSERT_TRUE(read());

    words.front() += 1;
    EXPECT_FALSE(read());
    words.back() += 1;
    EXPECT_FALSE(read());  // odd
    words.front() += 1;
    words.back() += 1;
    EXPECT_TRUE(read());
    words[1] = 77;
    EXPECT_FALSE(read());
    EXPECT_FALSE(Board::read(std::as_bytes(std::span(words)).first(8)));
}

}  // namespace
}  // namespace loom::window
