// The packet level equals its slow reference to the last tick, and its books balance at every microsecond.
#include <gtest/gtest.h>

#include <map>

#include "reference/packet.hpp"
#include "reference/packet_cases.hpp"
#include "sim/packet/engine.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

void expect_same_flows(const std::vector<Flow>& flows, const std::vector<Flow>& wanted) {
    ASSERT_EQ(flows.size(), wanted.size());
    for (std::size_t i = 0; i < flows.size(); ++i) {
        SCOPED_TRACE(fmt::format("flow {} -> {}", wanted[i].from.value, wanted[i].to.value));
        EXPECT_EQ(flows[i].from, wanted[i].from);
        EXPECT_EQ(flows[i].to, wanted[i].to);
        EXPECT_EQ(flows[i].bytes, wanted[i].bytes);
        EXPECT_EQ(flows[i].delivered, wanted[i].delivered);
        EXPECT_EQ(flows[i].begun, wanted[i].begun);
        EXPECT_EQ(flows[i].ended, wanted[i].ended);
    }
}

void expect_same_counters(const PacketCase& made, const packet::Engine& engine, const reference::PacketLevel& slow) {
    for (std::uint32_t p = 0; p < made.fabric.port_count(); ++p) {
        const fabric::PortCounters have = engine.counters(PortIndex{p});
        const fabric::PortCounters want = slow.counters(PortIndex{p}, engine.now());
        if (have == want) continue;
        const fabric::Port& port = made.fabric.port(PortIndex{p});
        SCOPED_TRACE(fabric::describe(made.fabric, port.node, port.number));
        EXPECT_EQ(have.xmit_data, want.xmit_data);
        EXPECT_EQ(have.xmit_pkts, want.xmit_pkts);
        EXPECT_EQ(have.rcv_data, want.rcv_data);
        EXPECT_EQ(have.rcv_pkts, want.rcv_pkts);
        EXPECT_EQ(have.xmit_wait, want.xmit_wait);
        EXPECT_EQ(have.xmit_cong_time, want.xmit_cong_time);
        EXPECT_EQ(have.marked_fecn, want.marked_fecn);
        EXPECT_EQ(have.rcv_fecn, want.rcv_fecn);
        EXPECT_EQ(have.rcv_becn, want.rcv_becn);
    }
}

class PacketReference : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PacketReference, EngineEqualsItAtEveryStep) {
    const auto made = draw_case(GetParam());
    packet::Engine engine(made->network, made->schedule, made->options);
    reference::PacketLevel slow(made->network, made->schedule, made->options);

    State state = State::running;
    for (unsigned step = 1; state == State::running; ++step) {
        state = engine.advance(step < 400 ? microseconds(step) : never);
        slow.run(engine.now());

        ASSERT_EQ(engine.audit(), "") << "at " << to_string(engine.now());
        expect_same_flows(engine.flows(), slow.ranks().flows());
        expect_same_counters(*made, engine, slow);
        if (HasFailure()) FAIL() << "at " << to_string(engine.now());
    }

    EXPECT_EQ(engine.rank_ends(), slow.ranks().ends());
    EXPECT_EQ(state == State::finished, slow.ranks().finished());
}

INSTANTIATE_TEST_SUITE_P(Drawn, PacketReference, testing::Range<std::uint64_t>(1, 121));

// The drawn cases are worth something only if everything happens in some of them.
TEST(PacketReferenceCases, HaveEverythingInThem) {
    std::map<State, unsigned> ended;
    fabric::PortCounters total;
    unsigned adaptive = 0, parted = 0, unlimited = 0, spread = 0, several_lanes = 0, no_cable = 0, far = 0;
    unsigned other_tick = 0, other_work = 0, seldom_marked = 0;

    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        const auto made = draw_case(seed);
        const PacketOptions& o = made->options.packet;
        packet::Engine engine(made->network, made->schedule, made->options);
        ++ended[engine.advance(never)];
        for (std::uint32_t p = 0; p < made->fabric.port_count(); ++p) {
            const fabric::PortCounters c = engine.counters(PortIndex{p});
            total.xmit_wait += c.xmit_wait;
            total.xmit_cong_time += c.xmit_cong_time;
            total.marked_fecn += c.marked_fecn;
            total.rcv_becn += c.rcv_becn;
        }
        adaptive += o.paths == PathChoice::adaptive;
        parted += o.buffer_use == BufferUse::per_output;
        unlimited += o.flow_control == FlowControl::infinite;
        spread += o.lids == LidChoice::spread && made->fabric.port(made->hosts()[0]).lmc > 0;
        several_lanes += made->tables.lane_count() > 1 || !o.arbitration.low.empty();
        no_cable += o.cable_delay == Time{};
        far += o.cable_delay > microseconds(200);
        other_tick += o.counter_tick != PacketOptions{}.counter_tick;
        other_work += made->options.local.copy != LocalCosts{}.copy;
        seldom_marked += o.congestion.switches.marking_rate > 7;
    }

    EXPECT_GT(ended[State::finished], 20u);
    EXPECT_GT(ended[State::stuck], 5u);
    EXPECT_EQ(ended[State::running], 0u);
    EXPECT_GT(total.xmit_wait, 10'000u);
    EXPECT_GT(total.xmit_cong_time, 1'000u);
    EXPECT_GT(total.marked_fecn, 100u);
    EXPECT_GT(total.rcv_becn, 100u);
    for (const unsigned cases :
         {adaptive, parted, unlimited, spread, several_lanes, no_cable, far, other_tick, other_work, seldom_marked})
        EXPECT_GT(cases, 5u);
}

}  // namespace
