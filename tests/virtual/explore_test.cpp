// Orders that the standard leaves open: programs that rely on one are found, others survive.
#include "loom/twin/explore.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/cases.hpp"
#include "conformance/kit.hpp"
#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/coll/typed.hpp"
#include "virtual/tree.hpp"

namespace loom::twin {
namespace {

using conformance::Operations;
using testing::Contains;
using testing::HasSubstr;
using transport::Notification;
using transport::RemoteMemory;
using transport::Transport;

Options on(std::uint32_t ranks) {
    Options options;
    options.ranks = ranks;
    return options;
}

// The ranks beyond 0 write a byte into the memory of rank 0 and notify it, each a while after the one before. Rank 0
// answers what `serve` makes of the notifications in their order.
std::string write_to_a_server(Transport& transport,
                              const std::function<std::string(const std::vector<Notification>&)>& serve) {
    const std::uint32_t me = transport.rank().value, writers = transport.size() - 1;
    std::vector<std::byte> memory(transport.size());
    const RemoteMemory mine = transport.expose(memory);
    const std::vector<RemoteMemory> all = conformance::exchange(transport, mine);
    std::string answer = "wrote";
    if (me == 0) {
        std::vector<Notification> seen;
        while (seen.size() < writers) {
            while (const auto next = transport.next_notification()) seen.push_back(*next);
            if (!transport.progress() && seen.size() < writers) transport.rest();
        }
        answer = serve(seen);
    } else {
        compute(microseconds(5) * (me - 1));
        Operations operations(transport);
        operations.put_notify(Rank{0}, all[0], me, conformance::Bytes(1), me);
        operations.wait_and_check();
    }
    conformance::barrier(transport);
    return answer;
}

std::string in_their_order(const std::vector<Notification>& seen) {
    std::string text;
    for (const Notification& each : seen) text += std::to_string(each.value);
    return text;
}

// The planted bug: whoever comes first must be rank 1.
std::string relies_on_an_order(Transport& transport) {
    return write_to_a_server(transport, in_their_order);
}

std::string relies_on_nothing(Transport& transport) {
    return write_to_a_server(transport, [](const std::vector<Notification>& seen) {
        std::uint64_t sum = 0;
        for (const Notification& each : seen) sum += each.value;
        return std::to_string(sum);
    });
}

bool equal(const Played& a, const Played& b) {
    return a.answer == b.answer && a.thrown == b.thrown && a.result.state == b.result.state &&
           a.result.finish == b.result.finish && a.result.ranks == b.result.ranks &&
           a.result.trouble == b.result.trouble && a.result.order == b.result.order;
}

TEST(Explore, FindsAnOrderThatAProgramReliesOnAndReplaysIt) {
    const Exploration found = explore(on(3), 1000, relies_on_an_order);

    ASSERT_EQ(found.failure, Failure::differs);
    EXPECT_EQ(found.why, (std::vector<std::string>{"line 1 of the answer", "undisturbed:  rank 0: 12",
                                                   "with the seed: rank 0: 21"}));
    EXPECT_EQ(found.seed, found.replay.disturb);
    const Played once = play(found.replay, relies_on_an_order);
    EXPECT_THAT(once.answer, HasSubstr("rank 0: 21"));
    for (int again = 0; again < 100; ++again) ASSERT_TRUE(equal(play(found.replay, relies_on_an_order), once));
    EXPECT_EQ(explore(on(3), 1000, relies_on_an_order).seed, found.seed);
}

TEST(Explore, FindsAnOrderAtEveryLevel) {
    const Tree tree(3);
    for (const sim::Level level : {sim::Level::packet, sim::Level::flow}) {
        Options options;
        options.level = level;
        options.network = tree.network();

        EXPECT_EQ(explore(options, 1000, relies_on_an_order).failure, Failure::differs) << to_string(level);
    }
}

// Of 720 orders of six writers the one that begins with the last three.
TEST(Explore, FindsAnOrderThatNeedsSeveralLateMessages) {
    const Exploration found = explore(on(7), 1000, [](Transport& transport) {
        return write_to_a_server(transport, [](const std::vector<Notification>& seen) {
            return in_their_order(seen).starts_with("654") ? "wrong" : "right";
        });
    });

    EXPECT_EQ(found.failure, Failure::differs) << found.orders << " orders";
    RecordProperty("seed", static_cast<int>(found.seed));
}

TEST(Explore, AProgramThatReliesOnNothingSurvives) {
    const Exploration found = explore(on(5), 1000, relies_on_nothing);

    EXPECT_EQ(found.failure, Failure::none);
    EXPECT_EQ(found.seeds, 1000u);
    EXPECT_GT(found.orders, 24u);  // of four writers, and of what they exchange
    EXPECT_THAT(to_lines(found),
                testing::ElementsAre(fmt::format("1000 seeds with {} orders: all end, with one answer", found.orders)));
}

TEST(Explore, ADeadlockIsNamed) {
    const Exploration found = explore(on(3), 1000, [](Transport& transport) {
        std::string first;
        write_to_a_server(transport, [&](const std::vector<Notification>& seen) {
            if (seen.front().value == 1) return "";
            Operations operations(transport);
            operations.receive(Rank{2}, 0x77, 8);
            operations.wait_and_check();
            return "";
        });
        return "";
    });

    EXPECT_EQ(found.failure, Failure::stuck);
    EXPECT_THAT(found.why, Contains("ranks wait for each other in a circle: 0 for 2 for 0"));
    EXPECT_THAT(found.why, Contains("rank 0 waits for a message of 8 bytes from rank 2, tag 0x77"));
    const auto lines = to_lines(found);
    EXPECT_EQ(lines.front(), fmt::format("seed {} is stuck", found.seed));
    EXPECT_EQ(lines.back(),
              fmt::format("again with seed {}, longest delay {}", found.seed, to_string(found.replay.longest_delay)));
}

TEST(Explore, ALoopThatNeverEndsIsEnded) {
    const Exploration found = explore(on(3), 1000, [](Transport& transport) {
        return write_to_a_server(transport, [&](const std::vector<Notification>& seen) {
            while (seen.front().value != 1) (void)transport.progress();
            return "";
        });
    });

    EXPECT_EQ(found.failure, Failure::endless);
    EXPECT_THAT(found.why, Contains(HasSubstr("not at an end after")));
}

TEST(Explore, AnExceptionIsTheAnswer) {
    const Exploration found = explore(on(3), 1000, [](Transport& transport) {
        return write_to_a_server(transport, [](const std::vector<Notification>& seen) -> std::string {
            if (seen.front().value != 1) throw Error("rank 2 came first");
            return "";
        });
    });

    EXPECT_EQ(found.failure, Failure::threw);
    EXPECT_EQ(found.why, std::vector<std::string>{"rank 2 came first"});
}

TEST(Explore, WhatFailsUndisturbedIsSeedZero) {
    const Exploration found = explore(on(2), 10, [](Transport& transport) {
        if (transport.rank().value == 1) throw Error("always");
        return "";
    });

    EXPECT_EQ(found.failure, Failure::threw);
    EXPECT_EQ(found.seed, 0u);
    EXPECT_EQ(found.seeds, 0u);
    EXPECT_EQ(to_lines(found).front(), "the undisturbed run ends with an exception");
}

// One after the other of a pair: as messages with one tag, and as notifications.
TEST(Explore, NothingOvertakesInsideAPair) {
    constexpr std::uint32_t count = 20;
    const Exploration found = explore(on(4), 300, [](Transport& transport) {
        const std::uint32_t me = transport.rank().value, ranks = transport.size();
        std::vector<std::byte> memory(8);
        const auto all = conformance::exchange(transport, transport.expose(memory));
        Operations operations(transport);
        std::vector<conformance::Operation*> receives;
        for (std::uint32_t i = 0; i < count; ++i)
            for (std::uint32_t other = 0; other < ranks; ++other) {
                if (other == me) continue;
                receives.push_back(&operations.receive(Rank{other}, 5, 1));
                operations.send(Rank{other}, 5, conformance::Bytes(1, std::byte(i)));
                operations.put_notify(Rank{other}, all[other], 0, {}, i);
            }
        std::vector<std::uint32_t> next(ranks);
        for (std::uint32_t seen = 0; seen < count * (ranks - 1);) {
            if (const auto notification = transport.next_notification()) {
                conformance::require(notification->value == next[notification->from.value]++, "a put overtook");
                ++seen;
            } else if (!transport.progress()) {
                transport.rest();
            }
        }
        operations.wait_and_check();
        for (std::size_t i = 0; i < receives.size(); ++i)
            conformance::require(receives[i]->data[0] == std::byte(i / (ranks - 1)), "a message overtook");
        conformance::barrier(transport);
        return "";
    });

    EXPECT_EQ(found.failure, Failure::none) << testing::PrintToString(to_lines(found));
    EXPECT_GT(found.orders, 200u);
}

TEST(Explore, TheCasesOfAllTransportsSurvive) {
    const Tree tree(5);
    for (const sim::Level level : {sim::Level::message, sim::Level::packet}) {
        Options options = on(5);
        options.level = level;
        if (level != sim::Level::message) options.network = tree.network();
        for (options.disturb = 1; options.disturb <= 4; ++options.disturb) {
            const Played played = play(options, [](Transport& transport) {
                conformance::run_all(transport);
                return "";
            });

            EXPECT_EQ(played.thrown, "") << "seed " << options.disturb;
            EXPECT_EQ(played.result.state, sim::State::finished) << testing::PrintToString(played.result.trouble);
        }
    }
}

TEST(Explore, CollectivesSurvive) {
    const Exploration found = explore(on(6), 100, [](Transport& transport) {
        coll::World world(transport, nullptr);
        const auto all = world.communicator();
        std::vector<int> mine(1000, static_cast<int>(world.rank().value) + 1), sum(1000), gathered(6000);
        auto first = all.iallreduce(mine, sum, std::plus<>{});
        auto second = all.iallgather(mine, gathered);
        second.wait();
        first.wait();
        return fmt::format("{} {}", sum[999], fmt::join(gathered, " "));
    });

    EXPECT_EQ(found.failure, Failure::none) << testing::PrintToString(to_lines(found));
    EXPECT_GT(found.orders, 50u);
}

TEST(Explore, ThreadsDoNotMatter) {
    const Tree tree(8);
    Options options;
    options.level = sim::Level::packet;
    options.network = tree.network();
    for (options.disturb = 1; options.disturb <= 20; ++options.disturb) {
        options.simulation.threads = 1;
        const Played one = play(options, relies_on_an_order);
        options.simulation.threads = 2;

        EXPECT_TRUE(equal(play(options, relies_on_an_order), one)) << "seed " << options.disturb;
    }
}

TEST(Explore, UndisturbedRunsAreAsWithoutIt) {
    Options options = on(5);
    const Played plain = play(options, relies_on_an_order);

    (void)explore(options, 5, relies_on_nothing);
    options.longest_delay = milliseconds(7);
    options.give_up = milliseconds(100);

    EXPECT_TRUE(equal(play(options, relies_on_an_order), plain));
    EXPECT_EQ(plain.result.order, 0u);
}

TEST(Explore, MeasuredComputationIsRefused) {
    Options options = on(2);
    options.computing.how = Computing::How::measured;

    EXPECT_THROW((void)explore(options, 1, relies_on_nothing), UsageError);
}

}  // namespace
}  // namespace loom::twin
