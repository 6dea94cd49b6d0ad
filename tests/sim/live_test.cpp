// Programs that run at the packet and the flow level, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <map>

#include "sim/packet_bed.hpp"
#include "sim/rank_numbers.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::ElementsAre;
using testing::HasSubstr;

// A message of nothing from host to host takes 350 ns, 26 bytes x 250 ps and 250 ns (packet_link_test.cpp).
constexpr Time empty_message{606'500};
constexpr Time acknowledged{606'500 + 407'500};

// What a test says; what it does not say writes a line. Messages are taken as they come.
struct Script final : Programs {
    LiveSimulation* simulation = nullptr;
    std::function<void(Rank, Time)> on_start = [](Rank, Time) {};
    std::function<void(Rank, Cookie, Time)> on_sent, on_received, on_woken;
    std::function<std::optional<Cookie>(Rank, Rank, LiveMessage, Cookie, Time)> on_arrived;
    std::vector<std::string> lines;

    void start(Rank rank, Time now) override { on_start(rank, now); }
    void sent(Rank rank, Cookie send, Time now) override { say(on_sent, "sent", rank, send, now); }
    std::optional<Cookie> arrived(Rank rank, Rank from, LiveMessage message, Cookie send, Time now) override {
        return on_arrived ? on_arrived(rank, from, message, send, now) : send;
    }
    void received(Rank rank, Cookie receive, Time now) override { say(on_received, "received", rank, receive, now); }
    void woken(Rank rank, Cookie what, Time now) override { say(on_woken, "woken", rank, what, now); }

private:
    void say(const std::function<void(Rank, Cookie, Time)>& instead, const char* what, Rank rank, Cookie cookie,
             Time now) {
        if (instead)
            instead(rank, cookie, now);
        else
            lines.push_back(fmt::format("{} {} {} {}", now.ps, rank.value, what, cookie));
    }
};

// Ranks on hosts of the star.
struct Stage {
    Bed bed{star + "flow none from A to B bytes 0\n"};
    Network network;
    Options options;
    Script script;
    std::unique_ptr<LiveSimulation> simulation;

    explicit Stage(const std::vector<std::string>& hosts) : network(bed.setup->network()) {
        network.placement.hosts.clear();
        for (const std::string& host : hosts)
            network.placement.hosts.push_back(host.empty() ? no_port : bed.port(host + ":1"));
    }
    LiveSimulation& open(Level level) {
        simulation = make_live_simulation(level, network, static_cast<std::uint32_t>(network.placement.hosts.size()),
                                          script, options);
        script.simulation = simulation.get();
        return *simulation;
    }
    // With threads although there are few ranks.
    packet::LiveEngine& open_engine(unsigned threads) {
        options.threads = threads;
        auto engine = std::make_unique<packet::LiveEngine>(
            network, LiveProgram::Source{static_cast<std::uint32_t>(network.placement.hosts.size()), &script}, options);
        packet::LiveEngine& result = *engine;
        simulation = std::move(engine);
        script.simulation = &result;
        return result;
    }
};

class LivePrograms : public testing::TestWithParam<Level> {};
INSTANTIATE_TEST_SUITE_P(Levels, LivePrograms, testing::Values(Level::packet, Level::flow),
                         [](const auto& level) { return std::string(to_string(level.param)); });

// The core is busy for 1 us and 3 ps, then for 2 ps; timers go off whatever it does, those of one moment in the order
// in which they were asked for.
TEST_P(LivePrograms, TimersGoOffAtTheirMomentAndWorkIsDoneInTurn) {
    Stage stage({"A"});
    LiveSimulation& simulation = stage.open(GetParam());
    stage.script.on_start = [&](Rank rank, Time) {
        simulation.wake(rank, microseconds(5), 1);
        EXPECT_FALSE(simulation.work(rank, Time{1'000'003}, 2));
        EXPECT_FALSE(simulation.work(rank, Time{2}, 3));
        EXPECT_FALSE(simulation.work(rank, Time{0}, 4));
        simulation.wake(rank, Time{500'001}, 5);
        simulation.wake(rank, microseconds(5), 6);
        simulation.wake(rank, Time{0}, 7);
        simulation.wake(rank, seconds(3), 8);
    };

    EXPECT_EQ(simulation.advance(never), State::stuck);

    EXPECT_THAT(stage.script.lines,
                ElementsAre("0 0 woken 7", "500001 0 woken 5", "1000003 0 woken 2", "1000005 0 woken 3",
                            "1000005 0 woken 4", "5000000 0 woken 1", "5000000 0 woken 6", "3000000000000 0 woken 8"));
    EXPECT_THAT(simulation.trouble(), ElementsAre("rank 0 has not ended"));
}

TEST_P(LivePrograms, WorkOfNoTimeOnAnIdleCoreIsOverAtOnce) {
    Stage stage({"A"});
    LiveSimulation& simulation = stage.open(GetParam());
    stage.script.on_start = [&](Rank rank, Time) {
        EXPECT_TRUE(simulation.work(rank, Time{0}, 1));
        simulation.end(rank);
    };

    EXPECT_EQ(simulation.advance(never), State::finished);

    EXPECT_THAT(stage.script.lines, ElementsAre());
    EXPECT_THAT(simulation.rank_ends(), ElementsAre(Time{}));
    EXPECT_THAT(simulation.trouble(), ElementsAre());
}

// The message waits until the receiver asks for it at 5 us.
TEST(LiveProgramsAtThePacketLevel, AMessageMayBeTakenLater) {
    Stage stage({"A", "B"});
    LiveSimulation& simulation = stage.open(Level::packet);
    LiveMessage kept;
    stage.script.on_start = [&](Rank rank, Time) {
        if (rank == Rank{0})
            simulation.send(rank, Rank{1}, 0, 11);
        else
            simulation.wake(rank, microseconds(5), 1);
    };
    stage.script.on_arrived = [&](Rank rank, Rank from, LiveMessage message, Cookie send,
                                  Time now) -> std::optional<Cookie> {
        EXPECT_EQ(rank, Rank{1});
        EXPECT_EQ(from, Rank{0});
        EXPECT_EQ(send, 11u);
        EXPECT_EQ(now, empty_message);
        kept = message;
        return {};
    };
    stage.script.on_sent = [&](Rank rank, Cookie send, Time now) {
        EXPECT_EQ(send, 11u);
        EXPECT_EQ(now, acknowledged);
        simulation.end(rank);
    };
    stage.script.on_woken = [&](Rank rank, Cookie, Time) {
        EXPECT_TRUE(simulation.take(rank, kept, 5));
        EXPECT_THROW((void)simulation.take(rank, kept, 5), UsageError);
        simulation.end(rank);
    };

    EXPECT_EQ(simulation.advance(never), State::finished);

    EXPECT_THAT(simulation.rank_ends(), ElementsAre(acknowledged, microseconds(5)));
    ASSERT_EQ(simulation.flows().size(), 1u);
    EXPECT_EQ(simulation.flows()[0].begun, Time{});
    EXPECT_EQ(simulation.flows()[0].ended, empty_message);
    EXPECT_EQ(simulation.work().packets, 1u);
}

// To itself and to a neighbour on the host port: 200 ns, 10 bytes at 100 ps, 200 ns.
TEST_P(LivePrograms, RanksOfOneHostPortCopy) {
    Stage stage({"A", "A"});
    LiveSimulation& simulation = stage.open(GetParam());
    stage.script.on_start = [&](Rank rank, Time) {
        if (rank != Rank{0}) return;
        simulation.send(rank, Rank{1}, 10, 2);
        simulation.send(rank, Rank{0}, 10, 1);
        simulation.send(rank, Rank{0}, 0, 3);
    };
    stage.script.on_sent = [](Rank, Cookie, Time) {};

    EXPECT_EQ(simulation.advance(never), State::stuck);

    EXPECT_THAT(stage.script.lines, ElementsAre("401000 1 received 2", "401000 0 received 1", "401000 0 received 3"));
    const auto flows = simulation.flows();
    ASSERT_EQ(flows.size(), 2u);
    EXPECT_EQ(flows[0].to, Rank{0});
    EXPECT_EQ(flows[0].bytes, 10u);
    EXPECT_EQ(flows[1].to, Rank{1});
    EXPECT_EQ(flows[1].ended, Time{401'000});
}

// Bursts whose numbers are used again in another order: messages of nothing from one moment, over the wire and inside
// the host, and nobody overtakes.
TEST_P(LivePrograms, MessagesOfAPairDoNotOvertakeEachOther) {
    Stage stage({"A", "B", "A"});
    LiveSimulation& simulation = stage.open(GetParam());
    constexpr Cookie messages = 2'000;
    std::map<std::uint32_t, std::vector<Cookie>> got;
    std::vector<Cookie> wanted;
    Cookie next = 0, burst = 1;
    const auto send_some = [&](Rank rank) {
        for (Cookie i = 0; i < burst && next < messages; ++i, ++next)
            for (const std::uint32_t to : {1u, 2u})
                simulation.send(rank, Rank{to}, next % 5 == 0 ? next % 64 : 0, next);
        burst = burst % 7 + 1;
    };
    stage.script.on_start = [&](Rank rank, Time) {
        if (rank == Rank{0}) send_some(rank);
    };
    stage.script.on_sent = [&](Rank rank, Cookie, Time) { send_some(rank); };
    stage.script.on_received = [&](Rank rank, Cookie cookie, Time) { got[rank.value].push_back(cookie); };

    (void)simulation.advance(never);

    for (Cookie i = 0; i < messages; ++i) wanted.push_back(i);
    EXPECT_EQ(got[1], wanted);
    EXPECT_EQ(got[2], wanted);
}

// ---- what goes wrong
TEST_P(LivePrograms, WhatAProgramThrowsComesOutOfAdvance) {
    for (const bool late : {false, true}) {
        Stage stage({"A", "B"});
        LiveSimulation& simulation = stage.open(GetParam());
        stage.script.on_start = [&](Rank rank, Time) {
            if (!late) throw std::out_of_range("enough");
            if (rank == Rank{0}) simulation.send(rank, Rank{1}, 5'000, 0);
        };
        stage.script.on_received = [](Rank, Cookie, Time) { throw std::out_of_range("enough"); };

        EXPECT_THROW((void)simulation.advance(never), std::out_of_range) << late;
    }
}

TEST(LiveProgramsAtThePacketLevel, WhatAProgramThrowsComesOutOfAnyThread) {
    for (const std::uint32_t who : {0u, 1u, 2u}) {
        Stage stage({"A", "B", "C"});
        packet::LiveEngine& engine = stage.open_engine(2);
        stage.script.on_start = [&](Rank rank, Time) {
            engine.wake(rank, microseconds(3), 0);
            if (rank == Rank{who}) engine.wake(rank, microseconds(1), 1);
        };
        stage.script.on_woken = [](Rank, Cookie what, Time) {
            if (what == 1) throw std::out_of_range("enough");
        };

        EXPECT_THROW((void)engine.advance(never), std::out_of_range) << who;
    }
}

// B cannot be reached; only the packet level, whose messages are acknowledged, needs the way from C to A.
TEST_P(LivePrograms, APairThatTheTablesDoNotConnectIsNamedWhenItSends) {
    Stage stage({"A", "B", "C"});
    routing::Tables broken = stage.bed.setup->tables;
    const auto lid = [&](const char* port) { return stage.bed.setup->fabric.port(stage.bed.port(port)).lid; };
    const auto run = [&](const routing::Tables& tables, std::uint32_t to) -> std::string {
        stage.network.tables = &tables;
        LiveSimulation& simulation = stage.open(GetParam());
        stage.script.on_start = [&simulation, to](Rank rank, Time) {
            if (rank == Rank{0}) simulation.wake(rank, microseconds(1), 0);
        };
        stage.script.on_woken = [&simulation, to](Rank rank, Cookie, Time) { simulation.send(rank, Rank{to}, 1, 0); };
        try {
            (void)simulation.advance(never);
        } catch (const Error& error) {
            EXPECT_TRUE(simulation.flows().empty());
            return error.what();
        }
        return {};
    };

    broken.set(0, lid("B:1"), routing::no_route);
    EXPECT_THAT(run(broken, 1), HasSubstr("rank 0 on A to rank 1 on B: no entry behind"));
    EXPECT_EQ(run(broken, 2), "");
    broken.set(0, lid("A:1"), routing::no_route);
    if (GetParam() == Level::packet)
        EXPECT_THAT(run(broken, 2), HasSubstr("rank 2 on C to rank 0 on A"));
    else
        EXPECT_EQ(run(broken, 2), "");
}

TEST_P(LivePrograms, RefuseRanksWithoutAPlace) {
    Stage stage({"A", ""});
    Options negative;
    negative.local.copy = -1;

    EXPECT_THROW((void)stage.open(GetParam()), Error);
    EXPECT_THROW((void)make_live_simulation(GetParam(), stage.network, 3, stage.script, {}), Error);
    EXPECT_THROW((void)make_live_simulation(GetParam(), {}, 1, stage.script, {}), Error);
    EXPECT_THROW((void)make_live_simulation(GetParam(), stage.network, 1, stage.script, negative), UsageError);
}

TEST_P(LivePrograms, RefuseWhatMakesNoSense) {
    Stage stage({"A", "B"});
    LiveSimulation& simulation = stage.open(GetParam());
    const Time long_time{never.ps / 2};
    EXPECT_THROW(simulation.send(Rank{0}, Rank{1}, 1, 0), UsageError);  // outside of a call
    stage.script.on_start = [&](Rank rank, Time) {
        if (rank == Rank{0}) simulation.wake(rank, microseconds(1), 0);
        if (rank == Rank{1}) {
            EXPECT_THROW(simulation.end(Rank{0}), UsageError);  // of another rank
            simulation.end(rank);
            EXPECT_THROW(simulation.end(rank), UsageError);
            EXPECT_THROW(simulation.wake(rank, seconds(1), 0), UsageError);
        }
    };
    stage.script.on_woken = [&](Rank rank, Cookie, Time now) {
        EXPECT_THROW(simulation.send(rank, Rank{2}, 1, 0), UsageError);
        EXPECT_THROW(simulation.send(rank, Rank{1}, 1, 0, 16), UsageError);
        EXPECT_THROW(simulation.send(rank, Rank{1}, UINT64_MAX, 0), Error);
        EXPECT_THROW((void)simulation.take(rank, LiveMessage{0}, 0), UsageError);
        EXPECT_THROW(simulation.wake(rank, now - Time{1}, 0), UsageError);
        EXPECT_THROW(simulation.wake(rank, long_time + Time{1}, 0), Error);
        EXPECT_THROW((void)simulation.work(rank, Time{-1}, 0), UsageError);
        EXPECT_THROW((void)simulation.work(rank, long_time, 0), Error);
        EXPECT_THROW(simulation.end(Rank{7}), UsageError);
        simulation.end(rank);
    };

    EXPECT_EQ(simulation.advance(never), State::finished);
    EXPECT_THAT(simulation.rank_ends(), ElementsAre(microseconds(1), Time{}));
}

// ---- memory
// A million messages, at most three under way and two untaken: their numbers are those of a handful.
TEST(LiveProgramsAtThePacketLevel, NumbersAreUsedAgain) {
    Stage stage({"A", "B"});
    packet::LiveEngine& engine = stage.open_engine(1);
    constexpr Cookie messages = 1'000'000;
    Cookie next = 0, received = 0;
    std::uint32_t highest_name = 0;
    std::vector<LiveMessage> kept;
    const auto send_next = [&](Rank rank) {
        if (next < messages) engine.send(rank, next % 100 == 0 ? Rank{1} : rank, 0, next);
        ++next;
    };
    stage.script.on_start = [&](Rank rank, Time) {
        for (unsigned i = 0; i < 3 && rank == Rank{0}; ++i) send_next(rank);
    };
    stage.script.on_sent = [&](Rank rank, Cookie, Time) { send_next(rank); };
    stage.script.on_received = [&](Rank, Cookie, Time) { ++received; };
    stage.script.on_arrived = [&](Rank rank, Rank, LiveMessage message, Cookie send, Time) -> std::optional<Cookie> {
        highest_name = std::max(highest_name, message.value);
        if (rank == Rank{1} || send % 3 == 0) return send;
        kept.push_back(message);
        if (kept.size() < 3) return {};
        EXPECT_TRUE(engine.take(rank, kept.front(), 0));
        kept.erase(kept.begin());
        ++received;
        return {};
    };

    (void)engine.advance(never);

    EXPECT_EQ(received + kept.size(), messages);
    EXPECT_LE(engine.program().most_sends(Rank{0}), 3u);
    EXPECT_LE(highest_name, 3u);
}

TEST(RankNumbers, TellRankAndSlotAndLeaveOneFree) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 5u, 16'384u, 1u << 20}) {
        const RankNumbers numbers(ranks);
        const std::uint32_t last = numbers.number(Rank{ranks - 1}, numbers.slots() - 1);

        EXPECT_EQ(numbers.rank(last), Rank{ranks - 1});
        EXPECT_EQ(numbers.slot(last), numbers.slots() - 1);
        EXPECT_LT(last, no_index);
        EXPECT_GE(std::uint64_t{numbers.slots()} * ranks, (1ull << 32) / 4) << ranks;
    }
}

TEST(RankStorage, KeepsEverythingWhereItIs) {
    const RankNumbers numbers(3);
    RankStorage<std::uint32_t> storage(numbers);
    std::vector<std::uint32_t*> places;
    for (std::uint32_t slot = 0; slot < 5'000; ++slot)
        for (const std::uint32_t rank : {0u, 2u}) {
            const std::uint32_t number = numbers.number(Rank{rank}, slot);
            storage.grow(number);
            EXPECT_EQ(storage[number], 0u);
            storage[number] = number;
            places.push_back(&storage[number]);
        }

    std::size_t at = 0;
    for (std::uint32_t slot = 0; slot < 5'000; ++slot)
        for (const std::uint32_t rank : {0u, 2u}) {
            const std::uint32_t number = numbers.number(Rank{rank}, slot);
            EXPECT_EQ(&storage[number], places[at++]);
            EXPECT_EQ(storage[number], number);
        }
    EXPECT_TRUE(RankStorage<int>().empty());
}

}  // namespace
