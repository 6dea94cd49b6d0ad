#include "session/stack/mail.hpp"

#include <gtest/gtest.h>

namespace loom::session {
namespace {

Bytes filled(std::size_t size, int value) {
    return Bytes(size, static_cast<std::byte>(value));
}

// Cuts all that may leave; returns the numbers of the pieces.
std::vector<std::uint64_t> cut_all(Outbox& outbox, std::size_t most = 10) {
    std::vector<std::uint64_t> numbers;
    while (outbox.has_more() && outbox.may_begin()) numbers.push_back(outbox.cut(most).number);
    return numbers;
}

TEST(Outbox, KeepsWhatIsOwedUntilItIsTaken) {
    Outbox outbox;
    outbox.add(filled(25, 1), true, nullptr);
    outbox.add(filled(5, 2), true, nullptr);

    EXPECT_EQ(cut_all(outbox), (std::vector<std::uint64_t>{1, 1, 1, 2}));
    EXPECT_EQ(outbox.again(1, 20, 5).data.size(), 5u);
    outbox.take(1);

    EXPECT_EQ(outbox.again(1, 20, 5).number, 0u);
    EXPECT_FALSE(outbox.drained());
    outbox.take(9);
    EXPECT_TRUE(outbox.drained());
}

// The segment is written after the message has been taken out of the queue.
TEST(Outbox, KeepsTheBytesOfThePieceThatLeavesLast) {
    Outbox outbox;
    outbox.serve(false);
    outbox.add(filled(15, 7), false, nullptr);

    (void)outbox.cut(10);
    const Piece last = outbox.cut(10);

    EXPECT_EQ(outbox.waiting(), 0u);
    ASSERT_EQ(last.data.size(), 5u);
    for (const std::byte each : last.data) EXPECT_EQ(each, std::byte{7});
}

TEST(Outbox, GoesOnWhereTheReceiverStands) {
    Outbox outbox;
    for (int i = 1; i <= 4; ++i) outbox.add(filled(30, i), true, nullptr);
    for (int i = 0; i < 8; ++i) (void)outbox.cut(10);  // two, and two thirds of the third

    outbox.rewind({2, 10, 1});

    const Piece next = outbox.cut(10);
    EXPECT_EQ(next.number, 2u);
    EXPECT_EQ(next.offset, 10u);
    EXPECT_EQ(cut_all(outbox), (std::vector<std::uint64_t>{2, 3, 3, 3, 4, 4, 4}));
}

TEST(Outbox, BelievesNoReceiverThatClaimsMoreThanWasSent) {
    Outbox outbox;
    outbox.add(filled(30, 1), true, nullptr);
    outbox.add(filled(30, 2), true, nullptr);
    (void)outbox.cut(10);

    outbox.rewind({99, 99, 99});

    EXPECT_FALSE(outbox.drained());
    EXPECT_EQ(cut_all(outbox), (std::vector<std::uint64_t>{2, 2, 2}));
}

TEST(Outbox, SendsTheNewestOnceMoreWhenItDidNotArrive) {
    for (const bool arrived : {false, true})
        for (const bool newer : {false, true}) {
            Outbox outbox;
            outbox.serve(false);
            outbox.add(filled(10, 1), false, nullptr);
            EXPECT_EQ(cut_all(outbox).size(), 1u);
            if (newer) outbox.add(filled(10, 2), false, nullptr);

            outbox.rewind({arrived ? 2u : 1u, 0, 0});

            EXPECT_EQ(cut_all(outbox), newer     ? (std::vector<std::uint64_t>{2})
                                       : arrived ? (std::vector<std::uint64_t>{})
                                                 : (std::vector<std::uint64_t>{1}));
        }
}

TEST(Outbox, HoldsBackMessagesOfTheOtherScheme) {
    Outbox outbox;
    outbox.add(filled(1, 1), true, nullptr);
    outbox.add(filled(1, 2), false, nullptr);
    EXPECT_EQ(cut_all(outbox).size(), 1u);
    outbox.serve(false);
    EXPECT_EQ(cut_all(outbox), (std::vector<std::uint64_t>{2}));
}

TEST(Outbox, HasABoundForWhatIsNotTaken) {
    Outbox outbox;
    for (int i = 0; i < 100; ++i) outbox.add(filled(1, 0), true, nullptr);
    EXPECT_EQ(cut_all(outbox).size(), Outbox::most_messages);
    Outbox large;
    for (int i = 0; i < 3; ++i) large.add(filled(Outbox::most_bytes * 2, 0), true, nullptr);
    EXPECT_EQ(cut_all(large, Outbox::most_bytes).size(), 2u) << "one message at least";
}

}  // namespace
}  // namespace loom::session
