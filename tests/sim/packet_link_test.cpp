// Times, rates and counters of single links and ports, each derived by hand. Unless a test says otherwise: cables of 50
// ns, switches of 100 ns, hosts of 200 ns, MTU 2048. A full packet has 2048 + 26 bytes on the wire: 33 blocks of
// credit, and 518.5 ns at 4xQDR.
#include <gtest/gtest.h>

#include "sim/packet_bed.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

constexpr Time full_packet{518'500};

// 200 ns in A; 50 of cable and 100 of switch for the head; 1026 bytes x 250 ps on the second link; 50 of cable and 200
// in B: 856.5 ns. The acknowledgement goes at once: 150 ns for the head, 30 bytes x 250 ps, 250 ns: 1264 ns.
TEST(PacketLink, OnePacketOverOneSwitchAndItsAcknowledgement) {
    const Bed bed(star + "flow f from A to B bytes 1000\n");
    const auto engine = bed.start();

    const State state = engine->advance(never);

    EXPECT_EQ(state, State::finished);
    EXPECT_EQ(engine->flows()[0].begun, Time{});
    EXPECT_EQ(engine->flows()[0].ended, Time{856'500});
    EXPECT_EQ(engine->rank_ends()[1], Time{856'500});
    EXPECT_EQ(engine->rank_ends()[0], Time{1'264'000});
    EXPECT_EQ(engine->work().packets, 1u);
    EXPECT_EQ(engine->work().bytes, 1000u);
}

// Another switch: 50 + 100 ns more each way.
TEST(PacketLink, OnePacketOverTwoSwitchesAndItsAcknowledgement) {
    const Bed bed(
        "switch S 4\nswitch T 4\nhost A\nhost B\nlink A S:1 4xQDR\nlink B T:1 4xQDR\nlink S:2 T:2 4xQDR\n"
        "flow f from A to B bytes 1000\n");
    const auto engine = bed.start();

    (void)engine->advance(never);

    EXPECT_EQ(engine->rank_ends()[1], Time{1'006'500});
    EXPECT_EQ(engine->rank_ends()[0], Time{1'006'500 + 300'000 + 7'500 + 250'000});
}

// A message of nothing is a packet of 26 bytes.
TEST(PacketLink, AMessageOfNothing) {
    const Bed bed(star + "flow f from A to B bytes 0\n");
    const auto engine = bed.start();

    (void)engine->advance(never);

    EXPECT_EQ(engine->flows()[0].ended, Time{350'000 + 26 * 250 + 250'000});
}

// From 4xSDR (1 ns a byte) to 4xQDR: the head is at the output at 350 ns, but the tail of 1026 bytes comes to the
// switch at 200 + 50 + 1026 ns and is through it at 1376 ns: the packet leaves so late that its tail does, too. From
// fast to slow it leaves at 350 ns and takes 1026 ns: the same.
TEST(PacketLink, BetweenSlowAndFastLinks) {
    const std::string lines = "switch S 4\nhost A\nhost B\nlink A S:1 4xSDR\nlink B S:2 4xQDR\n";
    const Bed up(lines + "flow f from A to B bytes 1000\n");
    const Bed down(lines + "flow f from B to A bytes 1000\n");
    const auto faster = up.start();
    const auto slower = down.start();

    (void)faster->advance(never);
    (void)slower->advance(never);

    EXPECT_EQ(faster->flows()[0].ended, Time{1'376'000 + 250'000});
    EXPECT_EQ(slower->flows()[0].ended, Time{1'376'000 + 250'000});
}

// A long message: 100 packets one behind the other, 200 + 150 ns before the first leaves the switch and 250 ns behind
// the last. The link's time for a byte is kept in 1/256 ps, so a packet's is right to a picosecond or so in 10,000.
TEST(PacketLink, OneFlowHasTheWholeLinkLessHeadersAtEveryRate) {
    for (const char* rate :
         {"1xSDR", "4xSDR", "4xDDR", "4xQDR", "4xFDR10", "4xFDR", "4xEDR", "4xHDR", "4xNDR", "12xQDR"}) {
        SCOPED_TRACE(rate);
        Bed bed("switch S 4\nhost A\nhost B\nlink A S:1 " + std::string(rate) + "\nlink B S:2 " + rate +
                "\nflow f from A to B bytes 204800\n");
        bed.options().buffer_bytes = 128 * 1024;
        const std::uint64_t megabits = fabric::parse_rate(rate)->megabits();
        const std::uint64_t slowness = (8'000'000ull * 256 + megabits / 2) / megabits;
        const auto engine = bed.start();

        (void)engine->advance(never);

        const Time packet{static_cast<std::int64_t>(2074 * slowness / 256)};
        EXPECT_EQ(engine->flows()[0].ended, nanoseconds(600) + 100 * packet);
        const double goodput = 2048 * 8e6 / static_cast<double>(packet.ps);
        EXPECT_NEAR(goodput / static_cast<double>(megabits), 2048.0 / 2074, 1e-4);
    }
}

// Two, three and four inputs at one output.
TEST(PacketLink, InputsShareAnOutputEvenly) {
    const std::string hosts = "ABCE";
    for (unsigned count = 2; count <= 4; ++count) {
        std::string lines = star;
        for (unsigned i = 0; i < count; ++i)
            lines += "flow f" + std::to_string(i) + " from " + hosts[i] + " to D bytes 64MiB message 64MiB\n";
        const Bed bed(lines);
        const auto engine = bed.start();

        (void)engine->advance(milliseconds(1));

        const auto packets = milliseconds(1) / full_packet;
        for (const Flow& flow : engine->flows())
            EXPECT_NEAR(static_cast<double>(flow.delivered) / 2048, static_cast<double>(packets) / count, 3) << count;
    }
}

// Fair to inputs, not to flows: A's two flows have together what B's one has.
TEST(PacketLink, AnInputWithTwoFlowsHasNoMoreThanOneWithOne) {
    const Bed bed(star +
                  "flow a from A to D bytes 64MiB message 64MiB\nflow b from A to D bytes 64MiB message 64MiB\n"
                  "flow c from B to D bytes 64MiB message 64MiB\n");
    const auto engine = bed.start();

    (void)engine->advance(milliseconds(1));

    const auto flows = engine->flows();
    const auto packets = static_cast<double>(milliseconds(1) / full_packet);
    EXPECT_NEAR(static_cast<double>(flows[0].delivered) / 2048, packets / 4, 3);
    EXPECT_NEAR(static_cast<double>(flows[1].delivered) / 2048, packets / 4, 3);
    EXPECT_NEAR(static_cast<double>(flows[2].delivered) / 2048, packets / 2, 3);
}

// Cables of 2 km, 10 us each way. A buffer of 32 KiB has 512 blocks: 15 packets. The tightest loop is that to the host:
// cable, packet, 200 ns in the host and cable again, 20.7185 us, and up to 524.288 ns until the next line of the grid
// on which credits are read. So 15 packets a loop; with 64 KiB 31.
TEST(PacketLink, CreditsLimitAFlowOverALongCable) {
    for (const auto& [kilobytes, packets] : {std::pair(32u, 15.0), std::pair(64u, 31.0)}) {
        Bed bed(star + "flow f from A to B bytes 64MiB message 64MiB\n");
        bed.options().cable_delay = microseconds(10);
        bed.options().buffer_bytes = kilobytes * 1024;
        const auto engine = bed.start();
        (void)engine->advance(milliseconds(1));
        const std::uint64_t before = engine->flows()[0].delivered;

        (void)engine->advance(milliseconds(11));

        const double rate = static_cast<double>(engine->flows()[0].delivered - before) / 10e6;  // bytes a ns
        EXPECT_LE(rate, packets * 2048 / 20718.5 * 1.005);
        EXPECT_GE(rate, packets * 2048 / (20718.5 + 524.288) * 0.995);
    }
}

// 5000 bytes: 2048, 2048 and 904, each with 24 more bytes up to and without the variant CRC, in words of 4. The
// acknowledgement has 28 such bytes.
TEST(PacketLink, CountsWordsAndPackets) {
    const Bed bed(star + "flow f from A to B bytes 5000\n");
    const auto engine = bed.start();

    (void)engine->advance(never);

    const auto a = engine->counters(bed.port("A:1"));
    const auto out = engine->counters(bed.port("S:2"));
    const auto b = engine->counters(bed.port("B:1"));
    EXPECT_EQ(a.xmit_data, 518u + 518 + 232);
    EXPECT_EQ(a.xmit_pkts, 3u);
    EXPECT_EQ(a.rcv_data, 7u);
    EXPECT_EQ(a.rcv_pkts, 1u);
    EXPECT_EQ(out.xmit_data, 1268u);
    EXPECT_EQ(b.rcv_data, 1268u);
    EXPECT_EQ(b.rcv_pkts, 3u);
    EXPECT_EQ(b.xmit_data, 7u);
    EXPECT_EQ(a.xmit_wait, 0u);
    EXPECT_EQ(engine->counters(bed.port("S:7")), fabric::PortCounters{});
}

// A buffer of two packets and cables of 500 ns; 600 ns from wire to wire make a grid of 2^19 ps = 524.288 ns. A sends
// at 200 and 718.5 and could at 1237 ns. The first packet is in the switch from 800 to 1318.5 ns; that is known at A at
// 1818.5 ns and read on the grid's fourth line: 2097.152 ns. So A waits for 860.152 ns. The switch never does: B has
// the first packet at 800 + 700 + 518.5 ns, its credit is back and read at 2621.44 ns, and the third packet is at the
// output at 2697.152 ns.
TEST(PacketLink, CountsTheTicksWithoutCredits) {
    Bed bed(star + "flow f from A to B bytes 6144\n");
    bed.options().cable_delay = nanoseconds(500);
    bed.options().buffer_bytes = 2 * 33 * 64;
    bed.options().counter_tick = Time{1};
    const auto exact = bed.start();
    bed.options().counter_tick = nanoseconds(22);
    const auto ticks = bed.start();

    (void)exact->advance(never);
    (void)ticks->advance(nanoseconds(1500));
    const std::uint64_t half_way = ticks->counters(bed.port("A:1")).xmit_wait;
    (void)ticks->advance(never);

    EXPECT_EQ(exact->counters(bed.port("A:1")).xmit_wait, 860'152u);
    EXPECT_EQ(exact->counters(bed.port("S:2")).xmit_wait, 0u);
    EXPECT_EQ(half_way, (1'572'864u - 1'237'000) / 22'000);  // now() is the next line of the grid
    EXPECT_EQ(ticks->counters(bed.port("A:1")).xmit_wait, 39u);
    EXPECT_EQ(exact->flows()[0].ended, Time{2'697'152 + 518'500 + 700'000});
}

// The contract: at or after the moment, by less than a microsecond, and never back.
TEST(PacketLink, StopsWithinAMicrosecondAndNeverGoesBack) {
    for (const Time cable : {nanoseconds(0), nanoseconds(50), milliseconds(5)}) {
        Bed bed(star + "flow f from A to B bytes 64MiB message 64MiB\n");
        bed.options().cable_delay = cable;
        const auto engine = bed.start();

        (void)engine->advance(Time{7'300'001});
        const Time first = engine->now();
        (void)engine->advance(nanoseconds(3));

        EXPECT_GE(first, Time{7'300'001});
        EXPECT_LT(first, Time{7'300'001} + microseconds(1));
        EXPECT_EQ(engine->now(), first);
    }
}

TEST(PacketLink, AnyMomentMayBeAskedFor) {
    const Bed bed(star + "flow f from A to B bytes 1000\n");
    const auto engine = bed.start();

    EXPECT_EQ(engine->advance(Time{INT64_MAX - 1}), State::finished);
    EXPECT_EQ(engine->flows()[0].ended, Time{856'500});
}

}  // namespace
