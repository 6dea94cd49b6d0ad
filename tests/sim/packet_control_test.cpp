// Congestion control: what is marked, who is told, and how sources slow down. Derived by hand where it can be.
#include <gtest/gtest.h>

#include "sim/packet_bed.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

constexpr const char* three_flows =
    "flow a from A to D bytes 4MiB message 4MiB\nflow b from B to D bytes 4MiB message 4MiB\n"
    "flow c from C to D bytes 4MiB message 4MiB\n";

Bed controlled(const std::string& flows, std::uint8_t threshold = 15) {
    Bed bed(star + flows);
    bed.options().congestion.switches.threshold = threshold;
    return bed;
}

struct Counts {
    std::uint64_t sent, marked;
};
Counts at_output(const Bed& bed, Time until) {
    const auto engine = bed.start();
    (void)engine->advance(until);
    const auto counters = engine->counters(bed.port("S:4"));
    return {counters.xmit_pkts, counters.marked_fecn};
}

// Both heads are at the switch at 350 ns, A's goes, B's waits until 868.5 ns behind an output that two inputs want.
// With threshold 15 that is congestion, and B's packet is marked when it goes.
TEST(PacketControl, CongestionOfOnePacketBehindAnother) {
    const Bed bed = controlled("flow a from A to D bytes 2048\nflow b from B to D bytes 2048\n");
    bed.options().counter_tick = Time{1};
    const auto engine = bed.start();

    (void)engine->advance(never);

    const auto output = engine->counters(bed.port("S:4"));
    EXPECT_EQ(output.xmit_cong_time, 518'500u);
    EXPECT_EQ(output.marked_fecn, 1u);
    EXPECT_EQ(output.xmit_wait, 0u);
    EXPECT_EQ(engine->counters(bed.port("D:1")).rcv_fecn, 1u);
    EXPECT_EQ(engine->counters(bed.port("A:1")).rcv_becn, 0u);
    EXPECT_EQ(engine->counters(bed.port("B:1")).rcv_becn, 1u);
}

TEST(PacketControl, NoThresholdNoMarks) {
    const Bed bed = controlled(three_flows, 0);

    EXPECT_EQ(at_output(bed, milliseconds(1)).marked, 0u);
    EXPECT_EQ(bed.start()->congestion_parameters(), nullptr);
}

// One input alone is never congestion, however long its queue.
TEST(PacketControl, NoMarksWithoutContention) {
    const Bed bed =
        controlled("flow a from A to D bytes 4MiB message 4MiB\nflow b from A to D bytes 4MiB message 4MiB\n");

    EXPECT_EQ(at_output(bed, milliseconds(1)).marked, 0u);
}

// Of the packets of a congested port one in rate + 1.
TEST(PacketControl, MarkingRateIsThePacketsBetweenMarks) {
    for (const std::uint16_t rate : std::initializer_list<std::uint16_t>{0, 1, 3, 100}) {
        const Bed bed = controlled(three_flows);
        bed.options().congestion.switches.marking_rate = rate;

        const Counts counts = at_output(bed, milliseconds(2));

        EXPECT_NEAR(static_cast<double>(counts.marked), static_cast<double>(counts.sent) / (rate + 1), 3) << rate;
    }
}

TEST(PacketControl, MarkingRateCanBeTurnedWhileItRuns) {
    const Bed bed = controlled(three_flows);
    bed.options().congestion.switches.marking_rate = 65'535;
    const auto engine = bed.start();
    fabric::CongestionParameters& parameters = *engine->congestion_parameters();
    (void)engine->advance(milliseconds(1));
    const auto before = engine->counters(bed.port("S:4"));

    parameters.set_marking_rate(bed.port("S:4"), 4);
    (void)engine->advance(milliseconds(2));

    const auto after = engine->counters(bed.port("S:4"));
    EXPECT_EQ(before.marked_fecn, 0u);
    EXPECT_EQ(parameters.marking_rate(bed.port("S:4")), 4);
    EXPECT_EQ(parameters.marking_rate(bed.port("S:3")), 65'535);
    EXPECT_NEAR(static_cast<double>(after.marked_fecn), static_cast<double>(after.xmit_pkts - before.xmit_pkts) / 5, 2);
    EXPECT_THROW(parameters.set_marking_rate(bed.port("A:1"), 4), Error);
}

// A queue is bounded by the inputs' buffers, 512 blocks each: 15 packets of 33. Threshold n stands for (15 - n)
// fifteenths of a buffer.
TEST(PacketControl, HigherThresholdsMarkAtShorterQueues) {
    // Two bursts of eight packets: A's go through, B's pile up to eight packets of 2074 bytes, 16,592 bytes; the first
    // one behind A's last of the same moment is no exception. Threshold 7 is 17,472 bytes: 8 fifteenths of 32,768.
    const std::string bursts = "flow a from A to D bytes 16384\nflow b from B to D bytes 16384\n";

    EXPECT_EQ(at_output(controlled(bursts, 7), never).marked, 0u);
    EXPECT_GT(at_output(controlled(bursts, 12), never).marked, 0u);
    EXPECT_GT(at_output(controlled(bursts, 15), never).marked, at_output(controlled(bursts, 12), never).marked);
}

// 33 x 64 bytes are more than the 2074 of a packet, 32 x 64 are less.
TEST(PacketControl, SmallPacketsStayUnmarked) {
    const Bed bed = controlled(three_flows);
    bed.options().congestion.switches.packet_size = 33;
    const Counts larger = at_output(bed, milliseconds(1));
    bed.options().congestion.switches.packet_size = 32;

    const Counts smaller = at_output(bed, milliseconds(1));

    EXPECT_EQ(larger.marked, 0u);
    EXPECT_GT(smaller.marked, 1000u);
}

// A and X share the link from S to T, of which D's port lets half pass: that link lacks credits, so it is no root.
TEST(PacketControl, PortsWithoutCreditsMarkOnlyWhenAsked) {
    const auto marked = [](bool mask) {
        Bed bed(
            "switch S 4\nswitch T 4\nhost A\nhost X\nhost B\nhost D\nlink A S:1 4xQDR\nlink X S:2 4xQDR\n"
            "link S:3 T:3 4xQDR\nlink B T:1 4xQDR\nlink D T:2 4xQDR\nflow a from A to D bytes 4MiB message 4MiB\n"
            "flow x from X to D bytes 4MiB message 4MiB\nflow b from B to D bytes 4MiB message 4MiB\n");
        bed.options().congestion.switches.threshold = 15;
        bed.options().congestion.switches.victim_mask = mask;
        const auto engine = bed.start();
        (void)engine->advance(milliseconds(1));
        const auto counters = engine->counters(bed.port("S:3"));
        return static_cast<double>(counters.marked_fecn) / static_cast<double>(counters.xmit_pkts);
    };

    EXPECT_LT(marked(false), 0.05);
    EXPECT_GT(marked(true), 0.95);
}

// Every marked packet leads to a notification of its own, or to a bit in the acknowledgement of its message.
TEST(PacketControl, NotificationsByPacketOrByMessage) {
    const std::string flows =
        "flow a from A to D bytes 1MiB message 16KiB window 4\nflow b from B to D bytes 1MiB message 16KiB window 4\n";
    for (const Notify notify : {Notify::cnp, Notify::ack}) {
        const Bed bed = controlled(flows);
        bed.options().congestion.notify = notify;
        const auto engine = bed.start();

        ASSERT_EQ(engine->advance(never), State::finished);

        const auto a = engine->counters(bed.port("A:1")), b = engine->counters(bed.port("B:1"));
        const auto d = engine->counters(bed.port("D:1"));
        EXPECT_EQ(d.rcv_fecn, engine->counters(bed.port("S:4")).marked_fecn);
        EXPECT_GT(d.rcv_fecn, 500u);
        EXPECT_EQ(a.rcv_pkts, 64 + (notify == Notify::cnp ? a.rcv_becn : 0));  // 64 messages
        if (notify == Notify::cnp)
            EXPECT_EQ(a.rcv_becn + b.rcv_becn, d.rcv_fecn);
        else
            EXPECT_GT(a.rcv_becn + b.rcv_becn, 120u);
        EXPECT_LE(notify == Notify::cnp ? 0 : a.rcv_becn, 64u);
    }
}

// Without a timer: after n notifications the minimum and n increases, and no more than the limit.
TEST(PacketControl, IndexRisesByIncreaseUpToLimit) {
    const Bed bed = controlled(three_flows);
    CongestionControl& control = bed.options().congestion;
    control.table.assign(32, 0.0);
    control.hosts.fill({.ccti_timer = 0, .ccti_increase = 2, .ccti_limit = 9, .ccti_min = 3});
    const auto engine = bed.start();

    std::vector<std::uint64_t> seen;
    for (unsigned step = 0; step < 200; ++step) {
        (void)engine->advance(nanoseconds(100) * step);
        const std::uint64_t becn = engine->counters(bed.port("A:1")).rcv_becn;
        EXPECT_EQ(engine->throttle_index(0), std::min<std::uint64_t>(3 + 2 * becn, 9)) << becn;
        seen.push_back(becn);
    }

    EXPECT_EQ(seen.front(), 0u);
    EXPECT_GT(seen.back(), 5u);
}

// A limit of 0, and one beyond the table, stand for its last entry.
TEST(PacketControl, TheTableEndsTheIndex) {
    for (const std::uint8_t limit : std::initializer_list<std::uint8_t>{0, 200}) {
        const Bed bed = controlled(three_flows);
        bed.options().congestion.table.assign(7, 0.0);
        bed.options().congestion.hosts.fill({.ccti_timer = 0, .ccti_increase = 5, .ccti_limit = limit, .ccti_min = 0});
        const auto engine = bed.start();

        (void)engine->advance(milliseconds(1));

        EXPECT_EQ(engine->throttle_index(0), 6u);
    }
}

// The timer takes one off each 10 x 1.024 us. 81.92 us are 8 of those and 625 windows of 2^17 ps, so that the engine
// can stop at exactly that distance.
TEST(PacketControl, IndexFallsByTheTimerDownToTheMinimum) {
    traffic::ScheduleBuilder builder(3);
    builder.send(Rank{0}, Rank{2}, 1 << 18);
    builder.send(Rank{1}, Rank{2}, 1 << 18);
    builder.compute(Rank{2}, milliseconds(2));
    Ranked ranked({"A", "B", "D"}, builder.build());
    CongestionControl& control = ranked.options.packet.congestion;
    control.switches.threshold = 15;
    control.table.assign(100, 0.0);
    control.hosts.fill({.ccti_timer = 10, .ccti_increase = 1, .ccti_limit = 40, .ccti_min = 2});
    packet::Engine engine(ranked.network, ranked.schedule, ranked.options);
    (void)engine.advance(microseconds(200));  // all has arrived

    const Time then = engine.now();
    const unsigned before = engine.throttle_index(0);
    (void)engine.advance(then + Time{81'920'000});
    const unsigned later = engine.throttle_index(0);
    (void)engine.advance(milliseconds(1));

    EXPECT_EQ(engine.now() >= then + Time{81'920'000}, true);
    EXPECT_GT(before, 20u);
    EXPECT_EQ(later, before - 8);
    EXPECT_EQ(engine.throttle_index(0), 2u);
}

// A minimum keeps a flow slow that nobody complains about: entry 1 is three packet times behind each packet, so a
// quarter of the rate is left. Delays are stretched at random by up to a sixteenth either way.
TEST(PacketControl, TheDelayIsSoManyPacketTimes) {
    const Bed bed = controlled("flow a from A to D bytes 64MiB message 64MiB\n");
    bed.options().congestion.table = {0.0, 3.0};
    bed.options().congestion.hosts.fill({.ccti_timer = 1, .ccti_increase = 1, .ccti_limit = 1, .ccti_min = 1});
    const auto engine = bed.start();

    (void)engine->advance(milliseconds(2));

    const double packets = static_cast<double>(engine->flows()[0].delivered) / 2048;
    EXPECT_NEAR(packets * 518.5 / 2e6, 0.25, 0.005);
    EXPECT_EQ(engine->counters(bed.port("A:1")).xmit_wait, 0u);
}

// By queue pair the flow that was complained about is slow, by service level all of its host's on that level.
TEST(PacketControl, ScopeIsAQueuePairOrAServiceLevel) {
    const std::string flows = std::string(three_flows) + "flow e from A to E bytes 4MiB message 4MiB\n";
    for (const ControlScope scope : {ControlScope::queue_pair, ControlScope::service_level}) {
        const Bed bed = controlled(flows);
        bed.options().congestion.table.assign(16, 0.0);
        bed.options().congestion.scope = scope;
        const auto engine = bed.start();

        (void)engine->advance(microseconds(100));

        EXPECT_GT(engine->throttle_index(0), 0u);
        EXPECT_EQ(engine->throttle_index(3), scope == ControlScope::queue_pair ? 0 : engine->throttle_index(0));
    }
}

// F's second message may go at about 27 us. It is posted while G sends, and G then falls silent: F's turn comes all the
// same.
TEST(PacketControl, AThrottledFlowIsNotForgottenBehindAnother) {
    traffic::ScheduleBuilder builder(3);
    traffic::Op first{.amount = 2000, .peer = Rank{1}, .kind = traffic::OpKind::send, .sl = 1};
    const auto one = builder.add(Rank{0}, first);
    const auto pause = builder.compute(Rank{0}, microseconds(1));
    const auto two = builder.add(Rank{0}, first);
    builder.require(Rank{0}, two, pause);
    builder.require(Rank{0}, two, one, true);
    const auto wait = builder.compute(Rank{0}, nanoseconds(700), 1);
    builder.require(Rank{0}, builder.send(Rank{0}, Rank{2}, 3 * 2048), wait);
    Ranked ranked({"A", "B", "C"}, builder.build());
    CongestionControl& control = ranked.options.packet.congestion;
    control.switches.threshold = 15;
    control.table = {0.0, 50.0};
    control.hosts[1].ccti_min = 1;
    const auto sim = ranked.start();

    const State state = sim->advance(never);

    EXPECT_EQ(state, State::finished);
    EXPECT_NEAR(sim->flows()[0].ended.microseconds(), 27, 2);
    EXPECT_NEAR(sim->flows()[1].ended.microseconds(), 2.9, 0.3);
}

}  // namespace
