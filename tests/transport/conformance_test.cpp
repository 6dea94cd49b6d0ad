// The cases that every transport must pass, over those that need nothing but this program.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>

#include "conformance/cases.hpp"
#include "conformance/kit.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"
#include "support/network/namespaces.hpp"

namespace loom::transport {
namespace {

class Conformance : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Conformance, Local) {
    EXPECT_NO_THROW(run_local(GetParam(), [](Transport& transport) { conformance::run_all(transport); }));
}

using Settings = std::vector<std::pair<const char*, const char*>>;

Launch over_verbs(std::uint32_t ranks, std::function<void(Transport&)> act, const Settings& settings = {}) {
    Launch job;
    job.ranks = ranks;
    job.grace = std::chrono::seconds(2);
    job.timeout = std::chrono::seconds(200);
    job.body = [act = std::move(act), settings](Rank) {
        for (const auto& [name, value] : settings) setenv(name, value, 1);
        const auto bootstrap = find_bootstrap();
        {
            const auto transport = open_verbs(*bootstrap);
            act(*transport);
            bootstrap->fence();
        }
        bootstrap->finished();
        return 0;
    };
    return job;
}

void all_cases(Transport& transport) {
    conformance::run_all(transport);
}

TEST_P(Conformance, Verbs) {
    EXPECT_EQ(launch(over_verbs(GetParam(), all_cases)).exit_code(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Conformance, testing::Values(1, 2, 3, 5, 8, 16));

// Rings so small that they wrap and run out of credit all the time; no eager messages; next to no early ones; every
// registration anew; every rank talked to as if it were on another host.
TEST(ConformanceOfSettings, Verbs) {
    for (const Settings& settings :
         {Settings{{"LOOM_RING", "4096"}, {"LOOM_EAGER", "1024"}}, Settings{{"LOOM_EAGER", "0"}},
          Settings{{"LOOM_EARLY", "0"}}, Settings{{"LOOM_EARLY", "3000"}, {"LOOM_RING", "4096"}},
          Settings{{"LOOM_EARLY", "1000"}, {"LOOM_RING", "4096"}},
          Settings{{"LOOM_EARLY", "6000"}, {"LOOM_RING", "8192"}},
          Settings{{"LOOM_EARLY", "0"}, {"LOOM_HOSTS", "each"}}, Settings{{"LOOM_REGISTRATION_CACHE", "off"}},
          Settings{{"LOOM_HOSTS", "each"}},
          Settings{{"LOOM_HOSTS", "each"}, {"LOOM_RING", "4096"}, {"LOOM_EAGER", "1024"}}})
        EXPECT_EQ(launch(over_verbs(3, all_cases, settings)).exit_code(), 0) << settings.front().first;
}

// Ranks on two hosts, RoCEv2 between them. Needs root, for the hosts.
Launch between_hosts(Launch job, const test::TwoHosts& hosts, std::function<bool(Rank)> is_left) {
    job.body = [body = job.body, &hosts, is_left = std::move(is_left)](Rank me) {
        const bool left = is_left(me);
        if (setns((left ? hosts.left : hosts.right).descriptor(), CLONE_NEWNET) != 0) return 5;
        const std::string address = left ? test::TwoHosts::left_address : test::TwoHosts::right_address;
        setenv("LOOM_VERBS_HCAS", ("roce:" + address).c_str(), 1);
        return body(me);
    };
    return job;
}

TEST(ConformanceBetweenHosts, Verbs) {
    if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    const test::TwoHosts hosts;

    EXPECT_EQ(
        launch(between_hosts(over_verbs(4, all_cases), hosts, [](Rank me) { return me.value % 2 == 0; })).exit_code(),
        0);
}

// Both go through one socket, which the long one keeps full.
TEST(ConformanceBetweenHosts, AShortMessageDoesNotWaitForTheEndOfALongOneToAnother) {
    if (!test::may_make_namespaces()) GTEST_SKIP() << "network namespaces need root";
    const test::TwoHosts hosts(test::TwoHosts::Join::cable, 4200, test::Offloads::on);
    hosts.left.shape(test::TwoHosts::interface, "200mbit");
    const auto act = [](Transport& transport) {
        constexpr std::size_t much = 12 << 20, little = 256 << 10;
        conformance::barrier(transport);
        conformance::Operations operations(transport);
        if (transport.rank() == Rank{0}) {
            const conformance::Bytes data(much);
            const conformance::Operation& longer = operations.send(Rank{1}, 1, data);
            // A tenth of its time, so that the socket is full.
            const auto begun = std::chrono::steady_clock::now();
            conformance::drive(
                transport, [&] { return std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(50); });
            const conformance::Operation& shorter =
                operations.send(Rank{2}, 1, conformance::Bytes(data.begin(), data.begin() + little));
            conformance::drive(transport, [&] { return shorter.finished(); });
            conformance::require(!longer.finished(), "the long one was over first");
        } else {
            operations.receive(Rank{0}, 1, transport.rank() == Rank{1} ? much : little);
        }
        operations.wait();
    };

    EXPECT_EQ(launch(between_hosts(over_verbs(3, act), hosts, [](Rank me) { return me == Rank{0}; })).exit_code(), 0);
}

// Whatever the others wait for, they are told.
TEST(DeadRank, IsAnErrorAtTheOthers) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20})
        for (const bool sends : {false, true}) {
            const LaunchOutcome outcome = launch(over_verbs(4, [=](Transport& transport) {
                conformance::barrier(transport);
                if (transport.rank() == Rank{1}) raise(SIGKILL);
                conformance::Operations operations(transport);
                const conformance::Bytes data(bytes);
                while (true) {  // small sends to a dead rank may still find room
                    const conformance::Operation& one =
                        sends ? operations.send(Rank{1}, 1, data) : operations.receive(Rank{1}, 1, bytes);
                    operations.wait();
                    if (one.message.outcome == Message::Outcome::lost) break;
                }
                const std::string why = loss_of(Rank{1}, transport).what();
                // The reason is that of the first who was lost: one of those who heard of it before us may have been.
                if (transport.lost() != Rank{1} ? why != "rank 1 is gone"
                                                : why != "rank 1 is gone: it ended" &&
                                                      !why.starts_with("rank 1 is gone: it can no longer be reached"))
                    std::_Exit(3);
                throw RankLost(*transport.lost(), "as it should be");
            }));

            EXPECT_NE(outcome.exit_code(), 0);
            EXPECT_EQ(outcome.ranks[1].signal, SIGKILL);
            for (const std::uint32_t rank : {0, 2, 3}) EXPECT_EQ(outcome.ranks[rank].exit_code, 1) << rank;
        }
}

}  // namespace
}  // namespace loom::transport
