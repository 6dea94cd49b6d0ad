// Sessions on this machine: sockets, threads and the software HCA.
#include "loom/session/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <future>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/session/status.hpp"
#include "session/control/opening.hpp"
#include "session/stack/bytes.hpp"
#include "session/streams.hpp"
#include "support/network/namespaces.hpp"
#include "support/process.hpp"
#include "support/relay/relay.hpp"

namespace loom::session {
namespace {

using loom::test::TwoHosts;
using test::intact;
using test::number_of;
using test::numbered;
using testing::HasSubstr;

constexpr Time patience = milliseconds(20'000);

[[maybe_unused]] const bool soft = [] { return setenv("LOOM_HCA", "soft", 1) == 0; }();

struct Both {
    std::unique_ptr<Session> opener, acceptor;
};

Both connect(const Options& options, const Options& acceptors) {
    Listener listener("127.0.0.1:0", acceptors);
    Both both;
    auto accepted = std::async(std::launch::async, [&] { return listener.accept(patience); });
    both.opener = Session::open("127.0.0.1:" + std::to_string(listener.port()), options, patience);
    both.acceptor = accepted.get();
    return both;
}

Both connect(const Options& options) {
    return connect(options, options);
}

// An asynchronous receive until there is something new.
Bytes newest(Session& session, std::uint64_t at_least) {
    const Time limit = now() + patience;
    Bytes message;
    while (now() < limit)
        if (session.receive(message, limit) == Outcome::done && number_of(message) >= at_least) return message;
    ADD_FAILURE() << "nothing came";
    return {};
}

class ContextHere : public testing::TestWithParam<Context> {};

TEST_P(ContextHere, IsReachedFromOutsideAndCarriesMessages) {
    const Context context = GetParam();
    Options options;
    options.scheme = context.scheme;
    options.infiniband = context.network == Network::infiniband;
    options.cluster = "north";
    Options others = options;
    if (context.reach == Reach::inter) others.cluster = "south";

    Both both = connect(options, others);

    for (Session* each : {both.opener.get(), both.acceptor.get()}) {
        const Composition composition = each->composition();
        EXPECT_EQ(composition.context(), context) << composition.why;
        EXPECT_EQ(composition.micros, composition_of(composition.settings, context.reach));
        EXPECT_NE(composition.why, "");
    }
    std::uint64_t number = 0;
    for (const std::size_t size : {std::size_t{8}, std::size_t{5000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
        const Bytes message = numbered(++number, size);
        Bytes received;
        if (context.scheme == Scheme::synchronous) {
            const Request sent = both.opener->start_send(message);
            ASSERT_EQ(both.acceptor->receive(received, now() + patience), Outcome::done);
            ASSERT_EQ(both.opener->wait(sent, now() + patience), Outcome::done);
        } else {
            ASSERT_EQ(both.opener->send(message), Outcome::done);
            received = newest(*both.acceptor, number);
        }
        EXPECT_EQ(received, message) << size;
    }
    EXPECT_TRUE(both.opener->close(now() + patience));
    EXPECT_THAT(both.opener->ended(), HasSubstr("closed here"));
}

std::string context_name(const testing::TestParamInfo<Context>& info) {
    return std::string(name(info.param.scheme)) + "_" + std::string(name(info.param.reach)) + "_" +
           std::string(name(info.param.network));
}

INSTANTIATE_TEST_SUITE_P(OnThisMachine, ContextHere, testing::ValuesIn(contexts), context_name);

TEST(OnThisMachine, WholeMessagesGoInBlocksThatTheAdapterCuts) {
    Options options;
    options.whole_messages = true;
    Both both = connect(options);
    const Bytes message = numbered(1, 524'288);

    const Request sent = both.opener->start_send(message);
    Bytes received;
    ASSERT_EQ(both.acceptor->receive(received, now() + patience), Outcome::done);

    EXPECT_EQ(received, message);
    EXPECT_EQ(both.opener->wait(sent, now() + patience), Outcome::done);
    EXPECT_LE(both.acceptor->counters().segments_received, 4u) << "a plane of 512 KiB, which is 65 segments otherwise";
}

TEST(OnThisMachine, SchemeAndControllerChangeWhileItRuns) {
    for (const bool infiniband : {true, false}) {
        Options options;
        options.infiniband = infiniband;
        Both both = connect(options);
        std::uint64_t number = 0;
        Session &from = *both.opener, &to = *both.acceptor;
        for (int i = 0; i < 5; ++i) {
            const Request sent = from.start_send(numbered(++number, 3000));
            Bytes received;
            ASSERT_EQ(to.receive(received, now() + patience), Outcome::done);
            ASSERT_EQ(number_of(received), number);
            ASSERT_EQ(from.wait(sent, now() + patience), Outcome::done);
        }
        from.set(Scheme::asynchronous, "inside a time step");
        ASSERT_EQ(from.send(numbered(++number, 3000)), Outcome::done);
        ASSERT_EQ(number_of(newest(to, number)), number);
        const std::uint64_t before = from.counters().changes;
        from.set(Scheme::synchronous, "the end of a time step");
        from.set(Controller::cubic);
        const Time limit = now() + patience;
        while (from.counters().changes < before + 2 && now() < limit)
            (void)from.wait(from.start_receive(), now() + milliseconds(1));

        EXPECT_EQ(from.composition().settings.scheme, Scheme::synchronous);
        EXPECT_EQ(from.composition().settings.controller, Controller::cubic);
    }
}

TEST(OnThisMachine, DeadlinesPassAndTheRequestGoesOn) {
    Both both = connect({});

    const Request receive = both.acceptor->start_receive();
    EXPECT_EQ(both.acceptor->wait(receive, now() + milliseconds(5)), Outcome::late);
    const Request sent = both.opener->start_send(numbered(1, 100));
    EXPECT_EQ(both.acceptor->wait(receive, now() + patience), Outcome::done);

    EXPECT_EQ(number_of(receive->message()), 1u);
    EXPECT_EQ(both.opener->wait(sent, now() + patience), Outcome::done);
    const Request never_taken = both.opener->start_send(numbered(2, 100));
    EXPECT_EQ(both.opener->wait(never_taken, now() + milliseconds(5)), Outcome::late);
    EXPECT_FALSE(both.opener->close(now() + milliseconds(5))) << "it was not taken in time";
}

TEST(OnThisMachine, MessagesThatAreTooLongAreRefused) {
    Options options, others;
    others.most_message = 1000;
    Both both = connect(options, others);
    EXPECT_THROW((void)both.opener->start_send(Bytes(1001)), UsageError);
    EXPECT_NO_THROW((void)both.opener->start_send(Bytes(1000)));
}

TEST(Keys, AreAskedForAndMustBeTheSame) {
    Options with, other, without;
    with.key = "a key";
    other.key = "another key";
    for (const auto& [opener, acceptor] :
         {std::pair(with, without), std::pair(without, with), std::pair(with, other)}) {
        Listener listener("127.0.0.1:0", acceptor);
        auto accepted =
            std::async(std::launch::async, [&] { EXPECT_THROW((void)listener.accept(milliseconds(1500)), IoError); });
        EXPECT_THROW((void)Session::open("127.0.0.1:" + std::to_string(listener.port()), opener, patience), Error);
        accepted.get();
        EXPECT_THAT(listener.last_refusal(), HasSubstr("key"));
    }
    with.cluster = "north";
    Options far = with;
    far.cluster = "south";
    Both both = connect(with, far);
    EXPECT_TRUE(both.opener->composition().settings.sealed);
    const Request sent = both.opener->start_send(numbered(1, 50'000));
    Bytes received;
    ASSERT_EQ(both.acceptor->receive(received, now() + patience), Outcome::done);
    EXPECT_EQ(received, numbered(1, 50'000));
}

TEST(Listener, PassesOverThoseWhoDoNotOpenASession) {
    Listener listener("127.0.0.1:0");
    const std::string address = "127.0.0.1:" + std::to_string(listener.port());
    auto accepted = std::async(std::launch::async, [&] { return listener.accept(patience); });
    for (const char* words : {"GET / HTTP/1.0\r\n\r\n", "", "\xff\xff\xff\xff"}) {
        const ControlSocket stranger = ControlSocket::connect(parse_address(address, false), now() + patience);
        ASSERT_GE(::send(stranger.number(), words, std::strlen(words), MSG_NOSIGNAL), 0);
    }

    const auto opener = Session::open(address, {}, patience);
    const auto acceptor = accepted.get();

    EXPECT_NE(acceptor, nullptr);
    EXPECT_NE(listener.last_refusal(), "");
}

TEST(Listener, SaysWhenNobodyComes) {
    Listener listener("127.0.0.1:0");
    EXPECT_THROW((void)listener.accept(milliseconds(5)), IoError);
    EXPECT_THROW((void)Session::open("127.0.0.1:1", {}, milliseconds(500)), IoError);
    for (const char* address : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "no.such.host.invalid:1"})
        EXPECT_THROW((void)Session::open(address, {}, milliseconds(500)), UsageError) << address;
}

// What no end may say in the middle of a session ends it, with a reason.
TEST(Hostile, WordsOnTheControlChannelEndTheSession) {
    Listener listener("127.0.0.1:0");
    for (const Bytes& words :
         {encode(Begin{true}), encode(Ready{}), encode(Propose{}), Bytes(4, std::byte{255}), Bytes(2000)}) {
        auto accepted = std::async(std::launch::async, [&] { return listener.accept(patience); });
        ControlSocket control = ControlSocket::connect(
            parse_address("127.0.0.1:" + std::to_string(listener.port()), false), now() + patience);
        Hello hello = hello_of({});
        hello.segment_bytes = 1400;
        (void)greet(control, true, hello, "", now() + patience);
        control.say(Begin{});
        (void)control.hear_until(now() + patience);
        const auto session = accepted.get();
        std::array<std::byte, 2> length;
        put<2>(length.data(), words.size());
        (void)::send(control.number(), length.data(), 2, MSG_NOSIGNAL);
        (void)::send(control.number(), words.data(), words.size(), MSG_NOSIGNAL);

        const Request waiting = session->start_receive();
        const Outcome outcome = session->wait(waiting, now() + milliseconds(300));

        if (words.size() == encode(Ready{}).size() || words.size() == encode(Propose{}).size())
            EXPECT_EQ(outcome, Outcome::late) << "late words of a change that is over are passed over";
        else
            EXPECT_EQ(outcome, Outcome::over);
    }
}

TEST(Death, OfThePeerIsToldInBoundedTime) {
    constexpr int rounds = 10;
    for (int round = 0; round < rounds; ++round) {
        int pipes[2];
        ASSERT_EQ(pipe(pipes), 0);
        const pid_t child = fork();
        if (child == 0) {  // listens, accepts and says nothing more
            alarm(60);
            try {
                Listener listener("127.0.0.1:0");
                const std::uint16_t port = listener.port();
                if (write(pipes[1], &port, sizeof port) != sizeof port) _exit(1);
                const auto session = listener.accept(patience);
                for (;;) pause();
            } catch (const std::exception&) {
                _exit(1);
            }
        }
        std::uint16_t port = 0;
        ASSERT_EQ(read(pipes[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
        Options options;
        options.infiniband = round % 2 == 0;
        {
            const auto session = Session::open("127.0.0.1:" + std::to_string(port), options, patience);
            const Request send = session->start_send(numbered(1, round % 3 == 0 ? 2'000'000 : 100));
            const Request receive = session->start_receive();

            kill(child, SIGKILL);

            EXPECT_EQ(session->wait(receive, now() + patience), Outcome::over);
            EXPECT_EQ(session->wait(send, now() + patience), Outcome::over);
            EXPECT_NE(session->ended(), "");
        }
        int status = 0;
        waitpid(child, &status, 0);
        close(pipes[0]);
        close(pipes[1]);
    }
}

TEST(Files, TraceAndStatusSayWhatRuns) {
    const loom::test::TemporaryFolder folder;
    Options options;
    options.trace = folder.file("trace.qlog");
    options.status = folder.file("status");
    options.infiniband = false;
    std::vector<std::string> reasons;
    options.changed = [&](const Change& change) { reasons.push_back(change.reason); };
    Options others;
    others.infiniband = false;
    {
        Both both = connect(options, others);
        const Request sent = both.opener->start_send(numbered(1, 10'000));
        Bytes received;
        ASSERT_EQ(both.acceptor->receive(received, now() + patience), Outcome::done);
        both.opener->set(Controller::cubic, "to see it");
        const Time limit = now() + patience;
        while (both.opener->counters().changes == 0 && now() < limit)
            (void)both.opener->wait(both.opener->start_receive(), now() + milliseconds(1));

        const auto statuses = read_statuses(options.status);

        ASSERT_EQ(statuses.size(), 1u);
        EXPECT_TRUE(statuses[0].alive);
        EXPECT_EQ(statuses[0].process, getpid());
        EXPECT_THAT(statuses[0].text, HasSubstr("synchronous"));
        std::ofstream(folder.file("status") + "/broken.session") << "{";
        EXPECT_EQ(read_statuses(options.status).size(), 1u);
    }
    const std::string trace = loom::test::slurp(options.trace);
    EXPECT_THAT(trace, HasSubstr("\"qlog_format\":\"JSON-SEQ\""));
    EXPECT_THAT(trace, HasSubstr("transport:packet_sent"));
    EXPECT_THAT(trace, HasSubstr("to see it"));
    EXPECT_EQ(reasons.size(), 2u);
    EXPECT_TRUE(read_statuses(options.status).empty()) << "gone with the session";
    EXPECT_TRUE(read_statuses(folder.file("nowhere")).empty());
}

class BetweenHosts : public testing::Test {
protected:
    void SetUp() override {
        if (!loom::test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    }
    static Both connect(const TwoHosts& hosts, const Options& options, const Options& acceptors) {
        Both both;
        std::unique_ptr<Listener> listener;
        hosts.right.inside(
            [&] { listener = std::make_unique<Listener>(std::string(TwoHosts::right_address) + ":0", acceptors); });
        auto accepted = std::async(std::launch::async,
                                   [&] { hosts.right.inside([&] { both.acceptor = listener->accept(patience); }); });
        hosts.left.inside([&] {
            both.opener = Session::open(std::string(TwoHosts::right_address) + ":" + std::to_string(listener->port()),
                                        options, patience);
        });
        accepted.get();
        return both;
    }
};

TEST_F(BetweenHosts, EverythingArrivesInOrderOverABadWire) {
    const TwoHosts hosts(TwoHosts::Join::through_relay);
    loom::test::Faults faults;
    faults.loss = 0.05;
    faults.reorder = 0.02;
    faults.duplicate = 0.02;
    std::unique_ptr<loom::test::Relay> relay;
    hosts.middle.inside(
        [&] { relay = std::make_unique<loom::test::Relay>(TwoHosts::relay_left, TwoHosts::relay_right, faults); });
    for (const bool inter : {false, true}) {
        Options options;
        options.infiniband = false;
        options.selective = inter;
        options.controller = Controller::cubic;
        options.cluster = "north";
        Options others = options;
        others.cluster = inter ? "south" : "north";
        Both both = connect(hosts, options, others);
        EXPECT_EQ(both.opener->composition().place, inter ? Place::elsewhere : Place::cluster);

        std::vector<Request> sent;
        for (std::uint64_t i = 1; i <= 60; ++i) sent.push_back(both.opener->start_send(numbered(i, 20'000)));
        for (std::uint64_t i = 1; i <= 60; ++i) {
            Bytes received;
            ASSERT_EQ(both.acceptor->receive(received, now() + patience), Outcome::done) << both.acceptor->ended();
            ASSERT_EQ(number_of(received), i);
            ASSERT_TRUE(intact(received));
        }

        for (const Request& each : sent) EXPECT_EQ(both.opener->wait(each, now() + patience), Outcome::done);
        EXPECT_GT(both.opener->counters().segments_again, 0u);
    }
}

}  // namespace
}  // namespace loom::session
