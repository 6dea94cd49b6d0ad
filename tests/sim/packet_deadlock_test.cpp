// Circles of waiting buffers: found, told, and avoided by lanes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "reference/packet.hpp"
#include "reference/packet_cases.hpp"
#include "sim/packet/engine.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

// Switches in a ring, port 1 clockwise, port 2 back, the hosts behind; and another switch with two hosts, apart.
fabric::Fabric ring(unsigned switches) {
    reference::Wiring wiring;
    std::vector<NodeId> sw;
    for (unsigned i = 0; i < switches; ++i) sw.push_back(wiring.add_switch(fmt::format("s{}", i), 8));
    for (unsigned i = 0; i < switches; ++i)
        wiring.fabric.connect(sw[i], PortNum{1}, sw[(i + 1) % switches], PortNum{2});
    for (unsigned i = 0; i < switches; ++i) wiring.add_host(sw[i], fmt::format("h{}", i));
    const NodeId apart = wiring.add_switch("apart", 8);
    wiring.add_host(apart, "p");
    wiring.add_host(apart, "q");
    wiring.fabric.assign_lids();
    return std::move(wiring.fabric);
}

// Every host of the ring sends nearly all the way around it; rank i is on host i, the last two are apart.
struct Circle {
    PacketCase made;
    std::uint32_t switches;

    explicit Circle(std::uint32_t count) : switches(count) {
        made.fabric = ring(count);
        made.route("dfsssp");
        made.network.placement.hosts = made.hosts();
        made.options.packet.buffer_bytes = 3 * 33 * 64;
    }
    void go_clockwise() {
        made.tables = routing::route_minhop(*made.graph, {}).tables;
        for (std::uint32_t s = 0; s < switches; ++s)
            for (std::uint32_t h = 0; h < switches; ++h)
                if (h != s) made.tables.set(s, made.fabric.port(made.network.placement.hosts[h]).lid, 1);
    }
    [[nodiscard]] traffic::ScheduleBuilder around() const {
        traffic::ScheduleBuilder builder(switches + 2);
        for (std::uint32_t r = 0; r < switches; ++r)
            builder.send(Rank{r}, Rank{(r + switches - 1) % switches}, 1 << 18);
        return builder;
    }
    [[nodiscard]] std::unique_ptr<packet::Engine> start() const {
        return std::make_unique<packet::Engine>(made.network, made.schedule, made.options);
    }
};

// Each line's port waits for the buffer at the other end of its cable, which holds packets for the next line's port.
void expect_circle(const PacketCase& made, const std::vector<std::string>& lines, std::size_t length) {
    const std::regex form("(.*) lane (\\d+) waits for the buffer of (.*), which holds (\\d+) packets for (.*)");
    ASSERT_EQ(lines.size(), length) << testing::PrintToString(lines);
    std::vector<std::smatch> parts(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_TRUE(std::regex_match(lines[i], parts[i], form)) << lines[i];
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(parts[i][5], parts[(i + 1) % lines.size()][1]) << lines[i];
        EXPECT_GT(std::stoi(parts[i][4]), 0);
        bool found = false;
        for (const fabric::Port& port : made.fabric.all_ports()) {
            if (!port.connected() || fabric::describe(made.fabric, port.node, port.number) != parts[i][1]) continue;
            const fabric::Port& peer = made.fabric.port(port.peer);
            EXPECT_EQ(fabric::describe(made.fabric, peer.node, peer.number), parts[i][3]);
            found = true;
        }
        EXPECT_TRUE(found) << lines[i];
    }
}

TEST(PacketDeadlock, ACircleOfFullBuffersIsTold) {
    for (const std::uint32_t switches : {4u, 5u, 8u}) {
        Circle circle(switches);
        circle.go_clockwise();
        circle.made.schedule = circle.around().build();
        const auto engine = circle.start();

        const State state = engine->advance(never);

        EXPECT_EQ(state, State::deadlocked);
        expect_circle(circle.made, engine->trouble(), switches);
        EXPECT_EQ(engine->advance(never), State::deadlocked);
        EXPECT_EQ(engine->audit(), "");
    }
}

TEST(PacketDeadlock, ComesAboutAsInTheReference) {
    Circle circle(5);
    circle.go_clockwise();
    circle.made.schedule = circle.around().build();
    const auto engine = circle.start();
    reference::PacketLevel slow(circle.made.network, circle.made.schedule, circle.made.options);

    (void)engine->advance(never);
    slow.run();

    const auto wanted = slow.ranks().flows();
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(engine->flows()[i].delivered, wanted[i].delivered);
    for (std::uint32_t p = 0; p < circle.made.fabric.port_count(); ++p)
        EXPECT_EQ(engine->counters(PortIndex{p}), slow.counters(PortIndex{p}, engine->now())) << p;
}

// Everyone to everyone by shortest ways, which close the circle as well, unless lanes part them.
TEST(PacketDeadlock, LanesBreakTheCircle) {
    Circle circle(5);
    traffic::ScheduleBuilder builder(7);
    for (std::uint32_t from = 0; from < 5; ++from)
        for (const std::uint32_t way : {2u, 3u}) builder.send(Rank{from}, Rank{(from + way) % 5}, 1 << 18);
    circle.made.schedule = builder.build();
    const auto engine = circle.start();

    EXPECT_GT(circle.made.tables.lane_count(), 1u);
    EXPECT_EQ(engine->advance(never), State::finished);
    EXPECT_THAT(engine->trouble(), testing::IsEmpty());
}

// Without flow control nothing waits, and with buffers for everything nothing has to.
TEST(PacketDeadlock, NoneWithoutLimits) {
    Circle circle(5);
    circle.go_clockwise();
    circle.made.schedule = circle.around().build();
    circle.made.options.packet.flow_control = FlowControl::infinite;
    EXPECT_EQ(circle.start()->advance(never), State::finished);

    circle.made.options.packet.flow_control = FlowControl::credits;
    circle.made.options.packet.buffer_bytes = 1 << 22;

    EXPECT_EQ(circle.start()->advance(never), State::finished);
}

TEST(PacketDeadlock, IsToldWhileOthersGoOn) {
    Circle circle(5);
    circle.go_clockwise();
    traffic::ScheduleBuilder builder = circle.around();
    builder.send(Rank{5}, Rank{6}, 1 << 30);
    circle.made.schedule = builder.build();
    const auto engine = circle.start();

    State state = State::running;
    for (unsigned step = 1; state == State::running && step < 20; ++step)
        state = engine->advance(microseconds(500) * step);

    EXPECT_EQ(state, State::deadlocked);
    EXPECT_LT(engine->now(), milliseconds(4));
    expect_circle(circle.made, engine->trouble(), 5);
    EXPECT_GT(engine->flows().back().delivered, 1u << 20);
}

// Lane 0 is dead on every port of the ring while lane 1 keeps one of them busy.
TEST(PacketDeadlock, IsToldWhileAnotherLaneOfTheSamePortGoesOn) {
    Circle circle(5);
    circle.go_clockwise();
    traffic::ScheduleBuilder builder = circle.around();
    builder.add(Rank{0}, {.amount = 1 << 30, .peer = Rank{1}, .kind = traffic::OpKind::send, .sl = 1});
    circle.made.schedule = builder.build();
    circle.made.options.packet.sl_to_vl[1] = 1;
    const auto engine = circle.start();

    State state = State::running;
    for (unsigned step = 1; state == State::running && step < 20; ++step)
        state = engine->advance(microseconds(500) * step);

    EXPECT_EQ(state, State::deadlocked);
    expect_circle(circle.made, engine->trouble(), 5);
    EXPECT_GT(engine->flows()[0].delivered, 1u << 20);
}

// A queue that is only long, behind a host that takes 5 ms to give credits back, is not dead.
TEST(PacketDeadlock, PatienceIsNotDeath) {
    PacketCase made;
    made.fabric = ring(4);
    made.route("dfsssp");
    made.network.placement.hosts = made.hosts();
    made.options.packet.buffer_bytes = 3 * 33 * 64;
    made.options.packet.cable_delay = milliseconds(5);
    traffic::ScheduleBuilder builder(6);
    for (std::uint32_t r = 1; r < 4; ++r) builder.send(Rank{r}, Rank{0}, 1 << 14);
    made.schedule = builder.build();
    packet::Engine engine(made.network, made.schedule, made.options);

    State state = State::running;
    for (unsigned step = 1; state == State::running; ++step) state = engine.advance(milliseconds(2) * step);

    EXPECT_EQ(state, State::finished);
}

// On cables of 3 ms every wait is worth a look, and what will make room may be on its way still: as long as it is,
// nothing is dead. Looking often must not change how it ends.
TEST(PacketDeadlock, IsNotToldWhileHelpIsOnItsWay) {
    unsigned finished = 0, deadlocked = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Random random(seed);
        Circle circle(4);
        circle.go_clockwise();
        circle.made.options.packet.cable_delay = milliseconds(3);
        traffic::ScheduleBuilder builder(6);
        for (std::uint32_t r = 0; r < 4; ++r)
            for (const std::uint32_t hops : {1u, 2u, 3u})
                builder.send(Rank{r}, Rank{(r + hops) % 4}, random.below(7) * 2048);
        circle.made.schedule = builder.build();
        const auto whole = circle.start();
        const auto watched = circle.start();

        const State state = whole->advance(never);
        State seen = State::running;
        for (Time t; seen == State::running; t += microseconds(500)) seen = watched->advance(t);

        EXPECT_EQ(seen, state) << seed;
        (state == State::finished ? finished : deadlocked) += 1;
    }
    EXPECT_GT(finished, 0u);
    EXPECT_GT(deadlocked, 0u);
}

}  // namespace
