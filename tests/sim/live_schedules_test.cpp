// Ranks that begin the operations of a schedule while they run end when a simulation of the schedule ends, at the
// packet and at the flow level.
#include <gtest/gtest.h>

#include "reference/live_player.hpp"
#include "reference/packet_cases.hpp"
#include "reference/random_schedules.hpp"
#include "sim/packet/engine.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

// Fabric, placement (several ranks on one host port) and options of a case of the packet level, and a schedule that can
// be run: that of the case, or one of small numbers, in which much happens at the same moment.
std::unique_ptr<PacketCase> draw(std::uint64_t seed) {
    auto made = draw_case(seed);
    const auto ranks = static_cast<std::uint32_t>(made->schedule.ranks());
    if (seed % 3 == 0)
        made->schedule = reference::make_random({.ranks = ranks,
                                                 .messages = 30 + static_cast<std::uint32_t>(seed % 100),
                                                 .most_bytes = 4'000,
                                                 .narrow = seed % 2 == 0,
                                                 .local = true},
                                                seed);
    made->schedule = only_what_runs(made->schedule);
    return made;
}

struct Outcome {
    State state;
    Time now;
    std::vector<Flow> flows;
    std::vector<Time> ends;
    std::vector<fabric::PortCounters> counters;
    Simulation::Work work;
    std::vector<std::string> circle;  // of a deadlock
};

Outcome outcome_of(Simulation& simulation, const PacketCase& made, Time step) {
    Outcome outcome;
    outcome.state = State::running;
    for (unsigned number = 1; outcome.state == State::running; ++number)
        outcome.state = simulation.advance(number < 4 ? step * number : never);
    outcome.now = simulation.now();
    outcome.flows = simulation.flows();
    outcome.ends = simulation.rank_ends();
    for (std::uint32_t p = 0; p < made.fabric.port_count(); ++p)
        outcome.counters.push_back(simulation.counters(PortIndex{p}));
    outcome.work = simulation.work();
    if (outcome.state == State::deadlocked) outcome.circle = simulation.trouble();
    return outcome;
}

Outcome run_packet(const PacketCase& made, unsigned threads) {
    Options options = made.options;
    options.threads = threads;
    ScheduledPrograms programs(made.schedule, options.local);
    packet::LiveEngine live(made.network,
                            LiveProgram::Source{static_cast<std::uint32_t>(made.schedule.ranks()), &programs}, options);
    programs.play_on(live);
    Outcome outcome = outcome_of(live, made, microseconds(20));
    EXPECT_EQ(live.audit(), "");
    return outcome;
}

// What both have of a flow. A schedule counts bytes that nobody has begun to send yet.
void expect_same_flows(const Outcome& have, const Outcome& want) {
    std::size_t at = 0;
    for (const Flow& flow : want.flows) {
        if (flow.begun == never) continue;
        ASSERT_LT(at, have.flows.size());
        const Flow& live = have.flows[at++];
        EXPECT_EQ(live.from, flow.from);
        EXPECT_EQ(live.to, flow.to);
        EXPECT_EQ(live.delivered, flow.delivered);
        EXPECT_EQ(live.begun, flow.begun);
        if (want.state != State::finished) continue;
        EXPECT_EQ(live.bytes, flow.bytes);
        EXPECT_EQ(live.ended, flow.ended);
    }
    EXPECT_EQ(at, have.flows.size());
}

void expect_same(const Outcome& have, const Outcome& want) {
    EXPECT_EQ(have.state, want.state);
    EXPECT_EQ(have.now, want.now);
    EXPECT_EQ(have.ends, want.ends);
    EXPECT_EQ(have.work.packets, want.work.packets);
    EXPECT_EQ(have.work.bytes, want.work.bytes);
    EXPECT_EQ(have.circle, want.circle);
    EXPECT_TRUE(have.counters == want.counters);
    expect_same_flows(have, want);
}

struct Seen {
    unsigned finished = 0, stuck = 0, deadlocked = 0, marked = 0;
    void note(const Outcome& outcome) {
        finished += outcome.state == State::finished ? 1 : 0;
        stuck += outcome.state == State::stuck ? 1 : 0;
        deadlocked += outcome.state == State::deadlocked ? 1 : 0;
        for (const fabric::PortCounters& c : outcome.counters)
            if (c.rcv_becn != 0) {
                ++marked;
                break;
            }
    }
};

// Also where calls about one rank come at one picosecond: what it begins first is due first.
TEST(LiveSchedules, EndAsAtThePacketLevel) {
    Seen seen;
    for (std::uint64_t seed = 1; seed <= 460; ++seed) {
        SCOPED_TRACE(seed);
        const auto made = draw(seed);

        const Outcome live = run_packet(*made, 1);
        seen.note(live);
        packet::Engine engine(made->network, made->schedule, made->options);

        expect_same(live, outcome_of(engine, *made, microseconds(20)));
        if (HasFailure()) break;
    }
    EXPECT_GT(seen.finished, 300u);
    EXPECT_GT(seen.stuck, 10u);
    EXPECT_GT(seen.marked, 50u);
}

TEST(LiveSchedules, DoNotDependOnTheNumberOfThreads) {
    for (std::uint64_t seed = 2001; seed <= 2004; ++seed) {
        SCOPED_TRACE(seed);
        const auto made = draw(seed);

        const Outcome one = run_packet(*made, 1);
        const Outcome two = run_packet(*made, 2);

        expect_same(two, one);
        EXPECT_EQ(two.work.events, one.work.events);
    }
}

// Nearly all the way around a ring, clockwise: port 1 of each of its switches.
TEST(LiveSchedules, DeadlockAsAtThePacketLevel) {
    constexpr std::uint32_t ranks = 5;
    PacketCase made;
    reference::Wiring wiring;
    std::vector<NodeId> switches;
    for (unsigned i = 0; i < ranks; ++i) switches.push_back(wiring.add_switch(fmt::format("s{}", i), 8));
    for (unsigned i = 0; i < ranks; ++i)
        wiring.fabric.connect(switches[i], PortNum{1}, switches[(i + 1) % ranks], PortNum{2});
    for (const NodeId s : switches) wiring.add_host(s);
    wiring.fabric.assign_lids();
    made.fabric = std::move(wiring.fabric);
    made.route("minhop");
    const auto hosts = made.hosts();
    for (std::uint32_t s = 0; s < ranks; ++s)
        for (std::uint32_t h = 0; h < ranks; ++h)
            if (h != s) made.tables.set(s, made.fabric.port(hosts[h]).lid, 1);
    made.network.placement.hosts = made.hosts();
    made.options.packet.buffer_bytes = 3 * 33 * 64;
    traffic::ScheduleBuilder builder(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) builder.send(Rank{r}, Rank{(r + ranks - 1) % ranks}, 1 << 18);
    made.schedule = builder.build();

    const Outcome live = run_packet(made, 1);
    packet::Engine engine(made.network, made.schedule, made.options);

    EXPECT_EQ(live.state, State::deadlocked);
    expect_same(live, outcome_of(engine, made, microseconds(20)));
}

TEST(LiveSchedules, EndAsAtTheFlowLevel) {
    Seen seen;
    for (std::uint64_t seed = 1001; seed <= 1330; ++seed) {
        SCOPED_TRACE(seed);
        const auto made = draw(seed);
        const PacketOptions& o = made->options.packet;
        made->options.flow = {o.lids, o.cable_delay, o.switch_delay, o.host_delay};

        ScheduledPrograms programs(made->schedule, made->options.local);
        const auto live = make_live_simulation(
            Level::flow, made->network, static_cast<std::uint32_t>(made->schedule.ranks()), programs, made->options);
        programs.play_on(*live);
        const auto fixed = make_simulation(Level::flow, made->network, made->schedule, made->options);
        const Outcome have = outcome_of(*live, *made, microseconds(20));
        const Outcome want = outcome_of(*fixed, *made, microseconds(20));

        expect_same(have, want);
        EXPECT_EQ(have.work.events, want.work.events);
        seen.note(have);
        if (HasFailure()) break;
    }
    EXPECT_GT(seen.finished, 100u);
    EXPECT_GT(seen.stuck, 20u);
}

// The factory, which chooses threads by the number of ranks: 128 of them exchange with their neighbours.
TEST(LiveSchedules, EndAsTheFactorysDo) {
    fabric::Fabric tree = reference::two_level_tree(8, 4, 8, 1, 0);
    PacketCase made;
    made.fabric = std::move(tree);
    made.route("minhop");
    const auto hosts = made.hosts();
    traffic::ScheduleBuilder builder(128);
    for (std::uint32_t r = 0; r < 128; ++r) {
        made.network.placement.hosts.push_back(hosts[r % hosts.size()]);
        const auto work = builder.compute(Rank{r}, Time{1'000 + r});
        for (const std::uint32_t step : {1u, 17u, 64u, 127u}) {
            builder.require(Rank{r}, builder.send(Rank{r}, Rank{(r + step) % 128}, 100 * r + step), work);
            builder.receive(Rank{r}, Rank{(r + 128 - step) % 128}, 0);
        }
    }
    made.schedule = builder.build();
    made.options.threads = 2;

    for (const Level level : {Level::packet, Level::flow}) {
        SCOPED_TRACE(to_string(level));
        ScheduledPrograms programs(made.schedule, made.options.local);
        const auto live = make_live_simulation(level, made.network, 128, programs, made.options);
        programs.play_on(*live);
        const auto fixed = make_simulation(level, made.network, made.schedule, made.options);

        expect_same(outcome_of(*live, made, microseconds(3)), outcome_of(*fixed, made, microseconds(3)));
        EXPECT_EQ(live->level(), level);
    }
}

}  // namespace
