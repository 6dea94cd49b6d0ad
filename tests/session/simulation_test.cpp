#include "loom/session/simulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "session/streams.hpp"

namespace loom::session {
namespace {

using test::intact;
using test::number_of;
using test::numbered;

SimulationOptions options_of(const Context& context) {
    SimulationOptions options;
    options.place = context.reach == Reach::intra ? Place::cluster : Place::elsewhere;
    options.settings.scheme = context.scheme;
    options.settings.network = context.network;
    options.has_infiniband = true;
    return options;
}

class EachContext : public testing::TestWithParam<Context> {};

TEST_P(EachContext, CarriesMessagesOfAnySize) {
    Simulation simulation(options_of(GetParam()));

    for (const std::size_t size :
         {std::size_t{8}, std::size_t{1}, std::size_t{1400}, std::size_t{8128}, std::size_t{300'000}}) {
        const Bytes message = numbered(size, size);
        const Request sent = simulation.send(Side::opener, message);
        Request received;
        for (int turns = 0; turns < 1000 && !(received && received->has_message()); ++turns) {
            if (!received || received->done()) received = simulation.receive(Side::acceptor);
            simulation.run_for(milliseconds(1));
        }

        ASSERT_TRUE(received->has_message()) << size;
        EXPECT_EQ(received->message(), message);
        simulation.run_for(milliseconds(5));
        EXPECT_TRUE(sent->done());
    }
    EXPECT_EQ(simulation.composition(Side::opener).micros,
              composition_of(simulation.composition(Side::opener).settings, GetParam().reach));
}

TEST_P(EachContext, CarriesAMessageWithoutBytes) {
    Simulation simulation(options_of(GetParam()));

    (void)simulation.send(Side::acceptor, {});
    simulation.run_for(milliseconds(5));
    const Request received = simulation.receive(Side::opener);

    EXPECT_TRUE(received->has_message());
    EXPECT_TRUE(received->message().empty());
}

std::string context_name(const testing::TestParamInfo<Context>& info) {
    return std::string(name(info.param.scheme)) + "_" + std::string(name(info.param.reach)) + "_" +
           std::string(name(info.param.network));
}

INSTANTIATE_TEST_SUITE_P(Simulation, EachContext, testing::ValuesIn(contexts), context_name);

TEST(Synchronous, SendEndsWhenTheProgramHasTakenTheMessage) {
    for (const Network network : {Network::ethernet, Network::infiniband}) {
        Simulation simulation(options_of({Scheme::synchronous, Reach::intra, network}));

        const Request sent = simulation.send(Side::opener, numbered(1, 100));
        simulation.run_for(milliseconds(50));
        EXPECT_FALSE(sent->done()) << "it has arrived, but nobody has taken it";
        const Request received = simulation.receive(Side::acceptor);
        simulation.run_for(milliseconds(1));

        EXPECT_TRUE(received->has_message());
        EXPECT_TRUE(sent->done());
        EXPECT_FALSE(sent->failed());
    }
}

TEST(Synchronous, ReceiveWaitsForTheNextMessage) {
    Simulation simulation(options_of({Scheme::synchronous, Reach::intra, Network::ethernet}));

    const Request first = simulation.receive(Side::acceptor), second = simulation.receive(Side::acceptor);
    simulation.run_for(milliseconds(50));
    EXPECT_FALSE(first->done());
    (void)simulation.send(Side::opener, numbered(1, 8));
    (void)simulation.send(Side::opener, numbered(2, 8));
    simulation.run_for(milliseconds(1));

    ASSERT_TRUE(second->done());
    EXPECT_EQ(number_of(first->message()), 1u);
    EXPECT_EQ(number_of(second->message()), 2u);
}

TEST(Synchronous, ReceiverThatStopsHoldsTheSenderAndNothingIsLost) {
    for (const Network network : {Network::ethernet, Network::infiniband}) {
        Simulation simulation(options_of({Scheme::synchronous, Reach::intra, network}));
        for (std::uint64_t i = 1; i <= 300; ++i) (void)simulation.send(Side::opener, numbered(i, 100'000));
        simulation.run_for(milliseconds(5000));
        const std::uint64_t before = simulation.counters(Side::acceptor).messages_received;
        EXPECT_LE(before, 65u) << "what a receiver must keep has a bound";

        for (std::uint64_t i = 1; i <= 300; ++i) {
            const Request received = simulation.receive(Side::acceptor);
            ASSERT_TRUE(simulation.run_until_done(received, simulation.now() + milliseconds(1000))) << i;
            ASSERT_EQ(number_of(received->message()), i);
            ASSERT_TRUE(intact(received->message()));
        }
    }
}

TEST(Asynchronous, TakesTheNewestOrNothing) {
    Simulation simulation(options_of({Scheme::asynchronous, Reach::intra, Network::ethernet}));

    EXPECT_FALSE(simulation.receive(Side::acceptor)->has_message());
    for (std::uint64_t i = 1; i <= 20; ++i) {
        EXPECT_TRUE(simulation.send(Side::opener, numbered(i, 100))->done());
        simulation.run_for(microseconds(100));
    }
    simulation.run_for(milliseconds(1));
    const Request newest = simulation.receive(Side::acceptor), nothing = simulation.receive(Side::acceptor);

    ASSERT_TRUE(newest->has_message());
    EXPECT_EQ(number_of(newest->message()), 20u);
    EXPECT_TRUE(nothing->done());
    EXPECT_FALSE(nothing->has_message());
}

TEST(Asynchronous, MessagesThatStillWaitAreReplaced) {
    SimulationOptions options = options_of({Scheme::asynchronous, Reach::intra, Network::ethernet});
    options.ethernet.bits_per_second = 1e7;
    Simulation simulation(options);

    for (std::uint64_t i = 1; i <= 50; ++i) (void)simulation.send(Side::opener, numbered(i, 1'000'000));
    simulation.run_for(milliseconds(4000));
    const Request newest = simulation.receive(Side::acceptor);

    ASSERT_TRUE(newest->has_message());
    EXPECT_EQ(number_of(newest->message()), 50u);
    EXPECT_TRUE(intact(newest->message()));
    EXPECT_EQ(simulation.counters(Side::opener).messages_replaced, 48u) << "all but the first and the last";
}

// A receiver five times too slow: what it takes is never older than an interval, a round trip and the transfer.
TEST(Asynchronous, AgeHasABound) {
    for (const Reach reach : {Reach::intra, Reach::inter}) {
        Simulation simulation(options_of({Scheme::asynchronous, reach, Network::ethernet}));
        const Time interval = milliseconds(1), begin = simulation.now();
        for (std::uint64_t i = 1; i <= 1000; ++i) {
            (void)simulation.send(Side::opener, numbered(i, 20'000));
            simulation.run_until(begin + static_cast<std::int64_t>(i) * interval);
            if (i % 5 != 0) continue;
            const Request newest = simulation.receive(Side::acceptor);
            ASSERT_TRUE(newest->has_message()) << i;
            EXPECT_GE(number_of(newest->message()) + 1, i) << "sent one interval ago";
        }
    }
}

TEST(Change, OfTheSchemeTakesEffectAtBothEndsAndSaysWhy) {
    for (const Network network : {Network::ethernet, Network::infiniband}) {
        Simulation simulation(options_of({Scheme::synchronous, Reach::intra, network}));

        simulation.set(Side::acceptor, Scheme::asynchronous, "inside a time step");
        simulation.run_for(milliseconds(1));

        for (const Side side : {Side::opener, Side::acceptor}) {
            EXPECT_EQ(simulation.composition(side).settings.scheme, Scheme::asynchronous);
            EXPECT_THAT(simulation.changes(side).back().reason, testing::HasSubstr("inside a time step"));
            EXPECT_EQ(simulation.changes(side).size(), 2u);
        }
    }
}

TEST(Change, ToAsynchronousWaitsForMessagesThatAreOwed) {
    Simulation simulation(options_of({Scheme::synchronous, Reach::intra, Network::ethernet}));

    const Request owed = simulation.send(Side::opener, numbered(1, 5000));
    simulation.set(Side::opener, Scheme::asynchronous, "test");
    const Request newer = simulation.send(Side::opener, numbered(2, 5000));
    EXPECT_TRUE(newer->done()) << "an asynchronous send never waits";
    simulation.run_for(milliseconds(100));
    EXPECT_EQ(simulation.composition(Side::opener).settings.scheme, Scheme::synchronous);
    const Request received = simulation.receive(Side::acceptor);
    simulation.run_for(milliseconds(10));

    EXPECT_EQ(number_of(received->message()), 1u);
    EXPECT_TRUE(owed->done());
    EXPECT_EQ(simulation.composition(Side::opener).settings.scheme, Scheme::asynchronous);
    EXPECT_EQ(number_of(simulation.receive(Side::acceptor)->message()), 2u);
}

// A message that waits for asynchronous is no barrier when the program does not want that any more.
TEST(Change, ThatIsWithdrawnLeavesNothingHeldUp) {
    Simulation simulation(options_of({Scheme::synchronous, Reach::intra, Network::ethernet}));
    (void)simulation.send(Side::opener, numbered(1, 100));
    simulation.set(Side::opener, Scheme::asynchronous, "test");
    (void)simulation.send(Side::opener, numbered(2, 100));
    simulation.set(Side::opener, Scheme::synchronous, "test");
    const Request owed = simulation.send(Side::opener, numbered(3, 100));

    for (std::uint64_t i = 1; i <= 3; ++i) {
        const Request received = simulation.receive(Side::acceptor);
        ASSERT_TRUE(simulation.run_until_done(received, simulation.now() + milliseconds(100)));
        EXPECT_EQ(number_of(received->message()), i);
    }
    simulation.run_for(milliseconds(1));
    EXPECT_TRUE(owed->done());
}

// Asynchronous waits for the other end; meanwhile the program goes back, sends, and asks for asynchronous again. The
// answer that then comes is to the first of its wishes.
TEST(Change, ThatOvertakesAnotherLeavesNothingOwed) {
    Simulation simulation(options_of({Scheme::synchronous, Reach::intra, Network::ethernet}));
    (void)simulation.send(Side::acceptor, numbered(1, 100));
    simulation.set(Side::opener, Scheme::asynchronous, "test");
    simulation.run_for(milliseconds(5));

    EXPECT_EQ(number_of(simulation.receive(Side::opener)->message()), 1u);
    simulation.set(Side::opener, Scheme::synchronous, "test");
    const Request owed = simulation.send(Side::opener, numbered(2, 100));
    simulation.set(Side::opener, Scheme::asynchronous, "test");
    simulation.run_for(milliseconds(50));
    const Request received = simulation.receive(Side::acceptor);
    simulation.run_for(milliseconds(50));

    ASSERT_TRUE(received->has_message());
    EXPECT_EQ(number_of(received->message()), 2u);
    EXPECT_TRUE(owed->done());
    for (const Side side : {Side::opener, Side::acceptor})
        EXPECT_EQ(simulation.composition(side).settings.scheme, Scheme::asynchronous);
}

TEST(Change, StallsForARoundTripAtMost) {
    Simulation simulation(options_of({Scheme::synchronous, Reach::inter, Network::ethernet}));
    simulation.set(Side::opener, Controller::cubic, "test");
    const Time begin = simulation.now();

    (void)simulation.send(Side::opener, numbered(1, 100));
    const Request received = simulation.receive(Side::acceptor);
    ASSERT_TRUE(simulation.run_until_done(received, begin + milliseconds(10)));

    EXPECT_LE(simulation.now() - begin, microseconds(2 * 60 + 50 + 20))
        << "control channel there and back, and the way";
    EXPECT_EQ(simulation.composition(Side::acceptor).settings.controller, Controller::cubic);
}

TEST(Failover, LeavesInfiniBandAndComesBackWhenItHasSettled) {
    Simulation simulation(options_of({Scheme::synchronous, Reach::intra, Network::infiniband}));
    for (std::uint64_t i = 1; i <= 20; ++i) (void)simulation.send(Side::opener, numbered(i, 50'000));
    simulation.run_for(microseconds(300));

    simulation.stop_infiniband();
    simulation.run_for(milliseconds(2));
    EXPECT_EQ(simulation.composition(Side::acceptor).settings.network, Network::ethernet);
    EXPECT_THAT(simulation.changes(Side::opener).back().reason, testing::HasSubstr("does not work any more"));
    simulation.return_infiniband();
    simulation.run_for(milliseconds(10));
    EXPECT_EQ(simulation.composition(Side::acceptor).settings.network, Network::ethernet) << "not at once";
    simulation.run_for(milliseconds(20));
    EXPECT_EQ(simulation.composition(Side::acceptor).settings.network, Network::infiniband);

    for (std::uint64_t i = 1; i <= 20; ++i) {
        const Request received = simulation.receive(Side::acceptor);
        ASSERT_TRUE(simulation.run_until_done(received, simulation.now() + milliseconds(100)));
        EXPECT_EQ(number_of(received->message()), i);
        EXPECT_TRUE(intact(received->message()));
    }
}

TEST(Sealed, SessionsCarryMessagesThroughChanges) {
    SimulationOptions options = options_of({Scheme::synchronous, Reach::inter, Network::ethernet});
    options.key = "a key";
    options.settings.sealed = true;
    options.ethernet.loss = 0.02;
    Simulation simulation(options);

    for (std::uint64_t i = 1; i <= 50; ++i) {
        (void)simulation.send(Side::opener, numbered(i, 3000));
        if (i % 10 == 0) simulation.set(Side::opener, i % 20 == 0 ? Controller::cubic : Controller::delay, "test");
        const Request received = simulation.receive(Side::acceptor);
        ASSERT_TRUE(simulation.run_until_done(received, simulation.now() + milliseconds(5000)));
        EXPECT_EQ(received->message(), numbered(i, 3000));
    }
    EXPECT_GE(simulation.counters(Side::opener).changes, 4u);
}

TEST(Close, EndsBothSides) {
    Simulation simulation(options_of({Scheme::synchronous, Reach::intra, Network::ethernet}));
    const Request waiting = simulation.receive(Side::acceptor);
    const Request owed = simulation.send(Side::acceptor, numbered(1, 8));

    simulation.close(Side::opener, "all is done");
    simulation.run_for(milliseconds(1));

    EXPECT_TRUE(waiting->failed());
    EXPECT_TRUE(owed->failed());
    EXPECT_THAT(simulation.ended(Side::acceptor), testing::HasSubstr("all is done"));
    EXPECT_TRUE(simulation.send(Side::acceptor, numbered(2, 8))->failed());
}

TEST(Options, ThatCannotBeAreRefused) {
    SimulationOptions options;
    options.settings.sealed = true;
    EXPECT_THROW(Simulation{options}, UsageError);
    options.settings.sealed = false;
    options.settings.network = Network::infiniband;
    EXPECT_THROW(Simulation{options}, UsageError);
}

}  // namespace
}  // namespace loom::session
