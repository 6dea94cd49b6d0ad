// Ranks in virtual time at the message level, where every time can be worked out by hand.
#include "loom/twin/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "conformance/cases.hpp"
#include "conformance/kit.hpp"
#include "loom/base/clock.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using conformance::Operations;
using transport::Transport;

// L 1 us, o 100 ns, g 200 ns, 1 GB/s, nothing else.
Options by_hand(std::uint32_t ranks) {
    Options options;
    options.ranks = ranks;
    options.simulation.message.parameters = {
        .L = microseconds(1), .o = nanoseconds(100), .g = nanoseconds(200), .G = 1000};
    return options;
}

// Without a look in vain, which would take time.
void wait(Transport& transport, const conformance::Operation& operation) {
    while (!operation.finished())
        if (!transport.progress()) transport.rest();
}

class Conformance : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Conformance, AtTheMessageLevel) {
    Options options;
    options.ranks = GetParam();
    Result result;

    EXPECT_NO_THROW(result = run(options, [](Transport& transport) { conformance::run_all(transport); }));

    EXPECT_EQ(result.state, sim::State::finished) << testing::PrintToString(result.trouble);
}

TEST_P(Conformance, OnATree) {
    const Tree tree(GetParam(), 2);
    for (const sim::Level level : {sim::Level::packet, sim::Level::flow}) {
        Options options;
        options.level = level;
        options.network = tree.network();
        Result result;

        EXPECT_NO_THROW(result = run(options, [](Transport& transport) { conformance::run_all(transport); }));

        EXPECT_EQ(result.state, sim::State::finished) << testing::PrintToString(result.trouble);
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Conformance, testing::Values(1, 2, 3, 5, 8, 16));

// o + L for the first byte, 7 more bytes at 1 ns while the receiver's core takes them, and its o.
TEST(Run, AMessageTakesWhatTheModelSays) {
    std::vector<Time> seen(2);

    const Result result = run(by_hand(2), [&](Transport& transport) {
        Operations operations(transport);
        wait(transport, transport.rank().value == 0 ? operations.send(Rank{1}, 7, conformance::content(1, 8))
                                                    : operations.receive(Rank{0}, 7, 8));
        operations.wait_and_check();
        seen[transport.rank().value] = now();
    });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_EQ(seen[0], nanoseconds(100));
    EXPECT_EQ(seen[1], nanoseconds(100 + 1000 + 100 + 7));
    EXPECT_EQ(result.finish, seen[1]);
}

TEST(Run, DeclaredComputationTakesVirtualTime) {
    const Result result = run(by_hand(2), [&](Transport& transport) { compute(milliseconds(transport.rank().value)); });

    EXPECT_THAT(result.ranks, testing::ElementsAre(testing::Field(&RankTimes::end, Time{}),
                                                   testing::Field(&RankTimes::end, milliseconds(1))));
    EXPECT_EQ(result.ranks[1].computing, milliseconds(1));
}

TEST(Run, ALoopThatOnlyLooksDoesNotStopTime) {
    Options options = by_hand(2);
    options.look = nanoseconds(10);
    unsigned looks = 0;

    const Result result = run(options, [&](Transport& transport) {
        if (transport.rank().value == 0) return compute(microseconds(1));
        while (now() < nanoseconds(500)) {
            EXPECT_FALSE(transport.progress());
            ++looks;
        }
    });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_EQ(looks, 51u);  // the first at a moment is free
    EXPECT_EQ(result.ranks[1].end, nanoseconds(500));
}

// It lies there untaken while the rank waits for something else, and time goes on.
TEST(Run, ANotificationThatNobodyTakesYetEndsNoOtherRest) {
    const Result result = run(by_hand(2), [](Transport& transport) {
        std::vector<std::byte> memory(8);
        Operations operations(transport);
        if (transport.rank().value == 0) {
            const auto where = transport.expose(memory);
            wait(transport, operations.send(Rank{1}, 1, conformance::bytes_of(where)));
            wait(transport, operations.receive(Rank{1}, 2, 8));
            EXPECT_EQ(transport.next_notification()->value, 5u);
        } else {
            conformance::Operation& where = operations.receive(Rank{0}, 1, sizeof(transport::RemoteMemory));
            wait(transport, where);
            transport::RemoteMemory target;
            std::memcpy(&target, where.data.data(), sizeof target);
            wait(transport, operations.put_notify(Rank{0}, target, 0, conformance::content(1, 8), 5));
            compute(microseconds(100));
            wait(transport, operations.send(Rank{0}, 2, conformance::content(2, 8)));
        }
    });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_GT(result.finish, microseconds(100));
}

TEST(Run, ACircleOfWaitingRanksIsNamed) {
    const Result result = run(by_hand(3), [](Transport& transport) {
        const std::uint32_t me = transport.rank().value;
        conformance::Operation operation;
        operation.data.resize(8);
        ASSERT_FALSE(transport.receive(Rank{(me + 1) % 3}, transport::Tag{0x2a}, operation.data, operation.message));
        wait(transport, operation);
    });

    EXPECT_EQ(result.state, sim::State::stuck);
    EXPECT_EQ(result.finish, never);
    EXPECT_THAT(result.trouble, testing::Contains("ranks wait for each other in a circle: 0 for 1 for 2 for 0"));
    EXPECT_THAT(result.trouble, testing::Contains("rank 1 waits for a message of 8 bytes from rank 2, tag 0x2a"));
}

TEST(Run, ARankThatThrowsIsLostToTheOthers) {
    std::vector<transport::Message::Outcome> seen(3);
    std::vector<Time> heard(3);

    EXPECT_THROW(run(by_hand(3),
                     [&](Transport& transport) {
                         const std::uint32_t me = transport.rank().value;
                         if (me == 1) {
                             compute(microseconds(150));
                             throw ParseError("input", 3, "anything else");
                         }
                         conformance::Operation operation;
                         operation.data.resize(8);
                         ASSERT_FALSE(transport.receive(Rank{1}, transport::Tag{1}, operation.data, operation.message));
                         wait(transport, operation);
                         seen[me] = operation.message.outcome;
                         heard[me] = now();
                         EXPECT_EQ(transport.lost(), Rank{1});
                     }),
                 ParseError);

    EXPECT_EQ(seen[0], transport::Message::Outcome::lost);
    EXPECT_EQ(seen[2], transport::Message::Outcome::lost);
    EXPECT_GE(heard[0], microseconds(150));
    EXPECT_LE(heard[0], microseconds(201));
    EXPECT_EQ(heard[0], heard[2]);
}

TEST(Run, WhatMakesNoSenseIsRefused) {
    Options options;
    const auto nothing = [](Transport&) {};

    EXPECT_THROW(run(options, nothing), UsageError);  // no ranks
    options.ranks = 2;
    options.hosts = {0, 0, 1};
    EXPECT_THROW(run(options, nothing), UsageError);
    options.hosts.clear();
    options.look = Time{};
    EXPECT_THROW(run(options, nothing), UsageError);
    options = {};
    options.level = sim::Level::packet;
    EXPECT_THROW(run(options, nothing), UsageError);  // no fabric
}

TEST(Notes, WhatOneRankLeavesAnotherFinds) {
    Options options;
    options.ranks = 3;
    std::vector<std::optional<std::string>> found(3);
    const Result result = run(options, [&](transport::Transport& mine) {
        const std::uint32_t rank = mine.rank().value;
        if (rank == 0) mine.note("key", "first");
        compute(microseconds(1 + rank));
        found[rank] = mine.recall("key");
        mine.note("key", "later");
        if (rank == 2) found[0] = mine.recall("key");
        EXPECT_EQ(mine.recall("another"), std::nullopt);
    });

    EXPECT_EQ(found, (std::vector<std::optional<std::string>>(3, "first")));
    EXPECT_EQ(result.finish, microseconds(3));
}

}  // namespace
}  // namespace loom::twin
