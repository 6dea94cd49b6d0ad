// The verbs transport where completions come late, as between hosts: nothing may rely on their being there at once.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"
#include "transport/verbs_ranks.hpp"

namespace loom::transport {
namespace {

using Outcome = Message::Outcome;
using test::Counter;
using test::drive;
using test::launch_ranks;

class Late : public testing::Test {
protected:
    void delay(const char* how) { setenv("LOOM_VERBS_FAULT", how, 1); }
    void TearDown() override {
        unsetenv("LOOM_VERBS_FAULT");
        unsetenv("LOOM_HOSTS");
    }
};

void expect_all_well(const LaunchOutcome& outcome) {
    EXPECT_FALSE(outcome.timed_out);
    for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
        EXPECT_EQ(outcome.ranks[rank].exit_code, 0) << "rank " << rank << " failed in that line (modulo 256)";
}

LaunchOutcome small_ones_behind_large_ones() {
    return launch_ranks(2, [](Transport& transport, Bootstrap&) {
        for (unsigned round = 0; round < 10; ++round) {
            Counter counter;
            std::vector<std::byte> large(200'000), small(8);
            const bool sender = transport.rank() == Rank{0};
            if (sender) large.assign(large.size(), std::byte{1}), small.assign(8, std::byte{2});
            Message first = counter.message(), second = counter.message();
            if (sender) {
                if (transport.send(Rank{1}, Tag{7}, large, first)) --counter.open;
                if (transport.send(Rank{1}, Tag{7}, small, second)) --counter.open;
            } else {
                if (transport.receive(Rank{0}, Tag{7}, large, first)) --counter.open;
                if (transport.receive(Rank{0}, Tag{7}, small, second)) --counter.open;
            }
            drive(transport, [&] { return counter.open == 0; });
            CHECK_RANK(first.outcome == Outcome::done && second.outcome == Outcome::done);
            CHECK_RANK(large == std::vector<std::byte>(200'000, std::byte{1}));
            CHECK_RANK(small == std::vector<std::byte>(8, std::byte{2}));
        }
        return 0;
    });
}

TEST_F(Late, a_small_message_does_not_overtake_a_large_one_of_its_tag) {
    delay("delay=2ms");

    const LaunchOutcome outcome = small_ones_behind_large_ones();

    expect_all_well(outcome);
}

TEST_F(Late, nor_between_hosts) {
    delay("delay=2ms");
    setenv("LOOM_HOSTS", "each", 1);

    const LaunchOutcome outcome = small_ones_behind_large_ones();

    expect_all_well(outcome);
}

// Its `finished` sends when the queue to the same rank is full and one more frame is just being written.
TEST_F(Late, a_send_out_of_a_callback_in_the_midst_of_another_keeps_both_whole) {
    delay("delay=1ms");

    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        constexpr std::uint32_t burst = 1500, answers = 8;
        Counter counter;
        const bool sender = transport.rank() == Rank{0};
        std::vector<std::uint32_t> words(burst), echoes(answers);
        std::vector<std::byte> exposed(answers * 4096), piece(4096, std::byte{3});
        const RemoteMemory mine = transport.expose(exposed);
        bootstrap.put("memory" + std::to_string(transport.rank().value),
                      std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
        bootstrap.fence();
        std::vector<Message> messages(burst), late(answers);
        struct Answer {
            Transport& transport;
            Counter& counter;
            Message put, send;
            std::uint32_t number;
        };
        std::vector<std::unique_ptr<Answer>> puts;
        const auto bytes = [](std::uint32_t& word) { return std::as_writable_bytes(std::span(&word, 1)); };
        if (sender) {
            RemoteMemory theirs;
            std::memcpy(&theirs, bootstrap.get(Rank{1}, "memory1").data(), sizeof theirs);
            for (std::uint32_t i = 0; i < answers; ++i) {
                puts.push_back(std::make_unique<Answer>(Answer{transport, counter, {}, counter.message(), i}));
                Answer& answer = *puts.back();
                answer.put.owner = &answer;
                answer.put.finished = [](Message& done) {
                    Answer& self = *static_cast<Answer*>(done.owner);
                    if (self.transport.send(Rank{1}, Tag{2}, std::as_bytes(std::span(&self.number, 1)), self.send))
                        --self.counter.open;
                };
                if (transport.put(Rank{1}, theirs, i * 4096, piece, answer.put)) answer.put.finished(answer.put);
            }
            for (std::uint32_t i = 0; i < burst; ++i) {
                words[i] = i;
                messages[i] = counter.message();
                if (transport.send(Rank{1}, Tag{1}, bytes(words[i]), messages[i])) --counter.open;
            }
            drive(transport, [&] { return counter.open == 0; });
            return 0;
        }
        for (std::uint32_t i = 0; i < burst; ++i) {
            messages[i] = counter.message();
            if (transport.receive(Rank{0}, Tag{1}, bytes(words[i]), messages[i])) --counter.open;
        }
        for (std::uint32_t i = 0; i < answers; ++i) {
            late[i] = counter.message();
            if (transport.receive(Rank{0}, Tag{2}, bytes(echoes[i]), late[i])) --counter.open;
        }
        drive(transport, [&] { return counter.open == 0; });
        for (std::uint32_t i = 0; i < burst; ++i) CHECK_RANK(words[i] == i);
        for (std::uint32_t i = 0; i < answers; ++i) CHECK_RANK(echoes[i] == i);
        return 0;
    });

    expect_all_well(outcome);
}

TEST_F(Late, what_completes_while_the_transport_goes_is_nobodys_any_more) {
    delay("delay=50ms");
    Launch request;
    request.ranks = 2;
    request.timeout = std::chrono::seconds(30);
    request.body = [](Rank) {
        const auto bootstrap = find_bootstrap();
        auto transport = open_verbs(*bootstrap);
        std::vector<std::byte> exposed(100'000), data(100'000);
        const RemoteMemory mine = transport->expose(exposed);
        bootstrap->put("memory", std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
        bootstrap->fence();
        RemoteMemory theirs;
        const Rank other{1 - transport->rank().value};
        std::memcpy(&theirs, bootstrap->get(other, "memory").data(), sizeof theirs);
        auto message = std::make_unique<Message>();
        message->finished = [](Message&) { _exit(9); };
        if (transport->put(other, theirs, 0, data, *message)) return 8;

        message.reset();
        transport.reset();

        bootstrap->fence();
        bootstrap->finished();
        return 0;
    };

    expect_all_well(launch(request));
}

TEST_F(Late, completions_of_a_rank_that_was_given_up_are_nobodys_any_more) {
    delay("delay=400ms");

    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        std::vector<std::byte> exposed(100'000), data(100'000);
        const RemoteMemory mine = transport.expose(exposed);
        bootstrap.put("memory", std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
        bootstrap.fence();
        if (transport.rank() == Rank{1}) {
            bootstrap.fence();
            raise(SIGKILL);
        }
        RemoteMemory theirs;
        std::memcpy(&theirs, bootstrap.get(Rank{1}, "memory").data(), sizeof theirs);
        int calls = 0;
        Message put;
        put.owner = &calls;
        put.finished = [](Message& done) { ++*static_cast<int*>(done.owner); };
        CHECK_RANK(!transport.put(Rank{1}, theirs, 0, data, put));
        bootstrap.fence();
        drive(transport, [&] { return calls != 0; });
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
        drive(transport, [&] { return std::chrono::steady_clock::now() > until; });
        CHECK_RANK(calls == 1);
        return 99;
    });

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 99);
}

}  // namespace
}  // namespace loom::transport
