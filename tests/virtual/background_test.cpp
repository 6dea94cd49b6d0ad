// Traffic of others beside the ranks, and somebody at the controls.
#include "loom/twin/background.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "loom/base/clock.hpp"
#include "loom/manager/dcms.hpp"
#include "loom/sim/suffering.hpp"
#include "virtual/stage.hpp"

namespace loom::twin {
namespace {

using transport::Transport;

// n others send as much to B at the same time, so each gets an equal share of its link: n + 1 times 250 us, behind
// 200 ns to the wire and before two cables, a switch and 200 ns.
TEST(Background, AnIncastOfNFlowsTakesNTimesAsLong) {
    for (const unsigned others : {0u, 1u, 3u}) {
        std::string lines = "level flow\nranks 2\n" + star;
        for (unsigned i = 0; i < others; ++i)
            lines += fmt::format("flow F{} from {} to B bytes 1MB message 1MB\n", i, static_cast<char>('C' + i));
        const auto setup = stage(lines);
        Time there;

        const Result result =
            run(options_of(*setup), [&](Transport& transport) { send_one(transport, 0, 1, 1'000'000, there); });

        EXPECT_EQ(result.state, sim::State::finished);
        EXPECT_EQ(there, nanoseconds(200) + microseconds(250) * (others + 1) + nanoseconds(400));
    }
}

TEST(Background, AnIncastOfPacketsTakesAsLongGiveOrTake) {
    const auto setup = stage("level packet\nranks 2\n" + star +
                             "flow F1 from C to B endless window 2\nflow F2 from D to B endless window 2\n"
                             "flow F3 from E to B endless window 2\n");
    Time there;

    const Result result =
        run(options_of(*setup), [&](Transport& transport) { send_one(transport, 0, 1, 1'000'000, there); });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_NEAR(there.seconds(), 4 * 253e-6, 30e-6);  // with 26 bytes of headers beside 2048
}

TEST(Background, FlowsBeginWhenTheySay) {
    const auto setup = stage("level flow\nranks 2\n" + star + "flow F from C to B start 125us bytes 1MB message 1MB\n");
    Time there;

    (void)run(options_of(*setup), [&](Transport& transport) { send_one(transport, 0, 1, 1'000'000, there); });

    EXPECT_EQ(there, nanoseconds(600) + microseconds(375));  // half of it alone, the rest at half the rate
}

TEST(Background, TheRanksOfAJobAreItsOwn) {
    const auto setup = stage("level flow\nranks 3\nsample 10us\n" + star + "flow F from D to E bytes 1MB\n");
    Options options = options_of(*setup);
    Time there;

    const Result result = run(options, [&](Transport& transport) {
        EXPECT_EQ(transport.size(), 3u);
        send_one(transport, 0, 2, 1'000'000, there);
    });

    EXPECT_EQ(result.ranks.size(), 3u);
    ASSERT_TRUE(result.recording.has_value());
    ASSERT_EQ(result.recording->flows.size(), 2u);
    EXPECT_EQ(result.recording->flows[0].to, Rank{2});
    EXPECT_EQ(result.recording->flows[1].from, Rank{3});
    EXPECT_GT(result.recording->flows[1].delivered, 900'000u);
    EXPECT_GT(result.recording->times.size(), 20u);
    EXPECT_EQ(result.recording->rank_ends.size(), 3u);
}

// Traffic that never ends must not hide it.
TEST(Background, RanksThatWaitForNothingAreFoundStuck) {
    for (const char* level : {"flow", "packet"}) {
        const auto setup = stage(std::string("level ") + level + "\nranks 2\n" + star + "flow F from D to E endless\n");
        Time there;

        const Result result = run(options_of(*setup), [&](Transport& transport) {
            if (transport.rank() == Rank{1}) send_one(transport, 0, 1, 8, there);
        });

        EXPECT_EQ(result.state, sim::State::stuck);
        EXPECT_THAT(result.trouble, testing::Contains("rank 1 waits for a message of 8 bytes from rank 0, tag 0x1"));
    }
}

TEST(Background, AJobThatIsNotOverInTimeIsStopped) {
    const auto setup = stage("level packet\nranks 2\nuntil 50us\n" + star);
    Time there;

    const Result result =
        run(options_of(*setup), [&](Transport& transport) { send_one(transport, 0, 1, 1'000'000, there); });

    EXPECT_EQ(result.state, sim::State::running);
    EXPECT_EQ(result.finish, never);
    EXPECT_EQ(there, Time{});
}

// The same, bit by bit, however often and with any number of threads.
TEST(Background, IsDeterministic) {
    const auto played = [](unsigned threads) {
        const auto setup = stage(fmt::format("level packet\nranks 4\nthreads {}\ncongestion threshold 15\n", threads) +
                                 testbed + "flow B-D from B to D endless window 2\nflow C-D from C to D endless\n");
        std::vector<Time> there(4);
        const Result result = run(options_of(*setup), [&](Transport& transport) {
            for (std::uint32_t step = 1; step < 4; ++step)
                for (std::uint32_t from = 0; from < 4; ++from)
                    send_one(transport, from, (from + step) % 4, 100'000, there[(from + step) % 4]);
        });
        return std::tuple(result.ranks, there, result.work.events, result.work.bytes);
    };
    const auto first = played(1);

    EXPECT_EQ(played(1), first);
    EXPECT_EQ(played(2), first);
}

TEST(Background, WhatMakesNoSenseIsRefused) {
    const auto setup = stage("level flow\nranks 2\n" + star + "flow F from C to B bytes 1\n");
    const auto nothing = [](Transport&) {};
    Options options = options_of(*setup);
    options.background[0].window = 0;
    EXPECT_THROW(run(options, nothing), UsageError);
    options = options_of(*setup);
    options.background[0].from = options.background[0].to;
    EXPECT_THROW(run(options, nothing), UsageError);
    options = options_of(*setup);
    options.level = sim::Level::message;
    EXPECT_THROW(run(options, nothing), UsageError);  // it has no links
}

// ---- somebody at the controls

PortIndex port_of(const sim::Setup& setup, const std::string& host) {
    for (std::uint32_t node = 0; node < setup.fabric.node_count(); ++node)
        if (setup.fabric.node(NodeId{node}).name == host) return setup.fabric.port_index(NodeId{node}, PortNum{1});
    throw Error("no such host");
}

// The victim's ranks sit on X and Y, whose packets wait behind those that A sends to the incast at D.
Result victim(const sim::Control& control, Time& there) {
    const auto setup =
        stage("level packet\nranks 2\ncongestion threshold 15\ncongestion marking_rate 60000\n" + testbed +
              "flow A-D from A to D endless message 128KiB window 2\n"
              "flow B-D from B to D endless message 128KiB window 2\n"
              "flow C-D from C to D endless message 128KiB window 2\n");
    setup->placement.hosts = {port_of(*setup, "X"), port_of(*setup, "Y")};
    Options options = options_of(*setup);
    options.control = control;
    return run(options, [&](Transport& transport) { send_one(transport, 0, 1, 4'000'000, there); });
}

TEST(Control, AManagerFreesTheVictim) {
    Time unmanaged, managed;
    const auto settings = [] {
        manager::Settings some;
        some.sweep = microseconds(200);
        some.congestion = 1'000;
        some.wait = 3'000;
        some.data = 4'000;
        some.intervals = 100;
        return some;
    }();
    std::size_t decisions = 0;
    const auto manage = [&](fabric::CounterSource& counters, fabric::CongestionParameters& parameters,
                            fabric::Clock& clock) {
        const auto setup = stage("level packet\nranks 2\n" + testbed);
        (void)manager::run_manager(setup->fabric, counters, parameters, clock, settings,
                                   [&](const manager::Decision&) { ++decisions; });
    };

    EXPECT_EQ(victim({}, unmanaged).state, sim::State::finished);
    EXPECT_EQ(victim(manage, managed).state, sim::State::finished);

    EXPECT_GT(decisions, 0u);
    EXPECT_LT(managed.seconds(), 0.8 * unmanaged.seconds());
}

// Whom X's ranks wait behind is read from the counters of a job as from those of a scenario.
TEST(Background, TheVictimIsNamed) {
    const std::string lines = "ranks 2\nplace order\n" + testbed +
                              "flow A-D from A to D endless message 128KiB window 2\n"
                              "flow B-D from B to D endless message 128KiB window 2\n"
                              "flow C-D from C to D endless message 128KiB window 2\n";
    std::vector<std::unique_ptr<sim::Setup>> setups;
    std::vector<sim::Recording> recordings;
    std::vector<sim::Sufferer> found;
    for (const std::string& level : {std::string("flow"), std::string("packet")}) {
        setups.push_back(stage("level " + level + "\n" + lines));
        sim::Setup& setup = *setups.back();
        setup.placement.hosts = {port_of(setup, "X"), port_of(setup, "Y")};
        Time there;
        (void)run(
            options_of(setup), [&](Transport& transport) { send_one(transport, 0, 1, 2'000'000, there); },
            [&](sim::Simulation& simulation) {
                recordings.push_back(sim::Recorder(simulation, {.sample = Time{}}).recording());
                if (level == "packet") found = find_sufferers(setup, simulation, recordings[1], recordings[0]);
            });
    }

    ASSERT_GE(found.size(), 1u);
    EXPECT_EQ(recordings[1].flows[found[0].flow].from, Rank{0});
    EXPECT_EQ(found[0].cause, sim::Cause::behind);
    EXPECT_EQ(setups[1]->flow_name(1, recordings[1].flows[1]), "A-D");
}

TEST(Control, ItsClockEndsWithTheJob) {
    const auto setup = stage("level packet\nranks 2\ncongestion threshold 15\n" + star);
    Options options = options_of(*setup);
    Time there;
    std::vector<bool> more;
    options.control_from = microseconds(100);
    options.control = [&](fabric::CounterSource&, fabric::CongestionParameters&, fabric::Clock& clock) {
        EXPECT_NEAR(clock.now().seconds(), 100e-6, 1e-6);
        for (const Time at : {microseconds(200), microseconds(400)}) more.push_back(clock.sleep_until(at));
    };

    const Result result = run(options, [&](Transport& transport) { send_one(transport, 0, 1, 1'000'000, there); });

    EXPECT_EQ(result.state, sim::State::finished);
    EXPECT_THAT(more, testing::ElementsAre(true, false));
}

TEST(Control, NobodyIsAtTheControlsWhereThereAreNone) {
    const auto setup = stage("level flow\nranks 2\n" + star);
    Options options = options_of(*setup);
    bool called = false;
    options.control = [&](auto&, auto&, auto&) { called = true; };

    (void)run(options, [](Transport&) {});

    EXPECT_FALSE(called);
}

}  // namespace
}  // namespace loom::twin
