// Programs that run, at the message level: they end when a schedule of the same operations ends, to the picosecond.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/traffic/catalogue.hpp"
#include "loom/traffic/schedules.hpp"
#include "reference/loggops.hpp"
#include "reference/message_options.hpp"
#include "reference/random_schedules.hpp"
#include "sim/engines.hpp"
#include "sim/live_message_player.hpp"
#include "sim/message/live.hpp"

namespace loom::sim {
namespace {

using reference::make_random;
using reference::RandomSchedule;
using testing::ElementsAre;
using traffic::Schedule;

// Without the edges that the player does not know.
Schedule without_start_edges(const Schedule& schedule) {
    traffic::ScheduleBuilder builder(schedule.ranks());
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
        for (const traffic::Op& op : schedule.ops(Rank{rank})) builder.add(Rank{rank}, op);
        const traffic::OpIndex first = schedule.first(Rank{rank});
        for (std::uint32_t number = 0; number < schedule.ops(Rank{rank}).size(); ++number)
            for (const traffic::Successor& next : schedule.successors(first + number))
                if (!next.on_start) builder.require(Rank{rank}, next.op - first, number);
    }
    return builder.build();
}

bool flows_are_equal(const std::vector<Flow>& one, const std::vector<Flow>& other) {
    return std::ranges::equal(one, other, [](const Flow& a, const Flow& b) {
        return a.from == b.from && a.to == b.to && a.bytes == b.bytes && a.delivered == b.delivered &&
               a.begun == b.begun && a.ended == b.ended;
    });
}

// Plays a schedule both ways. Flows are compared where all of them have begun: schedules know those that will.
void expect_equal(const Schedule& schedule, const Options& options, Time step, const std::string& what) {
    const reference::LogGops expected(schedule, options);
    const auto still = make_message_simulation(schedule, options);
    const State end = still->advance(never);

    MessagePrograms programs(schedule, options.local);
    const auto live = make_live_message_simulation(static_cast<std::uint32_t>(schedule.ranks()), programs, options);
    programs.play_on(*live);
    State state = State::running;
    for (Time until = step; state == State::running; until = step == never ? never : until + step)
        state = live->advance(until);

    ASSERT_EQ(state, end) << what;
    ASSERT_EQ(live->rank_ends(), still->rank_ends()) << what;
    ASSERT_EQ(live->rank_ends(), expected.ends()) << what;
    ASSERT_EQ(programs.told(), expected.core_free()) << what;
    ASSERT_EQ(live->work().bytes, still->work().bytes) << what;
    ASSERT_EQ(live->now(), still->now()) << what;
    ASSERT_TRUE(end != State::finished || flows_are_equal(live->flows(), still->flows())) << what;
    ASSERT_EQ(live->trouble().empty(), end == State::finished) << what;
}

struct Case {
    const char* name;
    RandomSchedule shape;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
}

class LiveMessageLevel : public testing::TestWithParam<Case> {};

TEST_P(LiveMessageLevel, RandomProgramsEndAsTheirSchedules) {
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        const Schedule schedule = without_start_edges(make_random(GetParam().shape, seed));
        const std::string what = "seed " + std::to_string(seed);
        ASSERT_NO_FATAL_FAILURE(expect_equal(schedule, round_options(seed, 1000), never, what + ", round"));
        ASSERT_NO_FATAL_FAILURE(expect_equal(schedule, any_options(seed), never, what + ", any"));
    }
}

TEST_P(LiveMessageLevel, RandomProgramsMayBePlayedInPieces) {
    for (std::uint64_t seed = 401; seed <= 430; ++seed) {
        const Schedule schedule = without_start_edges(make_random(GetParam().shape, seed));
        ASSERT_NO_FATAL_FAILURE(
            expect_equal(schedule, round_options(seed, 1000), nanoseconds(1), std::to_string(seed)));
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LiveMessageLevel,
                         testing::Values(Case{"plain", {}}, Case{"two_ranks", {.ranks = 2, .messages = 12, .tags = 1}},
                                         Case{"one_rank", {.ranks = 1, .messages = 12, .tags = 1, .local = true}},
                                         Case{"no_work", {.most_work = 0}},
                                         Case{"local", {.ranks = 6, .messages = 80, .most_work = 3, .local = true}},
                                         Case{"narrow", {.ranks = 12, .messages = 120, .tags = 2, .narrow = true}},
                                         Case{"many_tags", {.ranks = 3, .messages = 150, .tags = 100, .narrow = true}}),
                         [](const auto& each) { return each.param.name; });

TEST(LiveMessageByHand, ProgramsOfTheCatalogueEndAsTheirSchedules) {
    std::uint64_t seed = 0;
    for (const std::size_t ranks : {2, 4, 9, 16, 64})
        for (const char* name : {"ring", "binomial", "dissemination", "stencil2d", "alltoall", "random"}) {
            const Schedule schedule = without_start_edges(
                traffic::make_schedule(name, ranks, {.bytes = 12, .work = nanoseconds(5), .seed = 3}));
            for (int round = 0; round < 6; ++round, ++seed) {
                const std::string what = std::string(name) + " on " + std::to_string(ranks);
                ASSERT_NO_FATAL_FAILURE(expect_equal(schedule, round_options(seed, 1000), never, what));
            }
        }
}

TEST(LiveMessageByHand, ProgramsOfPatternsEndAsTheirSchedules) {
    for (const std::size_t ranks : {2, 8, 13, 64})
        for (const char* name : {"shift", "dissemination", "binomial", "bruck", "gather", "scatter"})
            for (const auto parting : {traffic::Parting::none, traffic::Parting::own, traffic::Parting::barrier}) {
                const Schedule schedule = traffic::from_pattern(*traffic::make_pattern(name, ranks), 25, parting);
                for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                    const std::string what = std::string(name) + " on " + std::to_string(ranks);
                    ASSERT_NO_FATAL_FAILURE(expect_equal(schedule, round_options(seed, 500), never, what));
                }
            }
}

// A program that a test writes: what it leaves out does nothing.
struct Written : Programs {
    std::function<void(Rank, Time)> on_start = [](Rank, Time) {};
    std::function<void(Rank, Cookie, Time)> on_sent = [](Rank, Cookie, Time) {}, on_received = on_sent,
                                            on_woken = on_sent;
    std::function<std::optional<Cookie>(Rank, Rank, LiveMessage, Cookie)> on_arrived =
        [](Rank, Rank, LiveMessage, Cookie send) { return std::optional(send); };
    std::unique_ptr<LiveSimulation> simulation;

    void play(std::uint32_t ranks, const Options& options) {
        simulation = make_live_simulation(Level::message, {}, ranks, *this, options);
    }
    void start(Rank rank, Time now) override { on_start(rank, now); }
    void sent(Rank rank, Cookie send, Time now) override { on_sent(rank, send, now); }
    void received(Rank rank, Cookie receive, Time now) override { on_received(rank, receive, now); }
    void woken(Rank rank, Cookie what, Time now) override { on_woken(rank, what, now); }
    std::optional<Cookie> arrived(Rank rank, Rank from, LiveMessage message, Cookie send, Time) override {
        return on_arrived(rank, from, message, send);
    }
};

Options by_hand() {
    Options options;
    options.message.parameters = {
        .L = nanoseconds(10), .o = nanoseconds(2), .g = nanoseconds(3), .G = 1000, .O = 0, .S = 5};
    return options;
}

constexpr Rank first{0}, second{1};

TEST(LiveMessageByHand, AMessageComesAfterItsCosts) {
    Written programs;
    std::vector<Time> sent, received;
    programs.on_start = [&](Rank rank, Time) {
        if (rank == first) programs.simulation->send(first, second, 5, 7);
    };
    programs.on_sent = [&](Rank rank, Cookie, Time now) {
        sent.push_back(now);
        programs.simulation->end(rank);
    };
    programs.on_received = [&](Rank rank, Cookie receive, Time now) {
        EXPECT_EQ(receive, 7u);
        received.push_back(now);
        programs.simulation->end(rank);
    };
    Options options = by_hand();
    options.message.flows = true;
    programs.play(2, options);

    EXPECT_EQ(programs.simulation->advance(never), State::finished);

    EXPECT_THAT(sent, ElementsAre(nanoseconds(2))) << "o";
    EXPECT_THAT(received, ElementsAre(nanoseconds(18))) << "o, L, o and four bytes";
    EXPECT_THAT(programs.simulation->rank_ends(), ElementsAre(nanoseconds(2), nanoseconds(18)));
    const auto flows = programs.simulation->flows();
    ASSERT_EQ(flows.size(), 1u);
    EXPECT_EQ(flows[0].delivered, 5u);
    EXPECT_EQ(flows[0].ended, nanoseconds(16));
}

TEST(LiveMessageByHand, ALargeMessageIsSentWhenItIsTaken) {
    Written programs;
    std::vector<std::pair<std::uint32_t, Time>> told;  // of rank
    std::optional<LiveMessage> waits;
    programs.on_start = [&](Rank rank, Time) {
        if (rank == first)
            programs.simulation->send(first, second, 6, 1);
        else
            programs.simulation->wake(second, nanoseconds(100), 0);
    };
    programs.on_arrived = [&](Rank, Rank from, LiveMessage message, Cookie) {
        EXPECT_EQ(from, first);
        waits = message;
        return std::nullopt;
    };
    programs.on_woken = [&](Rank, Cookie, Time) { EXPECT_FALSE(programs.simulation->take(second, *waits, 2)); };
    programs.on_sent = [&](Rank rank, Cookie, Time now) { told.emplace_back(rank.value, now); };
    programs.on_received = [&](Rank rank, Cookie receive, Time now) {
        EXPECT_EQ(receive, 2u);
        told.emplace_back(rank.value, now);
    };
    programs.play(2, by_hand());

    EXPECT_EQ(programs.simulation->advance(nanoseconds(50)), State::running);
    EXPECT_TRUE(told.empty());
    EXPECT_EQ(programs.simulation->advance(never), State::stuck);

    EXPECT_THAT(told, ElementsAre(std::pair(0u, nanoseconds(100)), std::pair(1u, nanoseconds(100))));
    EXPECT_THAT(programs.simulation->rank_ends(), ElementsAre(never, never));
}

TEST(LiveMessageByHand, TimersComeWhateverTheCoreDoes) {
    Written programs;
    std::vector<std::pair<Cookie, Time>> woken;
    programs.on_start = [&](Rank, Time) {
        EXPECT_FALSE(programs.simulation->work(first, nanoseconds(10), 1));
        programs.simulation->wake(first, nanoseconds(4), 2);
        programs.simulation->wake(first, Time{}, 3);
    };
    programs.on_woken = [&](Rank rank, Cookie what, Time now) {
        woken.emplace_back(what, now);
        if (what == 2) (void)programs.simulation->work(rank, Time{}, 4);
        if (what == 4) programs.simulation->end(rank);
    };
    programs.play(1, by_hand());

    EXPECT_EQ(programs.simulation->advance(never), State::finished);

    EXPECT_THAT(woken, ElementsAre(std::pair(3, Time{}), std::pair(2, nanoseconds(4)), std::pair(1, nanoseconds(10)),
                                   std::pair(4, nanoseconds(10))));
}

// A send that a timer or arrived() begins while the core is busy waits behind those before it and before those after
// it, although the events that call the program were made in another order.
TEST(LiveMessageByHand, MessagesArriveInTheOrderOfTheirSends) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        Written programs;
        constexpr std::uint32_t ranks = 3;
        std::array<std::array<Cookie, ranks>, ranks> sent{}, taken{};  // how many, by sender and receiver
        std::array<int, ranks> left{60, 60, 60};
        const auto act = [&](Rank rank, Time now) {
            for (std::uint32_t i = random.below(4); i > 0 && left[rank.value] > 0; --i, --left[rank.value]) {
                const Rank to{random.below(ranks)};
                programs.simulation->send(rank, to, random.below(12), sent[rank.value][to.value]++);
                if (random.below(2) == 0) programs.simulation->wake(rank, now + nanoseconds(random.below(9)), 0);
                if (random.below(3) == 0) (void)programs.simulation->work(rank, nanoseconds(random.below(4)), 0);
            }
        };
        programs.on_start = act;
        programs.on_woken = programs.on_sent =
            programs.on_received = [&](Rank rank, Cookie, Time now) { act(rank, now); };
        programs.on_arrived = [&](Rank rank, Rank from, LiveMessage, Cookie send) {
            EXPECT_EQ(send, taken[from.value][rank.value]++) << seed;
            act(rank, programs.simulation->now());
            return std::optional(Cookie{0});
        };
        programs.play(ranks, round_options(seed, 1000));

        EXPECT_EQ(programs.simulation->advance(never), State::stuck);

        EXPECT_EQ(taken, sent) << seed;
    }
}

// In the order of sends, takes and work, whatever the order in which they were begun.
TEST(LiveMessageByHand, WhatBeginsAtOneMomentGoesSendsFirst) {
    Written programs;
    std::vector<std::pair<Cookie, Time>> done;
    programs.on_start = [&](Rank, Time) {
        EXPECT_FALSE(programs.simulation->work(first, nanoseconds(7), 1));
        programs.simulation->send(first, first, 1, 2);
        EXPECT_FALSE(programs.simulation->work(first, nanoseconds(1), 3));
        programs.simulation->send(first, first, 1, 4);
    };
    programs.on_arrived = [](Rank, Rank, LiveMessage, Cookie) { return std::nullopt; };
    programs.on_woken = programs.on_sent = [&](Rank, Cookie what, Time now) { done.emplace_back(what, now); };
    programs.play(1, by_hand());

    EXPECT_EQ(programs.simulation->advance(never), State::stuck);

    EXPECT_THAT(done, ElementsAre(std::pair(2, nanoseconds(2)), std::pair(1, nanoseconds(9)),
                                  std::pair(4, nanoseconds(11)), std::pair(3, nanoseconds(12))))
        << "the second send waits for the adapter while work takes the core, and then goes before other work";
}

TEST(LiveMessageByHand, WhatAProgramThrowsComesOutOfAdvance) {
    Written programs;
    programs.on_start = [&](Rank rank, Time) { programs.simulation->wake(rank, nanoseconds(rank.value), 0); };
    programs.on_woken = [&](Rank rank, Cookie, Time) {
        if (rank == first) throw std::runtime_error("the program ends");
        programs.simulation->end(rank);
    };
    programs.play(2, by_hand());

    EXPECT_THROW(programs.simulation->advance(never), std::runtime_error);
    EXPECT_THROW(programs.simulation->send(first, second, 1, 0), UsageError) << "nothing is called now";

    EXPECT_EQ(programs.simulation->advance(never), State::stuck) << "the other rank goes on";
    EXPECT_THAT(programs.simulation->rank_ends(), ElementsAre(never, nanoseconds(1)));
}

TEST(LiveMessageByHand, RecordsAreUsedAgain) {
    constexpr std::uint32_t ranks = 64, messages = 20'000;  // of each rank
    Written programs;
    std::array<std::uint32_t, ranks> taken{};
    Options options = by_hand();
    LiveMessageEngine simulation(ranks, programs, options);
    const auto send = [&](Rank rank, std::uint64_t bytes) {
        simulation.send(rank, Rank{(rank.value + 1) % ranks}, bytes, 0, 0);
    };
    programs.on_start = [&](Rank rank, Time) { send(rank, 1); };
    programs.on_received = [&](Rank rank, Cookie, Time) {
        if (++taken[rank.value] < messages) return send(rank, taken[rank.value] % 9);
        simulation.end(rank);
    };

    EXPECT_EQ(simulation.advance(never), State::finished);

    EXPECT_THAT(taken, testing::Each(messages));
    EXPECT_LE(simulation.records(), 4 * ranks);
}

TEST(LiveMessageByHand, TroubleNamesTheRanksThatHaveNotEnded) {
    Written programs;
    programs.on_start = [&](Rank rank, Time) {
        if (rank == first) programs.simulation->send(first, second, 1, 0);
        if (rank.value > 1) programs.simulation->end(rank);
    };
    programs.on_arrived = [](Rank, Rank, LiveMessage, Cookie) { return std::nullopt; };
    programs.play(4, by_hand());
    EXPECT_EQ(programs.simulation->advance(never), State::stuck);
    EXPECT_THAT(programs.simulation->trouble(),
                ElementsAre("rank 0 has not ended and waits for nothing that will come",
                            "rank 1 has not ended and waits for nothing that will come; it has not taken 1 message"));

    Written many;
    many.play(100, by_hand());
    EXPECT_EQ(many.simulation->advance(never), State::stuck);
    const auto lines = many.simulation->trouble();
    ASSERT_EQ(lines.size(), 20u);
    EXPECT_EQ(lines.back(), "and 81 more ranks");
}

TEST(LiveMessageByHand, WrongCallsAreRefused) {
    Written programs;
    LiveMessage message;
    programs.on_start = [&](Rank rank, Time) {
        LiveSimulation& simulation = *programs.simulation;
        if (rank == first) {
            EXPECT_THROW(simulation.send(second, first, 1, 0), UsageError) << "for another rank";
            EXPECT_THROW(simulation.send(first, Rank{2}, 1, 0), UsageError) << "to nobody";
            EXPECT_THROW(simulation.send(first, second, std::uint64_t{1} << 60, 0), Error) << "too long";
            EXPECT_THROW((void)simulation.work(first, Time{-1}, 0), UsageError);
            EXPECT_THROW((void)simulation.work(first, never, 0), Error);
            EXPECT_THROW(simulation.wake(first, Time{-1}, 0), UsageError) << "in the past";
            EXPECT_THROW(simulation.wake(first, never, 0), Error);
            EXPECT_THROW((void)simulation.take(first, LiveMessage{77}, 0), UsageError) << "there is none";
            EXPECT_THROW(simulation.advance(never), UsageError);
            simulation.send(first, second, 1, 0);
            simulation.end(first);
            EXPECT_THROW(simulation.end(first), UsageError) << "twice";
            EXPECT_THROW(simulation.send(first, second, 1, 0), UsageError) << "after its end";
        } else {
            simulation.wake(second, nanoseconds(200), 0);
        }
    };
    programs.on_arrived = [&](Rank, Rank, LiveMessage it, Cookie) {
        message = it;
        EXPECT_THROW((void)programs.simulation->take(second, it, 0), UsageError) << "arrived() answers";
        return std::nullopt;
    };
    programs.on_woken = [&](Rank, Cookie, Time) {
        EXPECT_FALSE(programs.simulation->take(second, message, 0));
        EXPECT_THROW((void)programs.simulation->take(second, message, 0), UsageError) << "twice";
        programs.simulation->end(second);
    };
    programs.play(2, by_hand());

    EXPECT_EQ(programs.simulation->advance(never), State::finished);
}

TEST(LiveMessageByHand, WrongOptionsAreRefused) {
    Written programs;
    Options options = by_hand();
    options.message.handshake = true;
    EXPECT_THROW(programs.play(2, options), UsageError);
    options = by_hand();
    options.message.parameters.L = Time{-1};
    EXPECT_THROW(programs.play(2, options), UsageError);
    options.message.parameters.L = never;
    EXPECT_THROW(programs.play(2, options), UsageError);
}

}  // namespace
}  // namespace loom::sim
