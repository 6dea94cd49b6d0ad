#include "loom/fabric/lid_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/fabric/io.hpp"
#include "loom/fabric/levels.hpp"
#include "loom/fabric/summary.hpp"

namespace loom::fabric {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A switch with hosts a, b, c, whose LIDs are 1, 2, 3; the switch has 9.
class Star : public testing::Test {
protected:
    Star() {
        sw = fabric.add_node(NodeKind::switch_, 4, "s");
        fabric.port(sw, PortNum{0}).lid = Lid{9};
        for (std::uint8_t i = 1; i <= 3; ++i) {
            const NodeId host = fabric.add_node(NodeKind::host, 1, std::string(1, static_cast<char>('a' + i - 1)));
            fabric.connect(sw, PortNum{i}, host, PortNum{1});
            hosts.push_back(host);
            give(i - 1, i);
        }
    }
    void give(std::size_t host, unsigned lid, std::uint8_t lmc = 0) {
        Port& port = fabric.port(hosts[host], PortNum{1});
        port.lid = Lid{static_cast<std::uint16_t>(lid)};
        port.lmc = lmc;
    }

    Fabric fabric;
    NodeId sw;
    std::vector<NodeId> hosts;
};

TEST_F(Star, LidsOfTheirOwnAreNoFault) {
    EXPECT_THAT(lid_faults(fabric), IsEmpty());
}

TEST_F(Star, TwoPortsWithOneLidAreNamed) {
    give(1, 1);

    const auto shared = shared_lids(fabric);

    ASSERT_EQ(shared.size(), 1u);
    EXPECT_EQ(shared[0].lid, Lid{1});
    EXPECT_THAT(lid_faults(fabric), ElementsAre("LID 1 belongs to two ports: a port 1 and b port 1"));
}

TEST_F(Star, ARangeThatRunsIntoAnotherIsSharedToo) {
    give(0, 4, 2);
    give(1, 6);
    give(2, 7);

    EXPECT_THAT(lid_faults(fabric),
                ElementsAre("2 LIDs are claimed twice; the first: LID 6 belongs to two ports: a port 1 and b port 1"));
}

TEST_F(Star, ASwitchAndAHostMayNotShareALid) {
    give(2, 9);

    EXPECT_THAT(lid_faults(fabric), ElementsAre("LID 9 belongs to two ports: s port 0 and c port 1"));
}

TEST_F(Star, AnotherSubnetHasLidsOfItsOwn) {
    const NodeId other = fabric.add_node(NodeKind::switch_, 4, "t");
    fabric.port(other, PortNum{0}).lid = Lid{9};
    const NodeId far = fabric.add_node(NodeKind::host, 1, "far");
    fabric.connect(other, PortNum{1}, far, PortNum{1});
    fabric.port(far, PortNum{1}).lid = Lid{1};

    const auto apart = shared_lids(fabric);
    fabric.connect(sw, PortNum{4}, other, PortNum{4});
    const auto joined = shared_lids(fabric);

    EXPECT_EQ(apart.size(), 0u);
    EXPECT_EQ(joined.size(), 2u);
}

TEST_F(Star, APortWithoutACableHasNoSay) {
    fabric.disconnect(hosts[1], PortNum{1});
    give(1, 1);

    EXPECT_THAT(shared_lids(fabric), IsEmpty());
}

TEST_F(Star, LidsBeyondASubnetsAndRangesOffTheirPlaceAreSaid) {
    give(0, 49152);
    give(1, 5, 2);

    EXPECT_THAT(lid_faults(fabric),
                ElementsAre("a port's LIDs go beyond 49,151, the last of a subnet; the first: a port 1 has LID 49152, "
                            "LMC 0",
                            "a port's LIDs do not begin at a multiple of 2^LMC, as they must; the first: b port 1 has "
                            "LID 5, LMC 2"));
}

TEST_F(Star, TheSummaryTells) {
    give(1, 1);

    EXPECT_THAT(summarise(fabric, find_levels(fabric)).remarks, Contains(HasSubstr("LID 1 belongs to two ports")));
}

TEST(Summary, SaysThatThereIsNothingToRoute) {
    Fabric fabric;
    const NodeId a = fabric.add_node(NodeKind::host, 1, "a");
    const NodeId b = fabric.add_node(NodeKind::host, 1, "b");
    fabric.connect(a, PortNum{1}, b, PortNum{1});

    EXPECT_THAT(summarise(fabric, find_levels(fabric)).remarks,
                Contains("there is no switch, so there is nothing to route"));
}

constexpr std::string_view two_sweeps =
    "Switch\t4 \"S-000000000000000a\"\t\t# \"s\" base port 0 lid 3 lmc 0\n"
    "[1]\t\"H-0000000000000010\"[1](11) \t\t# \"a\" lid 9 4xQDR\n"
    "Ca\t1 \"H-0000000000000010\"\t\t# \"a\"\n"
    "[1](11) \t\"S-000000000000000a\"[1]\t\t# lid 1 lmc 0 \"s\" lid 3 4xQDR\n";

TEST(Ibnetdiscover, SaysThatTheTwoEndsTellDifferentLids) {
    const Reading reading = parse_fabric(two_sweeps, "net");

    EXPECT_THAT(reading.remarks, ElementsAre("1 line tells another LID than the node itself (first: line 2); the "
                                             "node's own was taken"));
    EXPECT_EQ(reading.fabric.port(NodeId{1}, PortNum{1}).lid, Lid{1});
}

TEST(Formats, AByteOrderMarkInFrontIsPassedOver) {
    const std::string mark = "\xef\xbb\xbf";
    const std::string json =
        R"({"loom":"fabric","version":1,"title":"t","nodes":[{"kind":"switch","ports":4,"name":"s","guid":"0x1"}],)"
        R"("lids":[],"links":[]})";

    const Reading records = parse_fabric(mark + std::string(two_sweeps), "net");
    const Reading own = parse_fabric(mark + json, "own");

    EXPECT_EQ(records.fabric.node_count(), 2u);
    EXPECT_EQ(records.remarks.size(), 1u);
    EXPECT_EQ(own.fabric.node_count(), 1u);
}

}  // namespace
}  // namespace loom::fabric
