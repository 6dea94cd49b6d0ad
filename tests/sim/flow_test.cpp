#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/engine.hpp"
#include "loom/sim/setup.hpp"
#include "loom/sim/simulation.hpp"
#include "reference/flow_level.hpp"
#include "sim/paths.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Hosts A, X on one switch, B, C, D, Y on another; 4xSDR (8 Gbit/s) to hosts, 4xQDR (32 Gbit/s) between.
constexpr const char* testbed =
    "level flow\nswitch S1 24\nswitch S2 24\nhost A\nhost X\nhost B\nhost C\nhost D\nhost Y\n"
    "link A S1:12 4xSDR\nlink X S1:11 4xSDR\nlink B S2:1 4xSDR\nlink C S2:2 4xSDR\nlink D S2:23 4xSDR\n"
    "link Y S2:24 4xSDR\nlink S1:15 S2:20 4xQDR\n";

std::unique_ptr<Setup> made(const std::string& lines) {
    return set_up(parse_scenario(testbed + lines, "test"));
}

PortIndex port(const Setup& setup, const std::string& node, std::uint8_t number) {
    for (std::uint32_t i = 0; i < setup.fabric.node_count(); ++i)
        if (setup.fabric.node(NodeId{i}).name == node) return setup.fabric.port_index(NodeId{i}, PortNum{number});
    throw Error("no such node");
}

// 1 MB at 8 Gbit/s is a millisecond; before it 200 ns in the host, after it three cables of 50 ns, two switches of
// 100 ns and 200 ns in the other host.
TEST(FlowLevel, OneMessageTakesItsDelaysAndItsBytes) {
    const auto setup = made("flow A-D from A to D bytes 1MB\n");
    const auto sim = setup->start();

    const State state = sim->advance(seconds(1));

    EXPECT_EQ(state, State::finished);
    ASSERT_EQ(sim->flows().size(), 1u);
    EXPECT_EQ(sim->flows()[0].begun, Time{});
    EXPECT_EQ(sim->flows()[0].ended, milliseconds(1) + nanoseconds(750));
    EXPECT_EQ(sim->flows()[0].delivered, 1'000'000u);
    EXPECT_EQ(sim->rank_ends()[1], milliseconds(1) + nanoseconds(750));
    EXPECT_EQ(sim->level(), Level::flow);
    EXPECT_EQ(sim->work().bytes, 1'000'000u);
    EXPECT_EQ(sim->congestion_parameters(), nullptr);
}

TEST(FlowLevel, AMessageOfNothingTakesItsDelaysAlone) {
    const auto setup = made("flow A-D from A to D bytes 0\nhost-delay 0\n");
    const auto sim = setup->start();

    (void)sim->advance(seconds(1));

    EXPECT_EQ(sim->flows()[0].ended, nanoseconds(350));
}

// A-D is alone for 1 ms (8 Mbit), then three share: after 3 ms more each has 8 Mbit; A-D ends with 16 Mbit, and so on.
TEST(FlowLevel, RatesFollowArrivalsAndDepartures) {
    const auto setup = made(
        "host-delay 0\ncable-delay 0\nswitch-delay 0\n"
        "flow A-D from A to D bytes 2MB message 4MiB\n"
        "flow B-D from B to D bytes 1MB start 1ms message 4MiB\n"
        "flow C-D from C to D bytes 2MB start 1ms message 4MiB\n"
        "flow X-Y from X to Y bytes 3MB message 4MiB\n");
    const auto sim = setup->start();

    (void)sim->advance(milliseconds(2));
    const auto half_way = sim->flows();
    const State state = sim->advance(seconds(1));

    EXPECT_EQ(half_way[0].delivered, 1'333'333u);
    EXPECT_EQ(half_way[1].delivered, 333'333u);
    EXPECT_EQ(half_way[3].delivered, 2'000'000u);
    EXPECT_EQ(state, State::finished);
    const auto flows = sim->flows();
    EXPECT_NEAR(flows[0].ended.seconds(), 4e-3, 1e-11);
    EXPECT_NEAR(flows[1].ended.seconds(), 4e-3, 1e-11);
    EXPECT_NEAR(flows[2].ended.seconds(), 5e-3, 1e-11);
    EXPECT_EQ(flows[3].ended, milliseconds(3));
}

// A sends into a port that three share: a third of its link is used, for the rest it waits; S1 port 15 as well.
TEST(FlowLevel, PortsCountDataPacketsAndWaiting) {
    const auto setup = made(
        "host-delay 0\ncable-delay 0\nswitch-delay 0\ncounter-tick 10ns\n"
        "flow A-D from A to D bytes 1MB message 4MB\nflow B-D from B to D bytes 1MB message 4MB\n"
        "flow C-D from C to D bytes 1MB message 4MB\n");
    const auto sim = setup->start();

    (void)sim->advance(seconds(1));

    const auto a = sim->counters(port(*setup, "A", 1));
    const auto between = sim->counters(port(*setup, "S1", 15));
    const auto d = sim->counters(port(*setup, "S2", 23));
    EXPECT_EQ(a.xmit_data, 250'000u);
    EXPECT_EQ(a.xmit_pkts, 489u);
    EXPECT_NEAR(static_cast<double>(a.xmit_wait), 200'000, 1);
    EXPECT_NEAR(static_cast<double>(between.xmit_wait), 300'000 * 11.0 / 12, 1);
    EXPECT_EQ(d.xmit_data, 750'000u);
    EXPECT_EQ(d.xmit_wait, 0u);
    EXPECT_EQ(sim->counters(port(*setup, "D", 1)).rcv_data, 750'000u);
    EXPECT_EQ(sim->counters(port(*setup, "D", 1)).rcv_pkts, 3 * 489u);
    EXPECT_EQ(sim->counters(port(*setup, "S1", 3)), fabric::PortCounters{});
}

// Whole packets, one byte more, and none at all, which is a packet too.
TEST(FlowLevel, MessagesAreCountedInPacketsOfTheMtu) {
    const std::vector<std::pair<const char*, std::uint64_t>> expected{
        {"0", 1}, {"1", 1}, {"2047", 1}, {"2048", 1}, {"2049", 2}, {"4096", 2}, {"4097", 3}};
    for (const auto& [bytes, packets] : expected) {
        const auto setup = made(std::string("mtu 2048\nflow A-D from A to D bytes ") + bytes + "\n");
        const auto sim = setup->start();

        (void)sim->advance(seconds(1));

        EXPECT_EQ(sim->counters(port(*setup, "A", 1)).xmit_pkts, packets) << bytes;
        EXPECT_EQ(sim->counters(port(*setup, "D", 1)).rcv_pkts, packets) << bytes;
    }
}

// A-D and B-D share D's port for 2 ms, then B-D is alone for 1 ms; 7 ms later A-D comes back and has all to itself.
TEST(FlowLevel, WaitingIsOverWhenTheLastStreamHasLeft) {
    const auto setup = made(
        "host-delay 0\ncable-delay 0\nswitch-delay 0\ncounter-tick 10ns\n"
        "flow A-D from A to D bytes 1MB message 4MB\nflow B-D from B to D bytes 2MB message 4MB\n"
        "flow late from A to D bytes 1MB message 4MB start 10ms\n");
    const auto sim = setup->start();

    (void)sim->advance(seconds(1));

    const auto waited = [&](const char* node, std::uint8_t number) {
        return static_cast<double>(sim->counters(port(*setup, node, number)).xmit_wait);
    };
    EXPECT_EQ(sim->now(), milliseconds(11));
    EXPECT_NEAR(waited("A", 1), 100'000, 1);  // half of the 2 ms
    EXPECT_NEAR(waited("B", 1), 100'000, 1);
    EXPECT_NEAR(waited("S1", 15), 200'000 * 7.0 / 8, 1);
    EXPECT_EQ(waited("S2", 23), 0);
}

// Two ranks on one port, 10 kB at 100 ps a byte: a copy of 1 us and 200 ns on either side; the second message is copied
// behind the first.
TEST(FlowLevel, MessagesInsideAHostAreCopiedOneAfterTheOther) {
    const auto setup = made("flow A-D from A to D bytes 1\n");
    traffic::ScheduleBuilder builder(2);
    for (const std::uint64_t bytes : {10'000u, 10u}) {
        builder.send(Rank{0}, Rank{1}, bytes);
        builder.receive(Rank{1}, Rank{0}, bytes);
    }
    const traffic::Schedule schedule = builder.build();
    Network network = setup->network();
    network.placement.hosts[1] = network.placement.hosts[0];

    for (const Level level : {Level::flow, Level::packet}) {
        const auto sim = make_simulation(level, network, schedule, {});
        const State state = sim->advance(seconds(1));

        EXPECT_EQ(state, State::finished);
        EXPECT_EQ(sim->rank_ends()[1], microseconds(1) + nanoseconds(1 + 2 * 200)) << to_string(level);
        EXPECT_EQ(sim->counters(network.placement.hosts[0]), fabric::PortCounters{});
    }
}

// 1,000 bytes copied at 7 ps each inside a host, then reduced at 9 ps.
TEST(FlowLevel, LocalWorkCostsWhatTheOptionsSay) {
    const auto setup = made("flow A-D from A to D bytes 1\n");
    traffic::ScheduleBuilder builder(2);
    builder.send(Rank{0}, Rank{1}, 1'000);
    const auto receive = builder.receive(Rank{1}, Rank{0}, 1'000);
    traffic::Op reduce;
    reduce.kind = traffic::OpKind::reduce;
    reduce.amount = 1'000;
    builder.require(Rank{1}, builder.add(Rank{1}, reduce), receive);
    const traffic::Schedule schedule = builder.build();
    Network network = setup->network();
    network.placement.hosts[1] = network.placement.hosts[0];
    Options options;
    options.local = {.copy = 7, .reduce = 9};

    for (const Level level : {Level::flow, Level::packet}) {
        const auto sim = make_simulation(level, network, schedule, options);
        (void)sim->advance(seconds(1));

        EXPECT_EQ(sim->rank_ends()[1], nanoseconds(2 * 200 + 7 + 9)) << to_string(level);
    }
}

TEST(FlowLevel, SaysWhoWaitsForEver) {
    const auto setup = made("flow A-D from A to D bytes 1\n");
    traffic::ScheduleBuilder builder(2);
    builder.receive(Rank{0}, Rank{1}, 7);
    const traffic::Schedule schedule = builder.build();
    const auto sim = make_simulation(Level::flow, setup->network(), schedule, {});

    const State state = sim->advance(seconds(1));

    EXPECT_EQ(state, State::stuck);
    EXPECT_THAT(sim->trouble(), ElementsAre(HasSubstr("rank 0 waits for 7 bytes from rank 1")));
}

TEST(FlowLevel, AdvancesInSteps) {
    const auto setup = made("flow A-D from A to D bytes 1MB message 10kB window 3\nflow B-D from B to D bytes 1MB\n");
    const auto whole = setup->start();
    const auto steps = setup->start();

    (void)whole->advance(seconds(1));
    State state = State::running;
    for (Time t; state == State::running; t += microseconds(7)) {
        state = steps->advance(t);
        if (state == State::running) {
            EXPECT_EQ(steps->now(), t);
        }
    }

    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(whole->flows()[i].ended, steps->flows()[i].ended);
    EXPECT_EQ(whole->counters(port(*setup, "S2", 23)), steps->counters(port(*setup, "S2", 23)));
}

TEST(FlowLevel, RefusesTablesThatLoseAPairAndRanksWithoutPlace) {
    const auto setup = made("flow A-D from A to D bytes 1\n");
    routing::Tables broken = setup->tables;
    const Lid lid = setup->fabric.port(setup->placement.hosts[1]).lid;
    broken.set(1, lid, routing::no_route);
    Network network = setup->network();
    network.tables = &broken;
    Network nowhere = setup->network();
    nowhere.placement.hosts[1] = no_port;

    const auto message = [&](const Network& bad) -> std::string {
        try {
            (void)make_simulation(Level::flow, bad, setup->schedule, {});
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    };

    EXPECT_THAT(message(network), HasSubstr("rank 0 on A to rank 1 on D: no entry behind S1 port 15"));
    EXPECT_THAT(message(nowhere), HasSubstr("rank 1"));
    EXPECT_THAT(message({}), HasSubstr("expected a fabric"));
}

// Random messages on a thin tree end when the reference says, to the picosecond.
void compare_with_reference(std::uint64_t seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    fabric::Fabric tree = fabric::pgft({.children = {4, 4}, .parents = {1, 2}});
    tree.assign_lids();
    const routing::SwitchGraph graph(tree);
    const routing::Tables tables = routing::route_minhop(graph, {}).tables;
    const fabric::Placement order = fabric::place_in_order(tree);
    Network network{&graph, &tables, {}};
    const std::uint32_t count = 60;
    traffic::ScheduleBuilder builder(2 * count);
    std::vector<reference::Stream> streams;
    std::vector<PortIndex> path;
    for (std::uint32_t i = 0; i < count; ++i) {
        const PortIndex from = order.hosts[random.below(16)];
        PortIndex to = from;
        while (to == from) to = order.hosts[random.below(16)];
        const Time start = nanoseconds(1 + random.below(40) * 1000);
        const std::uint64_t bytes = 1 + random.below(i % 2 == 0 ? 100'000 : 50) * 10;
        network.placement.hosts.push_back(from);
        network.placement.hosts.push_back(to);
        const auto wait = builder.compute(Rank{2 * i}, start);
        builder.require(Rank{2 * i}, builder.send(Rank{2 * i}, Rank{2 * i + 1}, bytes), wait);
        builder.receive(Rank{2 * i + 1}, Rank{2 * i}, bytes);
        ASSERT_EQ(walk(network, from, to, tree.port(to).lid, path), Walk::arrives);
        reference::Stream stream{start.ps, bytes, {}};
        for (const PortIndex port : path) stream.path.push_back(port.value);
        streams.push_back(stream);
    }
    const traffic::Schedule schedule = builder.build();
    Options options;
    options.flow.host_delay = options.flow.cable_delay = options.flow.switch_delay = Time{};
    std::vector<std::int64_t> capacities;
    for (const fabric::Port& port : tree.all_ports())
        capacities.push_back(std::int64_t{port.rate.megabits()} * 1'000'000'000);

    const auto sim = make_simulation(Level::flow, network, schedule, options);
    const State state = sim->advance(seconds(10));

    EXPECT_EQ(state, State::finished);
    EXPECT_THAT(sim->trouble(), IsEmpty());
    const auto expected = reference::stream_ends(capacities, streams);
    const auto flows = sim->flows();
    ASSERT_EQ(flows.size(), count);
    std::uint64_t crossed = 0, sent = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(flows[i].ended.ps, expected[i]) << "message " << i;
        sent += streams[i].bytes;
    }
    for (const PortIndex host : order.hosts) crossed += sim->counters(host).xmit_data * 4;
    EXPECT_NEAR(static_cast<double>(crossed), static_cast<double>(sent), 16 * 4);
}

TEST(GeneratedFlows, EndAsTheReferenceSays) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) compare_with_reference(seed);
}

}  // namespace
