#include "loom/transport/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/transport/bootstrap.hpp"
#include "support/process.hpp"
#include "transport/launch/packet.hpp"

namespace loom::transport {
namespace {

using namespace std::chrono_literals;

Launch processes(std::uint32_t ranks, std::function<int(Rank)> body) {
    Launch job;
    job.ranks = ranks;
    job.body = std::move(body);
    job.grace = 10s;  // nobody should need it
    job.timeout = 60s;
    return job;
}

Launch program(std::uint32_t ranks, const std::string& script) {
    Launch job;
    job.ranks = ranks;
    job.program = {"sh", "-c", script};
    job.timeout = 60s;
    return job;
}

std::string text_of(Rank rank, unsigned round) {
    return std::string(1000 * round + rank.value, static_cast<char>('a' + rank.value % 26)) + std::string("\0\n", 2);
}

TEST(Launch, EveryRankSeesWhatTheOthersHavePut) {
    const LaunchOutcome outcome = launch(processes(5, [](Rank me) {
        const auto bootstrap = find_bootstrap();
        if (bootstrap->name() != "launcher" || bootstrap->rank() != me || bootstrap->size() != 5) return 3;
        for (unsigned round = 0; round < 20; ++round) {
            bootstrap->put("address", text_of(me, round));
            bootstrap->fence();
            for (std::uint32_t other = 0; other < bootstrap->size(); ++other)
                if (bootstrap->get(Rank{other}, "address") != text_of(Rank{other}, round)) return 4;
            bootstrap->fence();
        }
        bootstrap->finished();
        return 0;
    }));

    EXPECT_EQ(outcome.exit_code(), 0);
    EXPECT_FALSE(outcome.first_failed);
    for (const RankEnd& end : outcome.ranks) EXPECT_TRUE(end.joined && !end.unfinished);
}

TEST(Launch, AMissingKeyAndAMissingRankAreErrors) {
    const LaunchOutcome outcome = launch(processes(2, [](Rank) {
        const auto bootstrap = find_bootstrap();
        bootstrap->fence();
        for (const Rank who : {Rank{1}, Rank{7}}) try {
                (void)bootstrap->get(who, "nothing");
                return 3;
            } catch (const BootstrapError&) {
            }
        bootstrap->fence();
        return 0;
    }));

    EXPECT_EQ(outcome.exit_code(), 0);
}

TEST(Launch, AValueThatIsTooLongIsAnError) {
    const LaunchOutcome outcome = launch(processes(1, [](Rank) {
        const auto bootstrap = find_bootstrap();
        try {
            bootstrap->put("long", std::string(65537, 'x'));
        } catch (const BootstrapError&) {
            return 0;
        }
        return 3;
    }));

    EXPECT_EQ(outcome.exit_code(), 0);
}

// Right by chance, and with a meaning: others would wait for less, or answers come that nobody can tell from later
// ones.
bool means_something(const std::string& bytes) {
    try {
        const launching::Kind kind = launching::decode(bytes).kind;
        return kind == launching::Kind::fence || kind == launching::Kind::hello;
    } catch (const BootstrapError&) {
        return false;
    }
}

// Packets that are nearly right, too short, or too long; then what they were answered, up to the answer to a hello.
void talk_nonsense(int socket) {
    using launching::Kind;
    Random random(5);
    const std::string valid = launching::encode({.kind = Kind::put, .key = "k", .value = "value"});
    std::vector<char> answer(launching::most_packet_bytes);
    for (int i = 0; i < 2000; ++i) {
        std::string bytes = valid;
        if (random.below(2) == 0) bytes.resize(1 + random.below(100));
        for (unsigned changes = random.below(4); changes > 0; --changes)
            bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<char>(random());
        if (means_something(bytes)) continue;
        if (send(socket, bytes.data(), bytes.size(), 0) < 0) throw Error("the launcher is gone");
        while (recv(socket, answer.data(), answer.size(), MSG_DONTWAIT) > 0) {
        }
    }
    for (const std::string& bytes : {std::string(150'000, 'x'), launching::encode({.kind = Kind::hello})})
        if (send(socket, bytes.data(), bytes.size(), 0) < 0) throw Error("the launcher is gone");
    while (true) {
        const ssize_t bytes = recv(socket, answer.data(), answer.size(), 0);
        if (bytes <= 0) throw Error("the launcher is gone");
        if (launching::decode({answer.data(), static_cast<std::size_t>(bytes)}).kind == Kind::welcome) return;
    }
}

// It is told, the launcher lives, and the others go on.
TEST(Launch, ARankThatTalksNonsenseHarmsNobody) {
    const LaunchOutcome outcome = launch(processes(3, [](Rank me) {
        if (me == Rank{1}) talk_nonsense(std::atoi(std::getenv("LOOM_RUN")));
        const auto bootstrap = find_bootstrap();
        bootstrap->put("number", std::to_string(me.value));
        bootstrap->fence();
        for (std::uint32_t other = 0; other < 3; ++other)
            if (bootstrap->get(Rank{other}, "number") != std::to_string(other)) return 5;
        bootstrap->fence();
        bootstrap->finished();
        return 0;
    }));

    EXPECT_EQ(outcome.exit_code(), 0);
}

TEST(Launch, ARankKilledBeforeAFenceIsAnErrorAtTheOthers) {
    const LaunchOutcome outcome = launch(processes(4, [](Rank me) {
        const auto bootstrap = find_bootstrap();
        bootstrap->fence();
        if (me == Rank{2}) raise(SIGKILL);
        try {
            bootstrap->fence();
        } catch (const BootstrapError& error) {
            return std::string(error.what()) == "rank 2 was killed by signal 9 (Killed)" ? 5 : 6;
        }
        return 0;
    }));

    EXPECT_EQ(outcome.exit_code(), 128 + SIGKILL);
    EXPECT_EQ(outcome.first_failed, Rank{2});
    for (const std::uint32_t rank : {0, 1, 3}) EXPECT_EQ(outcome.ranks[rank].exit_code, 5);
}

// Peers may hear of a kill before the system has taken the killed process down.
TEST(Launch, AKilledRankCountsBeforeOneThatEndedEarlier) {
    const LaunchOutcome outcome = launch(processes(2, [](Rank me) {
        const auto bootstrap = find_bootstrap();
        bootstrap->fence();
        if (me == Rank{0}) return 7;
        while (!bootstrap->lost()) std::this_thread::yield();
        raise(SIGKILL);
        return 0;
    }));

    EXPECT_EQ(outcome.exit_code(), 128 + SIGKILL);
    EXPECT_EQ(outcome.first_failed, Rank{1});
}

TEST(Launch, LostTellsOfARankThatEndsUnfinished) {
    for (const bool killed : {true, false}) {
        const LaunchOutcome outcome = launch(processes(3, [killed](Rank me) {
            const auto bootstrap = find_bootstrap();
            bootstrap->fence();
            if (me == Rank{1} && killed) raise(SIGKILL);
            if (me == Rank{1}) return 0;
            while (!bootstrap->lost()) std::this_thread::yield();
            const bool right = bootstrap->lost() == Rank{1};
            bootstrap->finished();
            return right ? 0 : 3;
        }));

        EXPECT_EQ(outcome.exit_code(), killed ? 137 : 0);
        EXPECT_TRUE(outcome.ranks[1].unfinished);
        EXPECT_EQ(outcome.ranks[0].exit_code, 0);
        EXPECT_EQ(outcome.ranks[2].exit_code, 0);
    }
}

TEST(Launch, AFinishedRankIsNoLoss) {
    const LaunchOutcome outcome = launch(processes(2, [](Rank me) {
        const auto bootstrap = find_bootstrap();
        const pid_t partner = [&] {
            bootstrap->put("pid", std::to_string(getpid()));
            bootstrap->fence();
            return static_cast<pid_t>(std::stoi(bootstrap->get(Rank{1 - me.value}, "pid")));
        }();
        if (me == Rank{1}) {
            bootstrap->finished();
            return 0;
        }
        while (kill(partner, 0) == 0) std::this_thread::yield();  // reaped: the launcher knows
        try {
            bootstrap->fence();
            return 3;
        } catch (const BootstrapError&) {
        }
        return bootstrap->lost() ? 4 : 0;
    }));

    EXPECT_EQ(outcome.exit_code(), 0);
}

TEST(Launch, ARankThatNeverComesIsWaitedForOnlySoLong) {
    ASSERT_EQ(setenv("LOOM_BOOTSTRAP_TIMEOUT", "0.05", 1), 0);
    Launch job = processes(2, [](Rank me) {
        const auto bootstrap = find_bootstrap();
        if (me == Rank{1}) {
            pause();
            return 0;
        }
        try {
            bootstrap->fence();
        } catch (const BootstrapError&) {
            return 7;
        }
        return 0;
    });
    job.grace = 0s;

    const LaunchOutcome outcome = launch(job);

    unsetenv("LOOM_BOOTSTRAP_TIMEOUT");
    EXPECT_EQ(outcome.exit_code(), 7);
    EXPECT_EQ(outcome.ranks[1].signal, SIGTERM);
}

TEST(Launch, BootstrapsOfOneProcessComeOneAfterAnother) {
    const LaunchOutcome outcome = launch(processes(2, [](Rank) {
        for (int round = 0; round < 3; ++round) {
            const auto bootstrap = find_bootstrap();
            try {
                (void)find_bootstrap();
                return 3;
            } catch (const BootstrapError&) {
            }
            bootstrap->fence();
            bootstrap->finished();
        }
        return 0;
    }));

    EXPECT_EQ(outcome.exit_code(), 0);
}

TEST(Launch, ProgramsSeeTheirRank) {
    const test::TemporaryFolder folder;
    const LaunchOutcome outcome =
        launch(program(3, "echo $LOOM_RANK of $LOOM_SIZE > " + folder.file("rank") + "$LOOM_RANK"));

    EXPECT_EQ(outcome.exit_code(), 0);
    EXPECT_EQ(test::slurp(folder.file("rank2")), "2 of 3\n");
    EXPECT_FALSE(outcome.ranks[0].joined);
}

TEST(Launch, OthersAreStoppedAfterTheGrace) {
    Launch job = program(3, "if [ $LOOM_RANK = 1 ]; then exit 9; fi; trap '' TERM; while :; do sleep 30; done");
    job.grace = 10ms;

    const LaunchOutcome outcome = launch(job);

    EXPECT_EQ(outcome.exit_code(), 9);
    EXPECT_EQ(outcome.first_failed, Rank{1});
    EXPECT_EQ(outcome.ranks[0].signal, SIGKILL);
    EXPECT_EQ(outcome.ranks[2].signal, SIGKILL);
}

TEST(Launch, NothingIsLeftOfAProcessGroup) {
    const test::TemporaryFolder folder;
    const LaunchOutcome outcome = launch(program(2, "sleep 1000 & echo $! > " + folder.file("pid") + "$LOOM_RANK"));

    EXPECT_EQ(outcome.exit_code(), 0);
    for (const char* name : {"pid0", "pid1"}) {
        const pid_t pid = std::stoi(test::slurp(folder.file(name)));
        EXPECT_EQ(kill(pid, 0), -1) << pid;
        EXPECT_EQ(errno, ESRCH);
    }
}

TEST(Launch, TheTimeIsUp) {
    Launch job = program(2, "sleep 1000");
    job.timeout = 50ms;

    const LaunchOutcome outcome = launch(job);

    EXPECT_TRUE(outcome.timed_out);
    EXPECT_EQ(outcome.exit_code(), 124);
}

TEST(Launch, BadProgramsAndNumbersAreUsageErrors) {
    Launch missing = program(2, "");
    missing.program = {"no-such-program-anywhere"};

    EXPECT_THROW((void)launch(missing), UsageError);
    EXPECT_THROW((void)launch(program(0, "true")), UsageError);
    EXPECT_THROW((void)launch(program(1025, "true")), UsageError);
    EXPECT_THROW((void)launch(Launch{}), UsageError);
}

TEST(Launch, EachRankCanHaveACore) {
    Launch job = processes(3, [](Rank) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) == 1 ? 0 : 3;
    });
    job.bind = Binding::always;

    EXPECT_EQ(launch(job).exit_code(), 0);
}

TEST(Launch, RanksStayOnACoreOnlyWhereThereAreMoreThanCores) {
    cpu_set_t ours;
    CPU_ZERO(&ours);
    ASSERT_EQ(sched_getaffinity(0, sizeof ours, &ours), 0);
    const auto cores = static_cast<std::uint32_t>(CPU_COUNT(&ours));
    const auto stays = [](Rank) {
        cpu_set_t mine;
        CPU_ZERO(&mine);
        return sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) == 1 ? 0 : 3;
    };
    Launch loose = processes(cores + 1, stays);
    loose.bind = Binding::never;

    const int crowded = launch(processes(cores + 1, stays)).exit_code();
    const int told_not_to = launch(loose).exit_code();
    const int enough = launch(processes(cores, stays)).exit_code();

    EXPECT_EQ(crowded, 0);
    EXPECT_EQ(told_not_to, cores == 1 ? 0 : 3);
    EXPECT_EQ(enough, cores == 1 ? 0 : 3);
}

}  // namespace
}  // namespace loom::transport
