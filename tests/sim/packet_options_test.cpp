// Settings that make no sense are refused by name; tables with holes do not lead adaptive packets astray.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "reference/packet_cases.hpp"
#include "sim/packet_bed.hpp"

namespace {

using namespace loom;
using namespace loom::sim;
using testing::HasSubstr;

struct Bad {
    const char* says;
    std::function<void(Options&)> spoil;
};

TEST(PacketOptions, AreRefusedByName) {
    const Bad all[] = {
        {"an MTU of 1000", [](Options& o) { o.packet.mtu = 1000; }},
        {"an MTU of 0", [](Options& o) { o.packet.mtu = 0; }},
        {"an MTU of 8192", [](Options& o) { o.packet.mtu = 8192; }},
        {"a buffer of 4223 bytes does not hold two packets", [](Options& o) { o.packet.buffer_bytes = 4223; }},
        {"a buffer of more than 1 GiB", [](Options& o) { o.packet.buffer_bytes = (1u << 30) + 1; }},
        {"a delay below zero", [](Options& o) { o.packet.cable_delay = Time{-1}; }},
        {"a delay below zero", [](Options& o) { o.packet.switch_delay = Time{-1}; }},
        {"a delay below zero", [](Options& o) { o.packet.host_delay = Time{-1}; }},
        {"a delay of more than a second", [](Options& o) { o.packet.host_delay = seconds(1.5); }},
        {"must be at least 1 ns", [](Options& o) { o.packet.cable_delay = o.packet.switch_delay = Time{499}; }},
        {"a counter tick must be longer", [](Options& o) { o.packet.counter_tick = Time{}; }},
        {"lane 15 is not a data lane", [](Options& o) { o.packet.sl_to_vl[4] = 15; }},
        {"2 lanes are needed, 1 are there",
         [](Options& o) {
             o.packet.sl_to_vl[0] = 1;
             o.packet.lanes = 1;
         }},
        {"16 lanes are needed, a port has 15", [](Options& o) { o.packet.lanes = 16; }},
        {"a threshold is 0 to 15", [](Options& o) { o.packet.congestion.switches.threshold = 16; }},
        {"table has at most 256 entries", [](Options& o) { o.packet.congestion.table.assign(257, 0.0); }},
        {"table entry is 0 to 16,383", [](Options& o) { o.packet.congestion.table = {-0.1}; }},
        {"table entry is 0 to 16,383", [](Options& o) { o.packet.congestion.table = {16384.0}; }},
        {"table entry is 0 to 16,383", [](Options& o) { o.packet.congestion.table = {std::stod("nan")}; }},
        {"the high arbitration table names lane 15",
         [](Options& o) {
             o.packet.arbitration.high = {{15, 1}};
         }},
        {"the low arbitration table has more than 64", [](Options& o) { o.packet.arbitration.low.resize(65); }},
        {"lane 1 is in neither arbitration table",
         [](Options& o) {
             o.packet.lanes = 2;
             o.packet.arbitration.low = {{0, 1}, {1, 0}};
         }},
        {"lane 0 is in neither arbitration table",
         [](Options& o) {
             o.packet.arbitration.low = {{0, 0}};
         }},
        {"a jitter of injection delays is 0 to 1", [](Options& o) { o.packet.congestion.jitter = -0.1; }},
        {"a jitter of injection delays is 0 to 1", [](Options& o) { o.packet.congestion.jitter = std::stod("nan"); }},
        {"adaptive paths need a shared buffer",
         [](Options& o) {
             o.packet.paths = PathChoice::adaptive;
             o.packet.buffer_use = BufferUse::per_output;
         }},
        {"local costs below zero", [](Options& o) { o.local.copy = -1; }},
        {"local costs below zero", [](Options& o) { o.local.reduce = -1; }},
    };
    const Bed bed(star + "flow f from A to B bytes 1000\n");
    for (const Bad& bad : all) {
        Options options;
        bad.spoil(options);
        try {
            (void)make_simulation(Level::packet, bed.setup->network(), bed.setup->schedule, options);
            ADD_FAILURE() << "taken: " << bad.says;
        } catch (const UsageError& error) {
            EXPECT_THAT(error.what(), HasSubstr(bad.says));
        }
    }
}

TEST(PacketOptions, TheSmallestThatMakeSenseAreTaken) {
    const Bed bed(star + "flow f from A to B bytes 10000\n");
    bed.options().mtu = 256;
    bed.options().buffer_bytes = 2 * (256 + 64);
    bed.options().cable_delay = Time{};
    bed.options().switch_delay = bed.options().host_delay = nanoseconds(1);
    bed.options().counter_tick = Time{1};

    EXPECT_EQ(bed.start()->advance(never), State::finished);
}

TEST(PacketOptions, ServiceLevelsEndAtFifteen) {
    traffic::ScheduleBuilder builder(2);
    builder.add(Rank{0}, {.amount = 1, .peer = Rank{1}, .kind = traffic::OpKind::send, .sl = 16});
    const Ranked ranked({"A", "B"}, builder.build());

    EXPECT_THROW((void)ranked.start(), Error);
}

// Two leaves, two roots: the second root's tables know nothing of the far leaf, or lead back to where the packet came
// from. The tables' own ways use the first root only, and so must adaptive packets.
TEST(PacketOptions, AdaptivePacketsKeepToSwitchesWhoseTablesLeadOn) {
    for (const bool hole : {true, false}) {
        PacketCase made;
        made.fabric = reference::two_level_tree(2, 3, 2);
        made.route("minhop");
        made.network.placement.hosts = made.hosts();
        const std::uint8_t to_first = 4, to_second = 5;  // ports of a leaf behind its three hosts
        for (std::uint32_t h = 0; h < 6; ++h) {
            const Lid lid = made.fabric.port(made.network.placement.hosts[h]).lid;
            const std::uint32_t far_leaf = h < 3 ? 1 : 0;
            made.tables.set(far_leaf, lid, to_first);
            made.tables.set(3, lid, hole ? routing::no_route : static_cast<std::uint8_t>(far_leaf + 1));
        }
        made.options.packet.paths = PathChoice::adaptive;
        traffic::ScheduleBuilder builder(6);
        for (std::uint32_t r = 0; r < 6; ++r) builder.send(Rank{r}, Rank{(r + 3) % 6}, 1 << 16);
        made.schedule = builder.build();
        const auto sim = make_simulation(Level::packet, made.network, made.schedule, made.options);

        EXPECT_EQ(sim->advance(never), State::finished);

        const PortIndex second = made.fabric.port_index(made.graph->node(0), PortNum{to_second});
        EXPECT_EQ(sim->counters(second).xmit_pkts, 0u);
    }
}

// With whole tables the second root takes its half.
TEST(PacketOptions, AdaptivePacketsUseAllUpPorts) {
    PacketCase made;
    made.fabric = reference::two_level_tree(2, 3, 2);
    made.route("minhop");
    made.network.placement.hosts = made.hosts();
    for (std::uint32_t h = 3; h < 6; ++h) made.tables.set(0, made.fabric.port(made.network.placement.hosts[h]).lid, 4);
    traffic::ScheduleBuilder builder(6);
    for (std::uint32_t r = 0; r < 3; ++r) builder.send(Rank{r}, Rank{r + 3}, 1 << 18);
    made.schedule = builder.build();
    const auto by_tables = make_simulation(Level::packet, made.network, made.schedule, made.options);
    made.options.packet.paths = PathChoice::adaptive;
    const auto adaptive = make_simulation(Level::packet, made.network, made.schedule, made.options);

    (void)by_tables->advance(never);
    (void)adaptive->advance(never);

    const PortIndex second = made.fabric.port_index(made.graph->node(0), PortNum{5});
    EXPECT_EQ(by_tables->counters(second).xmit_pkts, 0u);
    EXPECT_NEAR(static_cast<double>(adaptive->counters(second).xmit_pkts), 192, 5);  // of 3 x 128
    EXPECT_LT(adaptive->rank_ends()[0].ps * 3, by_tables->rank_ends()[0].ps * 2);
}

}  // namespace
