#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/transport/open.hpp"

namespace loom::transport {
namespace {

using Outcome = Message::Outcome;

void count(Message& message) {
    ++*static_cast<int*>(message.owner);
}

Message counted(int& finished) {
    Message message;
    message.finished = count;
    message.owner = &finished;
    return message;
}

std::span<const std::byte> bytes_of(const std::vector<std::uint8_t>& data) {
    return std::as_bytes(std::span(data));
}

// Polls until `done` says so.
template <class Done>
void drive(Transport& transport, Done done) {
    while (!done())
        if (!transport.progress()) std::this_thread::yield();
}

TEST(Local, messages_of_any_size_arrive_in_order_by_tag_at_every_number_of_ranks) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 5u, 8u}) {
        run_local(ranks, [&](Transport& transport) {
            constexpr std::size_t each = 40;
            constexpr std::array<std::size_t, 6> sizes{0, 1, 100, 8192, 8193, 100'000};
            const auto content = [](std::uint32_t from, std::size_t i) {
                return static_cast<std::uint8_t>(from * 31 + i * 7 + 1);
            };
            const std::uint32_t me = transport.rank().value;
            const std::size_t total = ranks * each;
            std::vector<std::vector<std::uint8_t>> out(total), in(total);
            std::vector<Message> sends(total), receives(total);
            int finished = 0;
            std::size_t at_once = 0;

            for (std::size_t i = 0; i < total; ++i) {
                const auto peer = Rank{static_cast<std::uint32_t>(i % ranks)};
                const std::size_t number = i / ranks;
                sends[i].finished = receives[i].finished = count;
                sends[i].owner = receives[i].owner = &finished;
                out[i].assign(sizes[number % sizes.size()], content(me, number));
                in[i].assign(sizes[number % sizes.size()], 0);
                at_once += transport.send(peer, Tag{number % 3}, bytes_of(out[i]), sends[i]);
                at_once +=
                    transport.receive(peer, Tag{number % 3}, std::as_writable_bytes(std::span(in[i])), receives[i]);
            }
            drive(transport, [&] { return at_once + static_cast<std::size_t>(finished) == 2 * total; });

            for (std::size_t i = 0; i < total; ++i) {
                EXPECT_EQ(receives[i].outcome, Outcome::done);
                EXPECT_EQ(sends[i].outcome, Outcome::done);
                EXPECT_EQ(receives[i].bytes, in[i].size());
                const std::uint8_t expected = content(static_cast<std::uint32_t>(i % ranks), i / ranks);
                EXPECT_EQ(in[i], std::vector<std::uint8_t>(in[i].size(), expected));
            }
        });
    }
}

TEST(Local, another_length_than_the_messages_is_an_error_of_the_receive) {
    run_local(2, [](Transport& transport) {
        int finished = 0;
        std::array<Message, 2> messages;
        for (Message& message : messages) message = counted(finished);
        std::vector<std::uint8_t> data(100, 7), room(50, 0);
        std::size_t at_once = 0;

        if (transport.rank() == Rank{0}) {
            at_once += transport.send(Rank{1}, Tag{1}, bytes_of(data).first(20), messages[0]);
            at_once += transport.send(Rank{1}, Tag{2}, bytes_of(data), messages[1]);
        } else {
            at_once += transport.receive(Rank{0}, Tag{2}, std::as_writable_bytes(std::span(room)), messages[1]);
            at_once += transport.receive(Rank{0}, Tag{1}, std::as_writable_bytes(std::span(room)), messages[0]);
        }
        drive(transport, [&] { return at_once + static_cast<std::size_t>(finished) == 2; });

        const Outcome expected = transport.rank() == Rank{0} ? Outcome::done : Outcome::mismatched;
        EXPECT_EQ(messages[0].outcome, expected);
        EXPECT_EQ(messages[1].outcome, expected);
    });
}

TEST(Local, a_put_with_notification_is_there_when_the_notification_is) {
    run_local(2, [](Transport& transport) {
        const auto memory = transport.allocate(4096);
        const RemoteMemory mine = transport.expose(memory);
        RemoteMemory theirs;
        const Rank peer{1 - transport.rank().value};
        int finished = 0;
        Message out = counted(finished), in = out;
        const bool sent = transport.send(peer, Tag{0}, std::as_bytes(std::span(&mine, 1)), out);
        const bool received = transport.receive(peer, Tag{0}, std::as_writable_bytes(std::span(&theirs, 1)), in);
        drive(transport, [&] { return sent + received + finished == 2; });
        const std::vector<std::uint8_t> data(64, static_cast<std::uint8_t>(5 + peer.value));
        std::optional<Notification> notification;

        const bool put = transport.put_notify(peer, theirs, 128, bytes_of(data), 42, out);
        drive(transport, [&] {
            notification = transport.next_notification();
            return notification.has_value();
        });

        EXPECT_TRUE(put);
        EXPECT_EQ(notification->from, peer);
        EXPECT_EQ(notification->value, 42u);
        EXPECT_EQ(memory[128], std::byte(5 + transport.rank().value));
        EXPECT_EQ(memory[127], std::byte(0));
        EXPECT_THROW((void)transport.put(peer, theirs, 4090, bytes_of(data), out), UsageError);
        transport.unexpose(mine);
        transport.release(memory);
    });
}

TEST(Local, a_sleeper_is_woken_by_a_message_and_by_interrupt) {
    run_local(2, [](Transport& transport) {
        int finished = 0;
        Message message = counted(finished);
        std::uint64_t value = 0;
        if (transport.rank() == Rank{0}) {
            transport.set_events(true);
            bool done = transport.receive(Rank{1}, Tag{0}, std::as_writable_bytes(std::span(&value, 1)), message);
            while (!done) {
                transport.sleep(std::chrono::minutes(5));
                transport.progress();
                done = finished == 1;
            }
            std::jthread waker([&] { transport.interrupt(); });
            transport.sleep(std::chrono::minutes(5));

            EXPECT_EQ(value, 77u);
        } else {
            value = 77;
            EXPECT_TRUE(transport.send(Rank{0}, Tag{0}, std::as_bytes(std::span(&value, 1)), message));
        }
    });
}

TEST(Local, a_rank_that_throws_is_lost_for_the_others_and_its_exception_comes_out) {
    std::vector<Outcome> outcomes(6, Outcome::pending);

    const auto job = [&] {
        run_local(3, [&](Transport& transport) {
            if (transport.rank() == Rank{1}) throw UsageError("enough");
            int finished = 0;
            std::uint64_t word = 0;
            const std::vector<std::uint8_t> large(100'000);
            Message in = counted(finished), out = in;
            const bool received = transport.receive(Rank{1}, Tag{0}, std::as_writable_bytes(std::span(&word, 1)), in);
            const bool sent = transport.send(Rank{1}, Tag{0}, bytes_of(large), out);
            drive(transport, [&] { return sent + received + finished == 2; });
            outcomes[transport.rank().value] = in.outcome;
            outcomes[3 + transport.rank().value] = out.outcome;
            EXPECT_EQ(transport.lost(), Rank{1});
        });
    };

    EXPECT_THROW(job(), UsageError);
    const auto lost = Outcome::lost, pending = Outcome::pending;
    EXPECT_EQ(outcomes, (std::vector{lost, pending, lost, lost, pending, lost}));
}

TEST(Local, another_length_of_a_large_message_is_told_to_both) {
    run_local(2, [](Transport& transport) {
        int finished = 0;
        Message message = counted(finished);
        std::vector<std::uint8_t> data(transport.rank() == Rank{0} ? 100'000 : 50'000, 7);

        const bool at_once = transport.rank() == Rank{0}
                                 ? transport.send(Rank{1}, Tag{1}, bytes_of(data), message)
                                 : transport.receive(Rank{0}, Tag{1}, std::as_writable_bytes(std::span(data)), message);
        drive(transport, [&] { return at_once || finished == 1; });

        EXPECT_EQ(message.outcome, Outcome::mismatched);
    });
}

// Whether its receive is there when the message comes or not.
TEST(Local, a_large_message_of_a_rank_that_is_gone_is_lost_and_not_read) {
    std::vector<std::uint8_t> data(100'000, 7);  // what would be read, were it read
    int sent = 0;
    std::array<Message, 2> sends{counted(sent), counted(sent)};
    std::array<Outcome, 2> outcomes{};

    const auto job = [&] {
        run_local(2, [&](Transport& transport) {
            if (transport.rank() == Rank{1}) {
                for (std::uint64_t i = 0; i < 2; ++i)
                    EXPECT_FALSE(transport.send(Rank{0}, Tag{i}, bytes_of(data), sends[i]));
                throw UsageError("enough");
            }
            while (!transport.lost()) std::this_thread::yield();
            int finished = 0;
            std::array<Message, 2> receives{counted(finished), counted(finished)};
            std::vector<std::uint8_t> room(data.size(), 0);
            int at_once = 0;
            at_once += transport.receive(Rank{1}, Tag{0}, std::as_writable_bytes(std::span(room)), receives[0]);
            transport.progress();
            at_once += transport.receive(Rank{1}, Tag{1}, std::as_writable_bytes(std::span(room)), receives[1]);
            drive(transport, [&] { return at_once + finished == 2; });
            outcomes = {receives[0].outcome, receives[1].outcome};
            EXPECT_EQ(room, std::vector<std::uint8_t>(data.size(), 0));
        });
    };

    EXPECT_THROW(job(), UsageError);
    EXPECT_EQ(outcomes, (std::array{Outcome::lost, Outcome::lost}));
}

}  // namespace
}  // namespace loom::transport
