// Virtual lanes: who goes first, who is kept apart from whom, and what buffers that are shared do to bystanders.
#include <gtest/gtest.h>

#include "sim/packet_bed.hpp"

namespace {

using namespace loom;
using namespace loom::sim;

// A's flow on lane 0 and B's and C's on lane 1, all to D: both lanes always have packets.
Bed two_lanes() {
    Bed bed(star +
            "flow a from A to D bytes 64MiB message 64MiB\n"
            "flow b from B to D bytes 64MiB message 64MiB sl 1\nflow c from C to D bytes 64MiB message 64MiB sl 1\n");
    bed.options().sl_to_vl[1] = 1;
    return bed;
}

// Packets of lane 0 for each of lane 1.
double share(const Bed& bed) {
    const auto engine = bed.start();
    (void)engine->advance(milliseconds(2));
    const auto flows = engine->flows();
    return static_cast<double>(flows[0].delivered) / static_cast<double>(flows[1].delivered + flows[2].delivered);
}

TEST(PacketLanes, WithoutTablesTheyTakeTurns) {
    EXPECT_NEAR(share(two_lanes()), 1.0, 0.01);
}

// A full packet is 33 blocks: 99 let three go, 33 one, and 34 two, since an entry may send while anything is left of
// it.
TEST(PacketLanes, WeightsGiveShares) {
    Bed bed = two_lanes();
    bed.options().arbitration.low = {{0, 99}, {1, 33}};
    EXPECT_NEAR(share(bed), 3.0, 0.03);

    bed.options().arbitration.low = {{0, 33}, {1, 34}};
    EXPECT_NEAR(share(bed), 0.5, 0.005);

    bed.options().arbitration.low = {{0, 33}, {1, 33}, {0, 33}, {1, 0}};
    EXPECT_NEAR(share(bed), 2.0, 0.02);
}

// Without a limit lane 1 has all. A limit of 1 is 4096 bytes: two packets of 2074. A limit of 0 is one packet.
TEST(PacketLanes, HighPriorityGoesFirstUpToItsLimit) {
    Bed bed = two_lanes();
    bed.options().arbitration.high = {{1, 255}};
    bed.options().arbitration.low = {{0, 255}};
    EXPECT_LT(share(bed), 0.005);

    bed.options().arbitration.high_limit = 1;
    EXPECT_NEAR(share(bed), 0.5, 0.005);

    bed.options().arbitration.high_limit = 0;
    EXPECT_NEAR(share(bed), 1.0, 0.01);
}

// Packets of 256 bytes with their headers: sixteen are 4096 bytes exactly, and then a low one has its turn.
TEST(PacketLanes, ALimitThatIsUsedUpToTheLastByteIsUsedUp) {
    const std::string much = " bytes 2300000 message 230 window 64";
    Bed bed(star + "flow a from A to D" + much + "\nflow b from B to D" + much + " sl 1\nflow c from C to D" + much +
            " sl 1\n");
    bed.options().sl_to_vl[1] = 1;
    bed.options().arbitration.high = {{1, 255}};
    bed.options().arbitration.low = {{0, 255}};
    bed.options().arbitration.high_limit = 1;
    const auto engine = bed.start();

    (void)engine->advance(microseconds(500));

    const auto flows = engine->flows();
    const double low = static_cast<double>(flows[0].delivered);
    EXPECT_NEAR(static_cast<double>(flows[1].delivered + flows[2].delivered) / low, 16, 0.1);
}

// All three heads are at the switch at the same moment; A's, on lane 0, finds the output free. Of those that wait the
// table's first entry goes first: lane 2, then lane 1.
TEST(PacketLanes, TurnsBeginWithTheFirstEntry) {
    Bed bed(star +
            "flow a from A to D bytes 2048\nflow b from B to D bytes 2048 sl 1\nflow c from C to D bytes 2048 sl 2\n");
    bed.options().sl_to_vl[1] = 1;
    bed.options().sl_to_vl[2] = 2;
    bed.options().arbitration.high = {{2, 1}, {1, 1}};
    bed.options().arbitration.low = {{0, 1}};
    const auto engine = bed.start();

    (void)engine->advance(never);

    const auto flows = engine->flows();
    EXPECT_EQ(flows[0].ended, Time{600'000 + 518'500});
    EXPECT_EQ(flows[2].ended, Time{600'000 + 2 * 518'500});
    EXPECT_EQ(flows[1].ended, Time{600'000 + 3 * 518'500});
}

// As the option says: an empty low table means all lanes in turn, also beside a high one.
TEST(PacketLanes, AnEmptyLowTableStandsForAllLanes) {
    Bed bed = two_lanes();
    bed.options().arbitration.high = {{1, 255}};
    bed.options().arbitration.high_limit = 0;

    // After each packet of high comes one of low, where lanes 0 and 1 take turns: three of lane 1 for one of lane 0.
    EXPECT_NEAR(share(bed), 1.0 / 3, 0.01);
}

// ---- bystanders: the two-switch testbed of the examples
Bed testbed() {
    Scenario scenario = read_scenario(std::string(LOOM_SOURCE_DIR) + "/examples/scenarios/testbed.scn");
    for (FlowPlan& flow : scenario.flows) flow.start = Time{};
    return Bed(set_up(std::move(scenario)));
}

// What X-Y has of a 4xSDR link's payload while all four run.
double victims_share(const Bed& bed) {
    const auto engine = bed.start();
    (void)engine->advance(milliseconds(1));
    const auto before = engine->flows();
    (void)engine->advance(milliseconds(5));
    const auto after = engine->flows();
    EXPECT_EQ(bed.setup->flow_names[1], "X-Y");
    return static_cast<double>(after[1].delivered - before[1].delivered) * 8 / 4e-3 / (8e9 * 2048 / 2074);
}

// A-D gets a third of D's port, and fills the buffer behind the link between the switches; X-Y has to queue for that
// buffer packet by packet with A-D.
TEST(PacketLanes, AVictimFallsToAThird) {
    EXPECT_NEAR(victims_share(testbed()), 1.0 / 3, 0.02);
}

TEST(PacketLanes, NoVictimWithoutFlowControl) {
    const Bed bed = testbed();
    bed.options().flow_control = FlowControl::infinite;

    EXPECT_GT(victims_share(bed), 0.97);
}

TEST(PacketLanes, NoVictimWithABufferForEachOutput) {
    const Bed bed = testbed();
    bed.options().buffer_use = BufferUse::per_output;

    EXPECT_GT(victims_share(bed), 0.97);
}

TEST(PacketLanes, NoVictimOnALaneOfItsOwn) {
    Scenario scenario = read_scenario(std::string(LOOM_SOURCE_DIR) + "/examples/scenarios/testbed.scn");
    for (FlowPlan& flow : scenario.flows) flow.start = Time{};
    scenario.flows[1].sl = 5;
    const Bed bed(set_up(std::move(scenario)));
    EXPECT_NEAR(victims_share(bed), 1.0 / 3, 0.02);  // another service level alone does not help

    bed.options().sl_to_vl[5] = 1;

    EXPECT_GT(victims_share(bed), 0.97);
}

}  // namespace
