// What is the verbs transport's own: rings that wrap, protocols, registrations, datagrams. Ranks are processes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"
#include "support/variable.hpp"
#include "transport/verbs/memory.hpp"
#include "transport/verbs_ranks.hpp"

namespace loom::transport {
namespace {

using loom::test::Variable;
using Outcome = Message::Outcome;
using test::Counter;
using test::drive;
using test::launch_ranks;

// Runs the body on `ranks` processes and expects all to return 0.
void on_ranks(std::uint32_t ranks, const std::function<int(Transport&, Bootstrap&)>& body) {
    const LaunchOutcome outcome = launch_ranks(ranks, body);

    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(outcome.ranks[rank].exit_code, 0) << "rank " << rank << " failed in that line (modulo 256)";
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + seed);
    return data;
}

TEST(Verbs, a_small_ring_wraps_and_a_slow_receiver_loses_nothing) {
    const Variable ring("LOOM_RING", "4096"), eager("LOOM_EAGER", "1000");
    on_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        constexpr int count = 500;
        Counter counter;
        std::vector<std::vector<std::byte>> data;
        for (int i = 0; i < count; ++i) data.push_back(pattern(static_cast<std::size_t>(i * 7 % 1001), 3u + i));
        std::vector<Message> messages(count);
        if (transport.rank() == Rank{0}) {
            int at_once = 0;
            for (int i = 0; i < count; ++i) {
                messages[i] = counter.message();
                if (transport.send(Rank{1}, Tag{7}, data[i], messages[i])) --counter.open, ++at_once;
            }
            CHECK_RANK(at_once < count);  // the ring was full
            bootstrap.fence();
            drive(transport, [&] { return counter.open == 0; });
        } else {
            bootstrap.fence();  // all that could be sent was
            for (int i = 0; i < count; ++i) {
                std::vector<std::byte> room(data[i].size());
                Message message = counter.message();
                if (transport.receive(Rank{0}, Tag{7}, room, message)) --counter.open;
                drive(transport, [&] { return counter.open == 0; });
                CHECK_RANK(message.outcome == Outcome::done);
                CHECK_RANK(room == data[i]);
            }
        }
        return 0;
    });
}

// Whoever waits for something also asks now and then, which tells as much: so here the receiver waits for nothing.
TEST(Verbs, TheFirstPassThroughARingWaitsForNoPages) {
    on_ranks(2, [](Transport& transport, Bootstrap&) {
        const bool sender = transport.rank() == Rank{0};
        std::vector<std::byte> data(4000, std::byte{1}), answer(8);
        const auto move = [&](bool out, std::vector<std::byte>& bytes) {
            Counter counter;
            Message message = counter.message();
            const Rank other{sender ? 1u : 0u};
            const bool done =
                out ? transport.send(other, Tag{1}, bytes, message) : transport.receive(other, Tag{1}, bytes, message);
            if (done) --counter.open;
            drive(transport, [&] { return counter.open == 0; });
        };
        const auto pass_on = [&] {  // with an answer: a message that comes early needs memory of its own
            move(sender, data);
            move(!sender, answer);
        };
        const auto page_faults = [] {
            rusage used{};
            getrusage(RUSAGE_SELF, &used);
            return used.ru_minflt;
        };
        pass_on();  // touches what every message needs
        const long before = page_faults();
        constexpr int pages = 30;  // of 32 in a ring
        for (int i = 0; i < pages; ++i) pass_on();
        CHECK_RANK(page_faults() - before < pages / 2);
        return 0;
    });
}

TEST(Verbs, room_is_given_back_by_whoever_took_what_was_sent) {
    const Variable ring("LOOM_RING", "4096"), eager("LOOM_EAGER", "1000");
    on_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        constexpr int count = 8, more = 4;  // a ring has room for nine
        const std::vector<std::byte> data = pattern(400, 1);
        std::vector<std::byte> room(data.size());
        Counter counter;
        std::vector<Message> messages(count + more);
        const auto receive = [&](int i) {
            messages[i] = counter.message();
            if (transport.receive(Rank{0}, Tag{7}, room, messages[i])) --counter.open;
            drive(transport, [&] { return counter.open == 0; });
            return messages[i].outcome == Outcome::done && room == data;
        };
        if (transport.rank() == Rank{0}) {
            for (int i = 0; i < count; ++i) CHECK_RANK(transport.send(Rank{1}, Tag{7}, data, messages[i]));
            bootstrap.fence();  // all were sent
            bootstrap.fence();  // and taken
            for (int i = count; i < count + more; ++i) {
                messages[i] = counter.message();
                if (transport.send(Rank{1}, Tag{7}, data, messages[i])) --counter.open;
            }
            const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
            drive(transport, [&] { return counter.open == 0 || std::chrono::steady_clock::now() > patience; });
            CHECK_RANK(counter.open == 0);
            bootstrap.fence();
        } else {
            bootstrap.fence();
            for (int idle = 0; idle < 1000;) idle = transport.progress() ? 0 : idle + 1;
            for (int i = 0; i < count; ++i) CHECK_RANK(receive(i));
            bootstrap.fence();
            bootstrap.fence();  // the rest was sent while nobody looked
            for (int i = count; i < count + more; ++i) CHECK_RANK(receive(i));
        }
        return 0;
    });
}

TEST(Verbs, lengths_that_differ_are_told_on_every_combination_of_protocols) {
    on_ranks(2, [](Transport& transport, Bootstrap&) {
        const std::pair<std::size_t, std::size_t> sent_and_expected[] = {
            {8, 16}, {16, 8}, {8, 1 << 20}, {1 << 20, 8}, {1 << 20, 2 << 20}, {2 << 20, 1 << 20}, {0, 8}, {1 << 20, 0}};
        Tag tag{10};
        for (const auto& [sent, expected] : sent_and_expected) {
            ++tag.value;
            Counter counter;
            Message message = counter.message();
            std::vector<std::byte> data(std::max(sent, expected));
            const std::span<std::byte> whole(data);
            if (transport.rank() == Rank{0}) {
                if (transport.send(Rank{1}, tag, whole.first(sent), message)) --counter.open;
                drive(transport, [&] { return counter.open == 0; });
            } else {
                if (transport.receive(Rank{0}, tag, whole.first(expected), message)) --counter.open;
                drive(transport, [&] { return counter.open == 0; });
                CHECK_RANK(message.outcome == Outcome::mismatched);
            }
            // The connection still works.
            Message after = counter.message();
            std::uint64_t word = 42 + transport.rank().value;
            const auto bytes = std::as_writable_bytes(std::span(&word, 1));
            if (transport.rank() == Rank{0} ? transport.send(Rank{1}, Tag{2}, bytes, after)
                                            : transport.receive(Rank{0}, Tag{2}, bytes, after))
                --counter.open;
            drive(transport, [&] { return counter.open == 0; });
            CHECK_RANK(word == 42);
        }
        return 0;
    });
}

TEST(Verbs, a_killed_rank_is_lost_to_those_who_wait_for_it) {
    Launch request;
    request.ranks = 3;
    request.timeout = std::chrono::seconds(30);
    request.grace = std::chrono::seconds(20);
    request.body = [](Rank me) {
        const auto bootstrap = find_bootstrap();
        const auto transport = open_verbs(*bootstrap);
        if (me == Rank{1}) {
            raise(SIGKILL);
        }
        Counter counter;
        std::vector<std::byte> small(8), large(1 << 20);
        Message messages[3] = {counter.message(), counter.message(), counter.message()};
        if (transport->receive(Rank{1}, Tag{1}, small, messages[0])) --counter.open;
        if (transport->receive(Rank{1}, Tag{2}, large, messages[1])) --counter.open;
        if (transport->send(Rank{1}, Tag{3}, large, messages[2])) --counter.open;
        drive(*transport, [&] { return counter.open == 0; });
        for (const Message& message : messages)
            if (message.outcome != Outcome::lost) return 2;
        return transport->is_lost(Rank{1}) ? 3 : 4;  // another that has ended since may be the first in time
    };

    const LaunchOutcome outcome = launch(request);

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[1].signal, SIGKILL);
    EXPECT_EQ(outcome.ranks[0].exit_code, 3);
    EXPECT_EQ(outcome.ranks[2].exit_code, 3);
}

TEST(Verbs, without_a_launchers_word_the_adapter_tells_that_a_rank_is_gone) {
    // A bootstrap that knows nothing of lost ranks, as under a launcher that does not tell.
    struct Silent : Bootstrap {
        explicit Silent(Bootstrap& real) : real_(real) {}
        std::string_view name() const override { return "silent"; }
        Rank rank() const override { return real_.rank(); }
        std::uint32_t size() const override { return real_.size(); }
        void put(std::string_view key, std::string_view value) override { real_.put(key, value); }
        void fence() override { real_.fence(); }
        std::string get(Rank of, std::string_view key) override { return real_.get(of, key); }
        Bootstrap& real_;
    };
    Launch request;
    request.ranks = 2;
    request.timeout = std::chrono::seconds(30);
    request.grace = std::chrono::seconds(20);
    request.body = [](Rank me) {
        const auto bootstrap = find_bootstrap();
        Silent silent(*bootstrap);
        const auto transport = open_verbs(silent);
        if (me == Rank{1}) raise(SIGKILL);
        Counter counter;
        std::vector<std::byte> small(8);
        Message message = counter.message();
        if (transport->receive(Rank{1}, Tag{1}, small, message)) --counter.open;
        drive(*transport, [&] { return counter.open == 0; });
        return message.outcome == Outcome::lost ? 3 : 2;
    };

    const LaunchOutcome outcome = launch(request);

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 3);
}

// The adapter is only asked about ranks of whom something is wanted.
TEST(Verbs, the_launchers_word_tells_of_a_rank_of_whom_nothing_is_wanted) {
    const LaunchOutcome outcome = launch_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        bootstrap.fence();
        if (transport.rank() == Rank{1}) raise(SIGKILL);
        const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        drive(transport, [&] { return transport.lost() || std::chrono::steady_clock::now() > patience; });
        return transport.lost() == Rank{1} ? 3 : 2;
    });

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[0].exit_code, 3);
}

TEST(Verbs, a_datagram_reaches_every_rank_but_its_sender) {
    on_ranks(4, [](Transport& transport, Bootstrap& bootstrap) {
        Multicast* const multicast = transport.multicast();
        CHECK_RANK(multicast != nullptr);
        struct Heard {
            int count = 0;
            bool right = true;
        } heard;
        multicast->listen(
            [](void* owner, Rank from, Tag tag, std::uint32_t fragment, std::span<const std::byte> data) {
                Heard& into = *static_cast<Heard*>(owner);
                ++into.count;
                const auto expected = pattern(100, fragment);
                into.right = into.right && from == Rank{2} && tag == Tag{9} && data.size() == 100 &&
                             std::memcmp(data.data(), expected.data(), 100) == 0;
            },
            &heard);
        bootstrap.fence();
        Counter counter;
        if (transport.rank() == Rank{2}) {
            for (std::uint32_t i = 0; i < 20; ++i) multicast->send(Tag{9}, i, pattern(100, i));
            // Until all have them: what a sender was given leaves only while it is driven.
            std::vector<Message> words(4);
            for (const std::uint32_t from : {0u, 1u, 3u}) {
                words[from] = counter.message();
                if (transport.receive(Rank{from}, Tag{1}, {}, words[from])) --counter.open;
            }
            drive(transport, [&] { return counter.open == 0; });
            CHECK_RANK(heard.count == 0);
        } else {
            drive(transport, [&] { return heard.count == 20; });
            CHECK_RANK(heard.right);
            Message word = counter.message();
            if (transport.send(Rank{2}, Tag{1}, {}, word)) --counter.open;
            drive(transport, [&] { return counter.open == 0; });
        }
        return 0;
    });
}

TEST(Verbs, bells_that_ring_for_nobody_do_not_stop_the_sender) {
    on_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        constexpr int count = 6000;  // more than there are requests for bells
        std::uint64_t word = 5;
        const auto bytes = std::as_writable_bytes(std::span(&word, 1));
        Counter counter;
        bootstrap.fence();
        if (transport.rank() == Rank{0}) {
            for (int i = 0; i < count; ++i) {
                Message message = counter.message();
                if (transport.send(Rank{1}, Tag{1}, bytes, message)) --counter.open;
                drive(transport, [&] { return counter.open == 0; });
            }
        } else {
            for (int i = 0; i < count; ++i) {
                Message message = counter.message();
                if (transport.receive(Rank{0}, Tag{1}, bytes, message)) --counter.open;
                drive(transport, [&] { return counter.open == 0; });
                transport.set_events(i % 2 == 0);  // on while the next is sent, off when it is taken in
            }
        }
        return 0;
    });
}

TEST(Verbs, whoever_sleeps_is_woken_by_a_message_and_by_an_interrupt) {
    on_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        std::uint64_t word = 5;
        const auto bytes = std::as_writable_bytes(std::span(&word, 1));
        Counter counter;
        if (transport.rank() == Rank{1}) transport.set_events(true);
        bootstrap.fence();
        for (int i = 0; i < 100; ++i) {
            Message there = counter.message(), back = counter.message();
            if (transport.rank() == Rank{0}) {
                if (transport.receive(Rank{1}, Tag{2}, bytes, back)) --counter.open;
                if (transport.send(Rank{1}, Tag{1}, bytes, there)) --counter.open;
                drive(transport, [&] { return counter.open == 0; });
            } else {
                if (transport.receive(Rank{0}, Tag{1}, bytes, there)) --counter.open;
                while (counter.open > 1) {
                    if (transport.progress()) continue;
                    transport.sleep(std::chrono::seconds(20));  // far beyond the test's patience: the bell must ring
                }
                if (transport.send(Rank{0}, Tag{2}, bytes, back)) --counter.open;
                CHECK_RANK(counter.open == 0);
            }
        }
        if (transport.rank() == Rank{1}) {
            transport.interrupt();
            transport.sleep(std::chrono::seconds(20));
        }
        return 0;
    });
}

TEST(Verbs, registrations_are_made_once_and_kept) {
    on_ranks(1, [](Transport&, Bootstrap&) {
        const Device device;
        Registrations registrations(device);
        registrations.take_whole_mappings(false);
        std::vector<std::byte> a(100'000), b(100'000);
        for (int i = 0; i < 10; ++i) {
            Registration& first = registrations.acquire(a, true);
            Registration& second = registrations.acquire(b, true);
            Registration& part = registrations.acquire(std::span(a).subspan(5000, 100), false);
            CHECK_RANK(part.begin <= reinterpret_cast<std::uint64_t>(a.data()) + 5000);
            registrations.release(part);
            registrations.release(second);
            registrations.release(first);
        }
        CHECK_RANK(registrations.made() == 2);
        return 0;
    });
}

// On the software HCA a program's next buffer costs no registration when it lies in a mapping that is known.
TEST(Verbs, a_mapping_is_registered_as_a_whole) {
    on_ranks(1, [](Transport&, Bootstrap&) {
        const Device device;
        Registrations registrations(device);
        constexpr std::size_t page = 4096, pages = 100;
        void* const memory =
            mmap(nullptr, (pages + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK_RANK(memory != MAP_FAILED);
        std::byte* const first = static_cast<std::byte*>(memory) + page;
        CHECK_RANK(mprotect(first, pages * page, PROT_READ | PROT_WRITE) == 0);
        for (std::size_t i = 0; i < pages; ++i) {
            Registration& part = registrations.acquire({first + i * page + 10, 100}, i % 2 == 0);
            CHECK_RANK(part.begin == reinterpret_cast<std::uint64_t>(first));
            CHECK_RANK(part.end == part.begin + pages * page);
            registrations.release(part);
        }
        CHECK_RANK(registrations.made() == 1);
        Registration& exact = registrations.acquire_exactly({first + page, page}, true);
        CHECK_RANK(exact.begin == reinterpret_cast<std::uint64_t>(first + page) && exact.end == exact.begin + page);
        return 0;
    });
}

TEST(Verbs, pieces_of_shared_memory_do_not_overlap_and_are_used_again) {
    on_ranks(1, [](Transport& transport, Bootstrap&) {
        std::uint64_t state = 7;
        const auto draw = [&](std::uint64_t below) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            return (state >> 33) % below;
        };
        struct Piece {
            std::span<std::byte> memory;
            std::byte mark;
        };
        std::vector<Piece> pieces;
        for (int i = 0; i < 3000; ++i) {
            if (pieces.size() < 40 && draw(3) != 0) {
                const Piece piece{transport.allocate(draw(600'000)), static_cast<std::byte>(i)};
                CHECK_RANK(reinterpret_cast<std::uintptr_t>(piece.memory.data()) % 64 == 0);
                std::fill(piece.memory.begin(), piece.memory.end(), piece.mark);
                pieces.push_back(piece);
            } else if (!pieces.empty()) {
                const std::size_t which = draw(pieces.size());
                for (const std::byte b : pieces[which].memory) CHECK_RANK(b == pieces[which].mark);
                transport.release(pieces[which].memory);
                pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(which));
            }
        }
        for (const Piece& piece : pieces) transport.release(piece.memory);
        // All of it is one piece again.
        const auto large = transport.allocate(8 << 20);
        std::fill(large.begin(), large.end(), std::byte{1});
        transport.release(large);
        return 0;
    });
}

TEST(Verbs, many_registrations_are_forgotten_but_for_those_in_use) {
    on_ranks(1, [](Transport&, Bootstrap&) {
        const Device device;
        Registrations registrations(device);
        registrations.take_whole_mappings(false);
        std::vector<std::byte> all(3000 * 8192);
        Registration& held = registrations.acquire(std::span(all).first(8192), true);
        for (std::size_t i = 1; i < 3000; ++i)
            registrations.release(registrations.acquire(std::span(all).subspan(i * 8192, 8192), true));
        const std::uint64_t made = registrations.made();
        Registration& again = registrations.acquire(std::span(all).first(8192), true);
        CHECK_RANK(&again == &held);
        CHECK_RANK(registrations.made() == made);
        registrations.release(registrations.acquire(std::span(all).subspan(8192 * 5, 8192), true));
        CHECK_RANK(registrations.made() == made + 1);  // it was long ago
        return 0;
    });
}

TEST(Verbs, registrations_of_memory_that_is_gone_are_not_used_again) {
    on_ranks(1, [](Transport&, Bootstrap&) {
        const Device device;
        Registrations registrations(device);
        registrations.take_whole_mappings(false);
        std::vector<std::byte> all(64 * 4096);
        const std::span<std::byte> gone = std::span(all).subspan(16 * 4096, 8 * 4096);
        const auto use = [&](std::span<std::byte> memory) {
            registrations.release(registrations.acquire(memory, true));
        };
        use(gone.first(4096));
        use(std::span(all).subspan(20 * 4096, 12 * 4096));  // begins in it
        use(std::span(all).subspan(40 * 4096, 4096));       // has nothing to do with it
        const std::uint64_t before = registrations.made();
        registrations.forget(gone);
        use(std::span(all).subspan(40 * 4096, 4096));
        CHECK_RANK(registrations.made() == before);
        use(gone.first(4096));
        use(std::span(all).subspan(20 * 4096, 4096));
        CHECK_RANK(registrations.made() == before + 2);
        return 0;
    });
}

TEST(Verbs, a_put_beyond_what_was_exposed_is_refused) {
    on_ranks(2, [](Transport& transport, Bootstrap& bootstrap) {
        std::vector<std::byte> exposed(100), data(60);
        const RemoteMemory mine = transport.expose(exposed);
        bootstrap.put("memory", std::string(reinterpret_cast<const char*>(&mine), sizeof mine));
        bootstrap.fence();
        const Rank other{1 - transport.rank().value};
        RemoteMemory theirs;
        std::memcpy(&theirs, bootstrap.get(other, "memory").data(), sizeof theirs);
        for (const Rank to : {other, transport.rank()})
            for (const std::uint64_t offset : {std::uint64_t{41}, std::uint64_t{101}, ~std::uint64_t{0} - 10}) {
                Message message;
                bool refused = false;
                try {
                    (void)transport.put(to, to == other ? theirs : mine, offset, data, message);
                } catch (const UsageError&) {
                    refused = true;
                }
                CHECK_RANK(refused);
            }
        bootstrap.fence();
        return 0;
    });
}

// Every look of rank 1 finds a message of rank 0, and it hears of the loss all the same.
TEST(Verbs, ALossIsFoundWhileAnotherRankGoesOnSending) {
    struct Shared {
        std::atomic<std::uint64_t> sent{0};
        std::atomic<bool> found{false};
    };
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    Shared& shared = *new (memory) Shared;

    const LaunchOutcome outcome = launch_ranks(3, [&](Transport& transport, Bootstrap& bootstrap) {
        std::vector<std::byte> data(8);
        Counter counter;
        bootstrap.fence();
        if (transport.rank() == Rank{2}) raise(SIGKILL);
        if (transport.rank() == Rank{0})
            while (!shared.found) {
                Message message = counter.message();
                if (transport.send(Rank{1}, Tag{1}, data, message)) --counter.open;
                drive(transport, [&] { return counter.open == 0 || shared.found; });
                ++shared.sent;
            }
        if (transport.rank() == Rank{0}) _exit(0);  // as it is: what is left nobody receives
        Message lost = counter.message();
        CHECK_RANK(!transport.receive(Rank{2}, Tag{1}, data, lost));
        for (std::uint64_t seen = 0; lost.outcome == Outcome::pending; ++seen) {
            while (shared.sent == seen) std::this_thread::yield();
            Message message = counter.message();
            std::vector<std::byte> word(8);
            if (transport.receive(Rank{0}, Tag{1}, word, message)) --counter.open;
            while (message.outcome == Outcome::pending) transport.progress();
        }
        shared.found = true;
        CHECK_RANK(lost.outcome == Outcome::lost);
        _exit(0);
    });
    munmap(memory, sizeof(Shared));

    EXPECT_FALSE(outcome.timed_out);
    EXPECT_EQ(outcome.ranks[1].exit_code, 0) << "failed in that line (modulo 256)";
}

}  // namespace
}  // namespace loom::transport
