// Programs that issue a schedule through the transport end when a simulation of that schedule ends, to the picosecond.
#include <gtest/gtest.h>

#include <algorithm>

#include "loom/twin/run.hpp"
#include "reference/live_player.hpp"
#include "reference/message_options.hpp"
#include "reference/packet_cases.hpp"
#include "reference/random_schedules.hpp"
#include "virtual/schedule_player.hpp"

namespace loom::twin {
namespace {

using reference::make_random;
using traffic::Schedule;

// What is left of a schedule on one core, with lengths by tag, as receives through a transport must be exact.
Schedule for_programs(const Schedule& schedule, std::uint32_t most_bytes, Random& random) {
    const Schedule plain = sim::only_what_runs(schedule);
    std::vector<std::uint64_t> lengths;
    traffic::ScheduleBuilder builder(plain.ranks());
    for (std::uint32_t rank = 0; rank < plain.ranks(); ++rank) {
        const traffic::OpIndex first = plain.first(Rank{rank});
        for (traffic::Op op : plain.ops(Rank{rank})) {
            op.sl = 0;
            while (lengths.size() <= op.tag) lengths.push_back(random.below(4) == 0 ? 0 : random.below(most_bytes));
            if (op.kind == traffic::OpKind::send || op.kind == traffic::OpKind::receive) op.amount = lengths[op.tag];
            builder.add(Rank{rank}, op);
        }
        for (std::uint32_t number = 0; number < plain.ops(Rank{rank}).size(); ++number)
            for (const traffic::Successor& next : plain.successors(first + number))
                builder.require(Rank{rank}, next.op - first, number);
    }
    return builder.build();
}

struct Ends {
    sim::State state;
    std::vector<Time> ranks;
    friend bool operator==(const Ends&, const Ends&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Ends& ends) {
        out << sim::to_string(ends.state);
        for (const Time end : ends.ranks) out << ' ' << end.ps;
        return out;
    }
};

Ends by_simulation(const Schedule& schedule, const Options& options) {
    const auto simulation = sim::make_simulation(options.level, options.network, schedule, options.simulation);
    const sim::State state = simulation->advance(never);
    return {state, simulation->rank_ends()};
}

Ends by_programs(const Schedule& schedule, const Options& options) {
    const Result result =
        run(options, [&](transport::Transport& transport) { SchedulePlayer(schedule, transport).play(); });
    Ends ends{result.state, {}};
    for (const RankTimes& each : result.ranks) ends.ranks.push_back(each.end);
    return ends;
}

Options unbounded(sim::Level level) {
    Options options;
    options.level = level;
    options.early_bytes = Options::no_bound;
    return options;
}

// How often what ended how.
struct Seen {
    unsigned finished = 0, stuck = 0, deadlocked = 0;
    void note(const Ends& ends) {
        finished += ends.state == sim::State::finished;
        stuck += ends.state == sim::State::stuck;
        deadlocked += ends.state == sim::State::deadlocked;
    }
};

TEST(RandomPrograms, EndAsTheirSchedulesAtTheMessageLevel) {
    const reference::RandomSchedule shapes[] = {{},
                                                {.ranks = 2, .messages = 12, .tags = 1},
                                                {.ranks = 1, .messages = 12, .tags = 1, .local = true},
                                                {.most_work = 0},
                                                {.ranks = 6, .messages = 80, .most_work = 3, .local = true},
                                                {.ranks = 12, .messages = 120, .tags = 2, .narrow = true},
                                                {.ranks = 3, .messages = 150, .tags = 100, .narrow = true},
                                                {.ranks = 64, .messages = 600, .local = true}};
    Seen seen;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const Schedule schedule = for_programs(make_random(shapes[seed % std::size(shapes)], seed), 40, random);
        Options options = unbounded(sim::Level::message);
        options.ranks = static_cast<std::uint32_t>(schedule.ranks());
        options.simulation = seed % 2 == 0 ? sim::round_options(seed, 1000) : sim::any_options(seed);

        const Ends ends = by_programs(schedule, options);

        ASSERT_EQ(ends, by_simulation(schedule, options));
        seen.note(ends);
    }
    EXPECT_GT(seen.finished, 200u);
    EXPECT_GT(seen.stuck, 100u);
}

// Fabric, placement (several ranks on one host port) and options of a case of the packet level. Adaptive paths let
// messages overtake each other, which those of a transport do not.
struct Drawn {
    std::unique_ptr<sim::PacketCase> made;
    Schedule schedule;
    Options options;
};

Drawn draw(sim::Level level, std::uint64_t seed, sim::PathChoice paths = sim::PathChoice::tables) {
    auto made = sim::draw_case(seed);
    Random random(seed);
    const auto ranks = static_cast<std::uint32_t>(made->schedule.ranks());
    Schedule schedule = for_programs(make_random({.ranks = ranks,
                                                  .messages = 30 + static_cast<std::uint32_t>(seed % 100),
                                                  .tags = 1 + random.below(4),
                                                  .most_work = random.below(2) == 0 ? 20u : 2'000u,
                                                  .narrow = seed % 2 == 0,
                                                  .local = seed % 3 == 0},
                                                 seed),
                                     made->options.packet.mtu * (1 + random.below(12)), random);
    Options options = unbounded(level);
    options.network = made->network;
    options.simulation = made->options;
    sim::PacketOptions& packet = options.simulation.packet;
    packet.paths = paths;
    // A schedule is known to need the lanes of one service level alone.
    if (packet.lanes == 0) packet.lanes = std::max<unsigned>(made->tables.lane_count(), sim::max_lanes);
    if (paths == sim::PathChoice::adaptive) packet.buffer_use = sim::BufferUse::shared;
    options.simulation.flow = {packet.lids, packet.cable_delay, packet.switch_delay, packet.host_delay};
    return {std::move(made), std::move(schedule), options};
}

TEST(RandomPrograms, EndAsTheirSchedulesAtThePacketLevel) {
    Seen seen;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE(seed);
        const Drawn drawn = draw(sim::Level::packet, seed);

        const Ends ends = by_programs(drawn.schedule, drawn.options);

        EXPECT_EQ(ends, by_simulation(drawn.schedule, drawn.options));
        seen.note(ends);
    }
    EXPECT_GT(seen.finished, 300u);
    EXPECT_GT(seen.stuck, 30u);
}

TEST(RandomPrograms, EndAsTheirSchedulesAtTheFlowLevel) {
    Seen seen;
    for (std::uint64_t seed = 1001; seed <= 1200; ++seed) {
        SCOPED_TRACE(seed);
        const Drawn drawn = draw(sim::Level::flow, seed);

        const Ends ends = by_programs(drawn.schedule, drawn.options);

        EXPECT_EQ(ends, by_simulation(drawn.schedule, drawn.options));
        seen.note(ends);
    }
    EXPECT_GT(seen.finished, 150u);
    EXPECT_GT(seen.stuck, 20u);
}

// Where each packet takes a way of its own, messages overtake each other. Those of a transport match in the order of
// their sends all the same: the player finds what does not.
TEST(RandomPrograms, ReceiveInOrderOnAdaptivePaths) {
    Seen seen;
    for (std::uint64_t seed = 2001; seed <= 2200; ++seed) {
        SCOPED_TRACE(seed);
        const Drawn drawn = draw(sim::Level::packet, seed, sim::PathChoice::adaptive);

        EXPECT_NO_THROW(seen.note(by_programs(drawn.schedule, drawn.options)));
    }
    EXPECT_GT(seen.finished, 150u);
}

}  // namespace
}  // namespace loom::twin
