// Puts that tell the target, over verbs: one write with an immediate each. Ranks are processes.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/open.hpp"
#include "transport/verbs_ranks.hpp"

namespace loom::transport {
namespace {

using Outcome = Message::Outcome;
using test::Counter;
using test::drive;
using test::launch_ranks;

enum class Path { shared, other_host, late };

void PrintTo(Path path, std::ostream* out) {
    *out << (path == Path::shared ? "shared" : path == Path::other_host ? "other_host" : "late");
}

// The same inside a host, between hosts, and where completions come late.
class Notifications : public testing::TestWithParam<Path> {
protected:
    void SetUp() override {
        if (GetParam() == Path::other_host) setenv("LOOM_HOSTS", "each", 1);
        if (GetParam() == Path::late) setenv("LOOM_VERBS_FAULT", "delay=1ms", 1);
    }
    void TearDown() override {
        unsetenv("LOOM_HOSTS");
        unsetenv("LOOM_VERBS_FAULT");
    }
};

INSTANTIATE_TEST_SUITE_P(Paths, Notifications, testing::Values(Path::shared, Path::other_host, Path::late));

void expect_all_well(const LaunchOutcome& outcome) {
    EXPECT_FALSE(outcome.timed_out);
    for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
        EXPECT_EQ(outcome.ranks[rank].exit_code, 0) << "rank " << rank << " failed in that line (modulo 256)";
}

// Opens our memory and learns where that of the other of two ranks is.
RemoteMemory exchange(Transport& transport, Bootstrap& bootstrap, std::span<std::byte> memory) {
    const RemoteMemory mine = transport.expose(memory);
    bootstrap.put("memory", std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
    bootstrap.fence();
    RemoteMemory theirs;
    std::memcpy(&theirs, bootstrap.get(Rank{1 - transport.rank().value}, "memory").data(), sizeof theirs);
    return theirs;
}

std::span<std::byte> bytes_of(std::uint32_t& word) {
    return std::as_writable_bytes(std::span(&word, 1));
}

TEST_P(Notifications, KeepTheirOrderWithSmallMessages) {
    expect_all_well(launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        constexpr std::uint32_t rounds = 400;
        std::vector<std::byte> memory(rounds * 4);
        const RemoteMemory theirs = exchange(transport, bootstrap, memory);
        Counter counter;
        std::vector<std::uint32_t> words(rounds), data(rounds);
        std::vector<Message> messages(rounds), puts(rounds);
        if (transport.rank() == Rank{0}) {
            for (std::uint32_t i = 0; i < rounds; ++i) {
                words[i] = i;
                data[i] = i + 1000;
                messages[i] = counter.message();
                puts[i] = counter.message();
                if (transport.send(Rank{1}, Tag{1}, bytes_of(words[i]), messages[i])) --counter.open;
                if (transport.put_notify(Rank{1}, theirs, i * 4,
                                         i % 3 == 0 ? std::span<std::byte>() : bytes_of(data[i]), i, puts[i]))
                    --counter.open;
            }
            drive(transport, [&] { return counter.open == 0; });
            for (const Message& put : puts) CHECK_RANK(put.outcome == Outcome::done);
            return 0;
        }
        std::uint32_t received = 0;
        for (std::uint32_t i = 0; i < rounds; ++i) {
            messages[i] = counter.message();
            if (transport.receive(Rank{0}, Tag{1}, bytes_of(words[i]), messages[i])) --counter.open;
        }
        for (std::uint32_t next = 0; next < rounds;) {
            transport.progress();
            while (const auto notification = transport.next_notification()) {
                CHECK_RANK(notification->from == Rank{0} && notification->value == next);
                CHECK_RANK(messages[next].outcome == Outcome::done);  // it was sent before
                std::uint32_t there = 0;
                std::memcpy(&there, memory.data() + next * 4, 4);
                CHECK_RANK(there == (next % 3 == 0 ? 0 : next + 1000));
                ++next;
            }
            while (received < rounds && messages[received].outcome == Outcome::done) ++received;
            CHECK_RANK(received <= next + 1);  // what was sent behind a notification is not there before it
        }
        drive(transport, [&] { return counter.open == 0; });
        return 0;
    }));
}

// Neither rank takes anything in while it sends: none may wait for the other inside a call.
TEST_P(Notifications, MoreThanThePeerHasRoomForWaitWithoutBlocking) {
    expect_all_well(launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        constexpr std::uint32_t count = 3000;
        std::vector<std::byte> memory(count * 4);
        const RemoteMemory theirs = exchange(transport, bootstrap, memory);
        const Rank other{1 - transport.rank().value};
        Counter counter;
        std::vector<std::uint32_t> data(count);
        std::vector<Message> puts(count), small(1);
        for (std::uint32_t i = 0; i < count; ++i) {
            data[i] = i + 5;
            puts[i] = counter.message();
            if (transport.put_notify(other, theirs, i * 4, bytes_of(data[i]), i, puts[i])) --counter.open;
        }
        CHECK_RANK(counter.open > 0);
        // A message behind them comes behind them.
        std::uint32_t last = 77, got = 0;
        Message send = counter.message(), receive = counter.message();
        if (transport.send(other, Tag{9}, bytes_of(last), send)) --counter.open;
        if (transport.receive(other, Tag{9}, bytes_of(got), receive)) --counter.open;
        bootstrap.fence();
        std::uint32_t next = 0;
        drive(transport, [&] {
            while (const auto notification = transport.next_notification())
                next = notification->value == next ? next + 1 : count + 1;
            return counter.open == 0;
        });
        CHECK_RANK(next == count && got == 77);
        for (std::uint32_t i = 0; i < count; ++i) CHECK_RANK(std::memcmp(memory.data() + i * 4, &data[i], 4) == 0);
        return 0;
    }));
}

// Also those that bells have, and with bells among them.
TEST_P(Notifications, CarryEveryValue) {
    expect_all_well(launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        const std::vector<std::uint32_t> values{0,          1,          0xffffffff, 0xfffffffe, 0xfffffffe, 0x80000000,
                                                0xffffffff, 0xfffffffd, 0xfffffffe, 0xffffffff, 7};
        constexpr int rounds = 100;
        std::vector<std::byte> memory(64);
        const RemoteMemory theirs = exchange(transport, bootstrap, memory);
        Counter counter;
        if (transport.rank() == Rank{0}) {
            std::vector<Message> messages(values.size() * rounds), puts(values.size() * rounds);
            std::uint32_t word = 1;
            for (std::size_t i = 0; i < puts.size(); ++i) {
                messages[i] = counter.message();
                puts[i] = counter.message();
                const auto data = i % 2 == 0 ? bytes_of(word) : std::span<std::byte>();
                if (transport.put_notify(Rank{1}, theirs, 0, data, values[i % values.size()], puts[i])) --counter.open;
                if (transport.send(Rank{1}, Tag{1}, {}, messages[i])) --counter.open;
            }
            drive(transport, [&] { return counter.open == 0; });
            return 0;
        }
        transport.set_events(true);
        std::size_t seen = 0, received = 0;
        Message message = counter.message();
        counter.open = 0;
        while (seen < values.size() * rounds || received < values.size() * rounds) {
            if (counter.open == 0 && received < values.size() * rounds) {
                counter.open = 1;
                if (transport.receive(Rank{0}, Tag{1}, {}, message)) counter.open = 0;
                if (counter.open == 0) ++received;
            }
            const int before = counter.open;
            const bool any = transport.progress();
            if (before == 1 && counter.open == 0) ++received;
            bool told = false;
            while (const auto notification = transport.next_notification()) {
                CHECK_RANK(notification->value == values[seen % values.size()]);
                ++seen;
                told = true;
            }
            if (!any && !told && counter.open != 0) transport.sleep(std::chrono::seconds(20));
        }
        transport.set_events(false);
        return 0;
    }));
}

TEST_P(Notifications, WakeWhoeverSleeps) {
    expect_all_well(launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        std::vector<std::byte> memory(64);
        const RemoteMemory theirs = exchange(transport, bootstrap, memory);
        const Rank other{1 - transport.rank().value};
        transport.set_events(true);
        bootstrap.fence();
        std::uint32_t word = 3;
        Counter counter;
        std::uint32_t told = 0;
        const auto sleep_until = [&](const auto& done) {
            while (!done()) {
                const bool any = transport.progress();
                while (const auto notification = transport.next_notification())
                    told = notification->value == told ? told + 1 : 1000;
                if (!any && !done()) transport.sleep(std::chrono::seconds(20));  // far beyond the test's patience
            }
        };
        for (std::uint32_t i = 0; i < 20; ++i) {  // to and fro
            Message put = counter.message();
            const bool second = transport.rank() == Rank{1};
            if (second) sleep_until([&] { return told > i; });
            if (transport.put_notify(other, theirs, 0, bytes_of(word), i, put)) --counter.open;
            sleep_until([&] { return counter.open == 0 && (second || told > i); });
            CHECK_RANK(told > i && told <= i + 2);  // the next may be here already
        }
        transport.set_events(false);
        return 0;
    }));
}

TEST_P(Notifications, ToARankThatHasDiedAreLost) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        std::vector<std::byte> memory(4096);
        const RemoteMemory theirs = exchange(transport, bootstrap, memory);
        if (transport.rank() == Rank{1}) {
            bootstrap.fence();
            raise(SIGKILL);
        }
        constexpr std::uint32_t count = 600;  // some have no room
        Counter counter;
        std::uint32_t word = 1;
        std::vector<Message> puts(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            puts[i] = counter.message();
            if (transport.put_notify(Rank{1}, theirs, 0, bytes_of(word), i, puts[i])) --counter.open;
        }
        bootstrap.fence();
        drive(transport, [&] { return counter.open == 0; });
        drive(transport, [&] { return transport.is_lost(Rank{1}); });
        CHECK_RANK(puts[count - 1].outcome == Outcome::lost);
        Message late = counter.message();
        CHECK_RANK(transport.put_notify(Rank{1}, theirs, 0, bytes_of(word), 1, late));
        CHECK_RANK(late.outcome == Outcome::lost);
        CHECK_RANK(transport.put_notify(Rank{1}, theirs, 0, {}, 1, late));
        CHECK_RANK(late.outcome == Outcome::lost);
        return 99;
    });

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 99);
}

// What a rank told before it died is taken like its messages: all, or up to its loss.
TEST_P(Notifications, OfARankThatHasDiedComeInOrderUpToItsLoss) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        std::vector<std::byte> memory(4096);
        const RemoteMemory theirs = exchange(transport, bootstrap, memory);
        if (transport.rank() == Rank{0}) {
            Counter counter;
            std::uint32_t word = 1;
            std::vector<Message> puts(50);
            for (std::uint32_t i = 0; i < 50; ++i) {
                puts[i] = counter.message();
                (void)transport.put_notify(Rank{1}, theirs, 0, bytes_of(word), i, puts[i]);
            }
            raise(SIGKILL);
        }
        std::uint32_t next = 0;
        drive(transport, [&] {
            while (const auto notification = transport.next_notification())
                next = notification->value == next ? next + 1 : 1000;
            return transport.is_lost(Rank{0});
        });
        CHECK_RANK(next <= 50);
        return 99;
    });

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[1].exit_code, 99);
}

}  // namespace
}  // namespace loom::transport
