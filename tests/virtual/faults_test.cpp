// What fails while ranks run.
#include "loom/sim/fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/clock.hpp"
#include "virtual/stage.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using transport::Transport;
using Outcome = transport::Message::Outcome;

// Rank 1 is killed while the others wait for it; they hear of it at the next multiple of 10 us.
TEST(Faults, AKilledRankIsHeardOfAtTheStatedTime) {
    for (const char* level : {"message", "flow", "packet"}) {
        const auto setup = stage(std::string("level ") + level + "\nranks 3\nkill 3us rank 1\n" + star);
        Options options = options_of(*setup);
        options.loss_news = microseconds(10);
        std::vector<Time> heard(3);
        Time unwound;
        struct Leaves {
            Time& when;
            ~Leaves() { when = now(); }
        };

        const Result result = run(options, [&](Transport& transport) {
            const std::uint32_t me = transport.rank().value;
            if (me == 1) {
                const Leaves leaves{unwound};
                compute(microseconds(20));
                return;
            }
            conformance::Operation operation;
            operation.data.resize(8);
            ASSERT_FALSE(transport.receive(Rank{1}, transport::Tag{1}, operation.data, operation.message));
            await(transport, operation);
            EXPECT_EQ(operation.message.outcome, Outcome::lost);
            EXPECT_EQ(transport.lost(), Rank{1});
            EXPECT_EQ(transport.lost_why(), "a fault took it");
            heard[me] = now();
        });

        EXPECT_EQ(result.state, sim::State::finished) << level;
        EXPECT_EQ(unwound, microseconds(3)) << level;
        EXPECT_NEAR(heard[0].seconds(), 10e-6, setup->level == sim::Level::packet ? 1e-6 : 1e-12) << level;
        EXPECT_EQ(heard[0], heard[2]) << level;
        EXPECT_TRUE(result.ranks[1].killed);
        EXPECT_EQ(result.ranks[1].end, never);
        EXPECT_EQ(result.finish, std::max(result.ranks[0].end, result.ranks[2].end));
        EXPECT_THAT(result.events, testing::ElementsAre("3 us: rank 1 is killed"));
    }
}

TEST(Faults, ARankThatHasEndedIsNotKilled) {
    const auto setup = stage("level flow\nranks 2\nkill 3us rank 1\n" + star);

    const Result result = run(
        options_of(*setup), [&](Transport& transport) { compute(microseconds(transport.rank() == Rank{0} ? 5 : 1)); });

    EXPECT_EQ(result.finish, microseconds(5));
    EXPECT_FALSE(result.ranks[1].killed);
    EXPECT_THAT(result.events, testing::IsEmpty());
}

TEST(Faults, EvenAtTheBeginning) {
    for (const char* level : {"message", "flow", "packet"}) {
        const auto setup = stage(std::string("level ") + level + "\nranks 2\nkill 0s rank 1\n" + star);
        bool ran = false;

        const Result result = run(options_of(*setup), [&](Transport& transport) {
            if (transport.rank() == Rank{0}) return;
            compute(microseconds(1));
            ran = true;
        });

        EXPECT_EQ(result.state, sim::State::finished) << level;
        EXPECT_FALSE(ran) << level;
        EXPECT_TRUE(result.ranks[1].killed) << level;
    }
}

// Those who wait for a rank that is killed later are not stuck.
TEST(Faults, ADeathFarAwayIsWaitedFor) {
    const auto setup = stage("level flow\nranks 2\nkill 5010us rank 1\n" + star);
    Time heard;

    const Result result = run(options_of(*setup), [&](Transport& transport) {
        conformance::Operation operation;
        operation.data.resize(8);
        ASSERT_FALSE(
            transport.receive(Rank{1 - transport.rank().value}, transport::Tag{1}, operation.data, operation.message));
        await(transport, operation);
        heard = now();
    });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_EQ(heard, microseconds(5'100));
}

// Two ways from S to T, over U and over V; minhop takes one of them to B, and which one is read from the tables.
const std::string two_ways =
    "switch S 4\nswitch T 4\nswitch U 4\nswitch V 4\nhost A\nhost B\n"
    "link A S:1 4xQDR\nlink B T:1 4xQDR\nlink S:2 U:1 4xQDR\nlink S:3 V:1 4xQDR\nlink U:2 T:2 4xQDR\nlink V:2 T:3 "
    "4xQDR\n";

std::string middle(const std::string& level) {
    const auto setup = stage("level " + level + "\nranks 2\n" + two_ways);
    const auto& b = setup->fabric.port(setup->placement.hosts[1]);
    return setup->tables.port(
               setup->graph->index(setup->fabric.port(setup->fabric.port(setup->placement.hosts[0]).peer).node),
               b.lid) == 2
               ? "U"
               : "V";
}

// 4 MB take 1 ms; after 400 us the way is gone. The rest goes on where new tables lead, 200 us later.
TEST(Cables, AStreamGoesOnWhenTablesAreRepaired) {
    for (const std::string& what : {"link " + middle("flow") + ":2", "switch " + middle("flow")}) {
        const auto setup = stage("level flow\nranks 2\nrepair 200us\nfail 400us " + what + "\n" + two_ways);
        Time there;

        const Result result =
            run(options_of(*setup), [&](Transport& transport) { send_one(transport, 0, 1, 4'000'000, there); });

        EXPECT_EQ(result.state, sim::State::finished);
        // Host, four cables, three switches, host.
        EXPECT_NEAR(there.seconds(), (nanoseconds(200) + microseconds(1000 + 200) + nanoseconds(700)).seconds(), 1e-11);
        ASSERT_EQ(result.events.size(), 2u);
        EXPECT_THAT(result.events[1], testing::StartsWith("600 us: tables repaired, "));
    }
}

// The packets that come to the dead port are lost, and 300 us after the first of them, with new tables, all is sent
// again: 700 us and the whole 1 ms of bytes once more.
TEST(Cables, APacketThatIsLostMakesItsMessageGoAgain) {
    const std::string fault = "fail 400us link " + middle("packet") + ":2\n";
    const auto setup = stage("level packet\nranks 2\nrepair 200us\nretry 300us\n" + fault + two_ways);
    Time there;

    const Result result =
        run(options_of(*setup), [&](Transport& transport) { send_one(transport, 0, 1, 4'000'000, there); });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_NEAR(there.seconds(), 700e-6 + 1013e-6, 5e-6);
    EXPECT_EQ(result.work.bytes, 4'000'000u);  // counted once
}

// Many messages both ways while the way fails: all come, once, with their content and in order.
TEST(Cables, NothingIsLostOrTwiceOrOvertakes) {
    for (const std::string& level : {std::string("packet"), std::string("flow")})
        for (const unsigned at : {1, 3, 10, 20, 33, 50, 77}) {
            const auto setup = stage("level " + level + "\nranks 2\nrepair 30us\nretry 20us\nbuffer 8KiB\n" + "fail " +
                                     std::to_string(at) + "us link " + middle(level) + ":2\n" + two_ways);
            const auto played = [&] {
                const Result result = run(options_of(*setup), [&](Transport& transport) {
                    const std::uint32_t me = transport.rank().value;
                    conformance::Operations operations(transport);
                    std::vector<const conformance::Operation*> received;
                    for (std::uint64_t i = 0; i < 40; ++i) {
                        operations.send(Rank{1 - me}, 5, conformance::content(100 * me + i, 257 * (i % 40)));
                        received.push_back(&operations.receive(Rank{1 - me}, 5, 257 * (i % 40)));
                    }
                    operations.wait_and_check();
                    for (std::uint64_t i = 0; i < 40; ++i)
                        EXPECT_EQ(received[i]->data, conformance::content(100 * (1 - me) + i, 257 * (i % 40)));
                });
                return std::pair(result.state, result.ranks);
            };
            const auto first = played();
            EXPECT_EQ(first.first, sim::State::finished) << level << ' ' << at;
            EXPECT_EQ(played(), first);
        }
}

// B is behind one cable. Its rank is lost when the subnet has looked, and nobody waits for ever.
TEST(Cables, AHostThatIsCutOffIsLost) {
    for (const std::string& level : {std::string("packet"), std::string("flow")})
        for (const std::string& what : {std::string("link B:1"), std::string("link S:2")}) {
            const auto setup = stage("level " + level + "\nranks 3\nrepair 30us\nfail 10us " + what + "\n" + star);
            Time there;
            Outcome outcome = Outcome::done;

            const Result result = run(options_of(*setup), [&](Transport& transport) {
                if (transport.rank() == Rank{1}) return transport.rest();
                conformance::Operation operation;
                operation.data.resize(1'000'000);
                if (transport.rank() == Rank{0}) {
                    operation.at_once = transport.send(Rank{1}, transport::Tag{1}, operation.data, operation.message);
                    await(transport, operation);
                    outcome = operation.message.outcome;
                    there = now();
                }
            });

            EXPECT_EQ(result.state, sim::State::finished) << level;
            EXPECT_EQ(outcome, Outcome::lost);
            EXPECT_NEAR(there.seconds(), 100e-6, 1e-6);
            EXPECT_TRUE(result.ranks[1].killed);
            EXPECT_THAT(result.events, testing::Contains("40 us: rank 1 is cut off"));
        }
}

TEST(Cables, WhatFailsElsewhereChangesNothing) {
    const auto played = [](const std::string& lines) {
        const auto setup = stage("level packet\nranks 2\nretry 1ms\n" + lines + two_ways);
        Time there;
        (void)run(options_of(*setup), [&](Transport& transport) { send_one(transport, 0, 1, 100'000, there); });
        return there;
    };
    const std::string other = middle("packet") == "U" ? "V" : "U";

    EXPECT_EQ(played(""), played("fail 3us switch " + other + "\n"));
}

TEST(Faults, WhatMakesNoSenseIsRefused) {
    const auto nothing = [](Transport&) {};
    EXPECT_THROW(run(options_of(*stage("level flow\nranks 2\nkill 5ms rank 2\n" + star)), nothing), UsageError);
    EXPECT_THROW(run(options_of(*stage("level message\nranks 2\nfail 5ms link S:1\n" + star)), nothing), UsageError);
    EXPECT_THROW((void)stage("level flow\nfail 5ms link S:7\n" + star), ParseError);  // no cable
    EXPECT_THROW((void)stage("level flow\nfail 5ms switch A\n" + star), ParseError);  // a host
    EXPECT_THROW((void)stage("level flow\nfail 5ms switch T\n" + star), ParseError);  // unknown
    EXPECT_THROW((void)stage("level flow\nfail link S:1\n" + star), ParseError);      // no time
    EXPECT_THROW((void)stage("level flow\nkill 5ms host 2\n" + star), ParseError);
}

}  // namespace
}  // namespace loom::twin
