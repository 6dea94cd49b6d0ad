// Ranks that take turns on their cores: large messages are lent in advance, and whoever comes second copies.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "loom/base/random.hpp"
#include "transport/verbs_ranks.hpp"

namespace loom::transport {
namespace {

using Outcome = Message::Outcome;
using test::Counter;
using test::drive;
using test::launch_ranks;

constexpr std::size_t large = 300'000;

class Advance : public testing::Test {
protected:
    void SetUp() override { setenv("LOOM_WAITING", "yield", 1); }
    void TearDown() override {
        unsetenv("LOOM_WAITING");
        unsetenv("LOOM_VERBS_FAULT");
    }

    static void expect_all_well(const LaunchOutcome& outcome) {
        EXPECT_FALSE(outcome.timed_out);
        for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank)
            EXPECT_EQ(outcome.ranks[rank].exit_code, 0) << "rank " << rank << " failed in that line (modulo 256)";
    }
};

std::vector<std::byte> filled(std::size_t bytes, unsigned with) {
    return std::vector<std::byte>(bytes, static_cast<std::byte>(with));
}

// Of ordinary memory the reader copies, which costs less, so that a receive that came first is not done at once.
TEST_F(Advance, whoever_comes_second_copies_and_is_done_at_once) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        const bool sender = transport.rank() == Rank{0};
        Counter counter;
        const std::span<std::byte> data = transport.allocate(large);
        std::fill(data.begin(), data.end(), std::byte{sender ? std::uint8_t{7} : std::uint8_t{0}});
        const auto is = [&](unsigned value) { return std::ranges::equal(data, filled(large, value)); };

        Message lent = counter.message();  // the send comes first
        if (sender) CHECK_RANK(!transport.send(Rank{1}, Tag{1}, data, lent));
        bootstrap.fence();
        if (!sender) {
            while (!transport.progress()) std::this_thread::yield();  // the other's word
            CHECK_RANK(transport.receive(Rank{0}, Tag{1}, data, lent));
            --counter.open;
            CHECK_RANK(lent.outcome == Outcome::done && is(7));
        }
        drive(transport, [&] { return counter.open == 0; });
        bootstrap.fence();

        Message written = counter.message();  // the receive comes first
        if (!sender) CHECK_RANK(!transport.receive(Rank{0}, Tag{2}, data, written));
        bootstrap.fence();
        if (sender) {
            std::fill(data.begin(), data.end(), std::byte{8});
            while (!transport.progress()) std::this_thread::yield();  // the other's word
            CHECK_RANK(transport.send(Rank{1}, Tag{2}, data, written));
            --counter.open;
        }
        drive(transport, [&] { return counter.open == 0; });
        CHECK_RANK(is(8));
        transport.release(data);
        return 0;
    });

    expect_all_well(outcome);
}

// Pages that were lent must not be read when others have come into their place, also after a loan that nobody took.
TEST_F(Advance, memory_that_was_given_back_and_taken_again_is_read_anew) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        const bool sender = transport.rank() == Rank{0};
        Random random(4), own(sender ? 7 : 8);
        void* place = nullptr;
        std::vector<std::byte> into(large);
        for (unsigned round = 1; round < 120; ++round) {
            const std::size_t expected = random.below(5) == 0 ? large / 2 : large;
            std::span<std::byte> data(into.data(), expected);
            if (sender) {
                place = mmap(place, large, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | (place == nullptr ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
                CHECK_RANK(place != MAP_FAILED);
                data = {static_cast<std::byte*>(place), large};
                std::fill(data.begin(), data.end(), static_cast<std::byte>(round));
            }
            Counter counter;
            Message message = counter.message();
            for (std::uint64_t looks = own.below(40); looks > 0; --looks) transport.progress();
            if (sender ? transport.send(Rank{1}, Tag{5}, data, message)
                       : transport.receive(Rank{0}, Tag{5}, data, message))
                --counter.open;
            drive(transport, [&] { return counter.open == 0; });
            CHECK_RANK(message.outcome == (expected == large ? Outcome::done : Outcome::mismatched));
            if (!sender && expected == large) CHECK_RANK(into == filled(large, round));
            if (sender) munmap(place, large);
        }
        bootstrap.fence();
        return 0;
    });

    expect_all_well(outcome);
}

// `ready` and advance may cross, and small ones must not overtake. Ranks with a core each lend only the shorter ones in
// advance: one tag has both kinds.
TEST_F(Advance, messages_of_one_tag_keep_their_order_whoever_is_first) {
    for (const auto& [waiting, fault] :
         {std::pair{"yield", ""}, {"yield", "delay=1ms"}, {"spin", ""}, {"spin", "delay=1ms"}}) {
        setenv("LOOM_WAITING", waiting, 1);
        if (*fault != 0)
            setenv("LOOM_VERBS_FAULT", fault, 1);
        else
            unsetenv("LOOM_VERBS_FAULT");

        const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap&) {
            const bool sender = transport.rank() == Rank{0};
            Random random(3), own(sender ? 5 : 6);
            for (unsigned round = 0; round < 40; ++round) {
                const std::size_t count = 1 + random.below(6);
                Counter counter;
                std::vector<Message> messages(count);
                std::vector<std::vector<std::byte>> data(count);
                for (std::size_t i = 0; i < count; ++i) {
                    const std::size_t bytes = random.below(2) == 0 ? 8 : 20'000 + random.below(200'000);
                    data[i] = filled(bytes, sender ? static_cast<unsigned>(round + i) : 0);
                    messages[i] = counter.message();
                    if (sender ? transport.send(Rank{1}, Tag{9}, data[i], messages[i])
                               : transport.receive(Rank{0}, Tag{9}, data[i], messages[i]))
                        --counter.open;
                    for (std::uint64_t looks = own.below(4); looks > 0; --looks) transport.progress();
                }
                drive(transport, [&] { return counter.open == 0; });
                for (std::size_t i = 0; i < count; ++i) {
                    CHECK_RANK(messages[i].outcome == Outcome::done);
                    CHECK_RANK(data[i] == filled(data[i].size(), static_cast<unsigned>(round + i)));
                }
            }
            return 0;
        });

        expect_all_well(outcome);
    }
}

// A receive that met an advance says no `ready`: that of the next receive must not be taken for its.
TEST_F(Advance, a_word_for_the_next_message_is_not_taken_for_the_last_ones) {
    setenv("LOOM_WAITING", "spin", 1);
    setenv("LOOM_VERBS_FAULT", "delay=20ms", 1);  // the read takes its time
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        const bool sender = transport.rank() == Rank{0};
        const std::array<std::size_t, 3> bytes{60'000, 1'000'000, 900'000};
        Counter counter;
        std::array<std::vector<std::byte>, 3> data;
        std::array<Message, 3> messages;
        const auto begin = [&](unsigned i) {
            data[i] = filled(bytes[i], sender ? i + 1 : 0);
            messages[i] = counter.message();
            if (sender ? transport.send(Rank{1}, Tag{3}, data[i], messages[i])
                       : transport.receive(Rank{0}, Tag{3}, data[i], messages[i]))
                --counter.open;
        };
        if (sender) begin(0);
        bootstrap.fence();
        if (!sender) {
            while (!transport.progress()) std::this_thread::yield();  // the advance
            for (unsigned i = 0; i < 3; ++i) begin(i);
        }
        bootstrap.fence();
        if (sender) {
            while (!transport.progress()) std::this_thread::yield();  // the words
            begin(1);
            begin(2);
        }
        drive(transport, [&] { return counter.open == 0; });
        for (unsigned i = 0; i < 3; ++i) {
            CHECK_RANK(messages[i].outcome == Outcome::done);
            CHECK_RANK(data[i] == filled(bytes[i], i + 1));
        }
        return 0;
    });

    expect_all_well(outcome);
}

// Loans of one place are all alike to who reads it, and pipes are used again and again: each message must be its own.
TEST_F(Advance, many_messages_from_few_places_are_not_taken_for_each_other) {
    for (const auto& [waiting, fault] : {std::pair{"yield", ""}, {"yield", "delay=1ms"}, {"spin", ""}}) {
        setenv("LOOM_WAITING", waiting, 1);
        setenv("LOOM_VERBS_FAULT", fault, 1);

        const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap&) {
            const bool sender = transport.rank() == Rank{0};
            Random random(21), own(sender ? 5 : 6);
            std::vector<std::vector<std::byte>> places;
            for (unsigned i = 0; i < 3; ++i) places.push_back(filled(5 << 20, i + 1));
            for (unsigned round = 0; round < 40; ++round) {
                const std::size_t count = 1 + random.below(12);
                Counter counter;
                std::vector<Message> messages(count);
                std::vector<std::vector<std::byte>> into(count);
                std::vector<unsigned> which(count);
                for (std::size_t i = 0; i < count; ++i) {
                    which[i] = random.below(3);
                    const std::size_t at = random.below(3) == 0 ? 0 : random.below(9000);
                    const std::size_t bytes =
                        random.below(8) == 0 ? (1 << 20) + random.below(3 << 20) : 20'000 + random.below(300'000);
                    const Tag tag{random.below(3)};
                    messages[i] = counter.message();
                    if (!sender) into[i].resize(bytes);
                    if (sender
                            ? transport.send(Rank{1}, tag, std::span(places[which[i]]).subspan(at, bytes), messages[i])
                            : transport.receive(Rank{0}, tag, into[i], messages[i]))
                        --counter.open;
                    for (std::uint64_t looks = own.below(8); looks > 0; --looks) transport.progress();
                }
                drive(transport, [&] { return counter.open == 0; });
                for (std::size_t i = 0; i < count; ++i) {
                    CHECK_RANK(messages[i].outcome == Outcome::done);
                    CHECK_RANK(sender || into[i] == filled(into[i].size(), which[i] + 1));
                }
            }
            return 0;
        });

        expect_all_well(outcome);
    }
}

TEST_F(Advance, another_length_is_told_to_both) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        const bool sender = transport.rank() == Rank{0};
        for (const bool receive_first : {false, true})
            for (const std::size_t expected : {std::size_t{8}, large / 2, 2 * large}) {
                Counter counter;
                Message message = counter.message();
                std::vector<std::byte> data(sender ? large : expected);
                if (sender == receive_first) bootstrap.fence();
                if (sender ? transport.send(Rank{1}, Tag{3}, data, message)
                           : transport.receive(Rank{0}, Tag{3}, data, message))
                    --counter.open;
                if (sender != receive_first) bootstrap.fence();
                drive(transport, [&] { return counter.open == 0; });
                CHECK_RANK(message.outcome == Outcome::mismatched);

                Message after = counter.message();  // the connection still works
                std::vector<std::byte> next = filled(large, sender ? 4 : 0);
                if (sender ? transport.send(Rank{1}, Tag{3}, next, after)
                           : transport.receive(Rank{0}, Tag{3}, next, after))
                    --counter.open;
                drive(transport, [&] { return counter.open == 0; });
                CHECK_RANK(after.outcome == Outcome::done && next == filled(large, 4));
            }
        return 0;
    });

    expect_all_well(outcome);
}

// The receiver's memory is reached with plain stores and the sender's is not: the sender stores.
TEST_F(Advance, comes_into_shared_memory_from_ordinary_memory_and_back) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        const bool sender = transport.rank() == Rank{0};
        const std::span<std::byte> shared = transport.allocate(large);
        std::vector<std::byte> own(large);
        for (const bool from_shared : {false, true}) {
            const std::span<std::byte> data = sender == from_shared ? shared : std::span(own);
            std::fill(data.begin(), data.end(), std::byte{sender ? std::uint8_t{5} : std::uint8_t{0}});
            Counter counter;
            Message message = counter.message();
            if (sender) CHECK_RANK(!transport.send(Rank{1}, Tag{4}, data, message));
            bootstrap.fence();
            if (!sender && transport.receive(Rank{0}, Tag{4}, data, message)) --counter.open;
            drive(transport, [&] { return counter.open == 0; });
            CHECK_RANK(message.outcome == Outcome::done);
            CHECK_RANK(std::vector<std::byte>(data.begin(), data.end()) == filled(large, 5));
            bootstrap.fence();
        }
        transport.release(shared);
        return 0;
    });

    expect_all_well(outcome);
}

TEST_F(Advance, of_a_rank_that_has_died_is_lost) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        Counter counter;
        std::vector<std::byte> data(large);
        Message message = counter.message();
        if (transport.rank() == Rank{0}) {
            CHECK_RANK(!transport.send(Rank{1}, Tag{5}, data, message));
            bootstrap.fence();
            _exit(0);
        }
        bootstrap.fence();
        drive(transport, [&] { return transport.is_lost(Rank{0}); });
        if (transport.receive(Rank{0}, Tag{5}, data, message)) --counter.open;
        drive(transport, [&] { return counter.open == 0; });
        CHECK_RANK(message.outcome == Outcome::lost);
        _exit(0);
    });

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[1].exit_code, 0) << "rank 1 failed in that line (modulo 256)";
}

// The first of two receives gets a small message instead of a large one; its word must not count for the second's.
TEST_F(Advance, after_another_length_the_words_of_receives_are_not_mixed_up) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        const bool sender = transport.rank() == Rank{0};
        Counter counter;
        std::vector<std::byte> small = filled(8, 1), second = filled(large, sender ? 2 : 0),
                               third = filled(large, sender ? 3 : 0), never(large);
        Message messages[3] = {counter.message(), counter.message(), counter.message()};
        const auto start = [&](std::vector<std::byte>& data, Message& message) {
            if (sender ? transport.send(Rank{1}, Tag{6}, data, message)
                       : transport.receive(Rank{0}, Tag{6}, data, message))
                --counter.open;
        };
        if (!sender) start(never, messages[0]), start(second, messages[1]);
        bootstrap.fence();
        // The receiver's words are there, but not looked at yet.
        if (sender) start(small, messages[0]), start(second, messages[1]);
        drive(transport, [&] { return counter.open == 1; });
        CHECK_RANK(sender || messages[0].outcome == Outcome::mismatched);
        CHECK_RANK(messages[1].outcome == Outcome::done);

        if (sender) start(third, messages[2]);
        bootstrap.fence();
        if (!sender) start(third, messages[2]);
        drive(transport, [&] { return counter.open == 0; });
        CHECK_RANK(second == filled(large, 2) && third == filled(large, 3));
        return 0;
    });

    expect_all_well(outcome);
}

// Nothing is waited for of the second but its word that it has read, and the launcher names only the first.
TEST_F(Advance, to_the_second_rank_that_dies_is_lost_too) {
    const LaunchOutcome outcome = launch_ranks(3, [](Transport& transport, Bootstrap& bootstrap) {
        Counter counter;
        std::vector<std::byte> data(large);
        Message message = counter.message();
        if (transport.rank() == Rank{0}) CHECK_RANK(!transport.send(Rank{2}, Tag{7}, data, message));
        bootstrap.fence();
        if (transport.rank() == Rank{1}) _exit(0);
        drive(transport, [&] { return transport.is_lost(Rank{1}); });
        if (transport.rank() == Rank{2}) _exit(0);
        drive(transport, [&] { return counter.open == 0; });
        CHECK_RANK(message.outcome == Outcome::lost);
        _exit(0);
    });

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 0) << "rank 0 failed in that line (modulo 256)";
}

}  // namespace
}  // namespace loom::transport
