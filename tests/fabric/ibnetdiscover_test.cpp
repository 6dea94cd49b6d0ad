#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

constexpr auto format = Format::ibnetdiscover;
Reading read(std::string_view text) {
    return parse_fabric(text, "net");
}

// Puts what another order or a lossy form changed into the order of `model`, by name.
NodeId find(const Fabric& fabric, const std::string& name) {
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
        if (fabric.node(NodeId{i}).name == name) return NodeId{i};
    return no_node;
}

constexpr std::string_view odd =
    "[root@head /]# ibnetdiscover\n"
    "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11:0) bad status 110; Connection timed out\n"
    "#\n# Topology file: generated on some day\n#\n"
    "\n"
    "vendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x10a3\n"
    "switchguid=0x10a0(10a0)\n"
    "Switch  36 \"S-00000000000010a0\"\t\t# \"Sun \"DCS\" #36 [a] lid 7\" enhanced port 0 lid 15 lmc 0\n"
    "[1]\t\"H-0000000000003000\"[2](3002) \t\t# \"nsn33 HCA-1\" lid 14 4xQDR s=4 w=2 v=4\n"
    "[2]    \"S-00000000000010a0\"[3]   # \"Sun \"DCS\" #36 [a] lid 7\" lid 15 4xQDR\n"
    "[3]    \"S-00000000000010a0\"[2]   # \"Sun \"DCS\" #36 [a] lid 7\" lid 15 4xQDR\n"
    "[4] \"R-0000000000005000\"[1](5001) # \"\" lid 20 ??SDR w=2\n"
    "ibwarn: [123] mad_rpc: something timed out\n"
    "\n"
    "caguid=0x3000\n"
    "Ca\t2 \"H-0000000000003000\"\t\t# \"nsn33 HCA-1\"\n"
    "[2](3002) \t\"S-00000000000010a0\"[1]\t\t# lid 14 lmc 2 \"Sun \"DCS\" #36 [a] lid 7\" lid 15 4xQDR s=4 w=2 v=4\n"
    " \n"
    "rtguid=0x5000\n"
    "Rt\t1 \"R-0000000000005000\"\t\t# \"\"\n";

TEST(Ibnetdiscover, ReadsOddities) {
    const Reading reading = read(odd);
    const Fabric& fabric = reading.fabric;

    ASSERT_EQ(reading.format, format);
    ASSERT_EQ(fabric.node_count(), 3u);
    EXPECT_EQ(fabric.link_count(), 3u);
    const Node& node = fabric.node(NodeId{0});
    EXPECT_EQ(node.name, "Sun \"DCS\" #36 [a] lid 7");
    EXPECT_TRUE(node.enhanced_port0);
    EXPECT_EQ(node.system_guid, Guid{0x10a3});
    EXPECT_EQ(node.vendor, 0x2c9u);
    EXPECT_EQ(node.device, 0xbd36u);
    EXPECT_EQ(fabric.port(NodeId{0}, PortNum{0}).lid, Lid{15});
    const Port& host = fabric.port(NodeId{1}, PortNum{2});
    EXPECT_EQ(host.lid, Lid{14});
    EXPECT_EQ(host.lmc, 2);
    EXPECT_EQ(host.guid, Guid{0x3002});
    EXPECT_EQ(to_string(host.rate), "4xQDR");
    EXPECT_EQ(fabric.node(NodeId{2}).kind, NodeKind::router);
    EXPECT_EQ(fabric.node(NodeId{2}).name, "");
    EXPECT_EQ(fabric.port(NodeId{2}, PortNum{1}).lid, Lid{20});  // from the switch's side, the only one
    EXPECT_EQ(to_string(fabric.port(NodeId{2}, PortNum{1}).rate), "4xSDR");
    ASSERT_EQ(reading.remarks.size(), 2u);
    EXPECT_NE(reading.remarks[0].find("1 cable is listed at one end only (first on line 15)"), std::string::npos)
        << reading.remarks[0];
    EXPECT_NE(reading.remarks[1].find("3 lines are no part of a topology (first: line 1)"), std::string::npos)
        << reading.remarks[1];
}

TEST(Ibnetdiscover, ReadsChassisGroups) {
    const Reading reading = read(
        "\nChassis 3 (guid 0x77)\nHostname: xs\n\n# Spine Nodes\n"
        "vendid=0x8f1\nsysimgguid=0x77\t\t# Chassis 3\nswitchguid=0x20(20)\t# ISR9288 Spine 2 Chip 1\n"
        "Switch 24 \"S-0000000000000020\" # \"spine\" base port 0 lid 1 lmc 0\n"
        "[1][ext 5]\t\"S-0000000000000021\"[7][ext 13]\t# \"line\" lid 2 4xDDR\n"
        "\n# Line Nodes\nswitchguid=0x21(21)\n"
        "Switch 24 \"S-0000000000000021\" # \"line\" line 4 Chip 2 base port 0 lid 2 lmc 0\n"
        "[7]\t\"S-0000000000000020\"[1]\t# \"spine\" lid 1 4xDDR\n"
        "\nNon-Chassis Nodes\n"
        "switchguid=0x22(22)\t# \nSwitch 24 \"S-0000000000000022\" # \"free\" base port 0 lid 3 lmc 0\n");

    const Fabric& fabric = reading.fabric;
    EXPECT_EQ(fabric.node(NodeId{0}).chassis, 3);
    EXPECT_EQ(fabric.node(NodeId{0}).chassis_slot, "ISR9288 Spine 2 Chip 1");
    EXPECT_EQ(fabric.node(NodeId{1}).chassis, 3);
    EXPECT_EQ(fabric.node(NodeId{1}).chassis_slot, "line 4 Chip 2");
    EXPECT_EQ(fabric.node(NodeId{2}).chassis, 0);
    EXPECT_EQ(fabric.node(NodeId{2}).chassis_slot, "");
    EXPECT_EQ(cables(fabric), (std::vector<std::string>{"line port 7 - spine port 1 4xDDR"}));
    EXPECT_TRUE(reading.remarks.empty());
}

TEST(Ibnetdiscover, LidsBeyondTheLastAreLeftOut) {
    const Reading reading = read("Switch 2 \"S-0000000000000020\" # \"a\" base port 0 lid 65535 lmc 0\n");

    EXPECT_EQ(reading.fabric.port(NodeId{0}, PortNum{0}).lid, no_lid);
    ASSERT_EQ(reading.remarks.size(), 1u);
    EXPECT_NE(reading.remarks[0].find("beyond 49,151"), std::string::npos);
}

class IbnetdiscoverRoundTrip : public ::testing::TestWithParam<Discovery> {};

TEST_P(IbnetdiscoverRoundTrip, KeepsWhatTheFormatHas) {
    const Discovery discovery = GetParam();
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Fabric fabric = random_fabric(seed, {.names = Names::printable, .supported = false});

        const Reading reading = parse_fabric(written(fabric, format, {discovery}), "test");

        ASSERT_EQ(reading.format, format);
        EXPECT_TRUE(reading.remarks.empty()) << reading.remarks.front();
        ASSERT_EQ(reading.fabric.node_count(), fabric.node_count());
        EXPECT_EQ(cables(reading.fabric), cables(fabric));
        for (const Node& expected : fabric.nodes()) {
            const NodeId id = find(reading.fabric, expected.name);
            ASSERT_NE(id, no_node) << expected.name;
            const Node& node = reading.fabric.node(id);
            EXPECT_EQ(std::tie(node.guid, node.system_guid, node.vendor, node.device, node.kind, node.ports,
                               node.enhanced_port0),
                      std::tie(expected.guid, expected.system_guid, expected.vendor, expected.device, expected.kind,
                               expected.ports, expected.enhanced_port0));
            const bool grouped = discovery == Discovery::grouped;
            EXPECT_EQ(node.chassis, grouped ? expected.chassis : 0);
            EXPECT_EQ(node.chassis_slot, grouped ? expected.chassis_slot : "");
            for (unsigned p = 0; p <= node.ports; ++p) {
                const Port& port = reading.fabric.port(PortIndex{node.first_port + p});
                const Port& model = fabric.port(PortIndex{expected.first_port + p});
                EXPECT_EQ(std::tie(port.lid, port.lmc, port.guid), std::tie(model.lid, model.lmc, model.guid));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(AllRecordForms, IbnetdiscoverRoundTrip,
                         ::testing::Values(Discovery::plain, Discovery::full, Discovery::grouped));

TEST(PortReport, RoundTripKeepsWhatTheFormatHas) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Fabric fabric =
            random_fabric(seed, {.names = Names::printable, .supported = false, .chassis = false, .lmc = false});

        const Reading reading = parse_fabric(written(fabric, format, {Discovery::ports}), "test");

        ASSERT_EQ(reading.format, format);
        ASSERT_EQ(reading.fabric.node_count(), fabric.node_count());
        EXPECT_EQ(cables(reading.fabric), cables(fabric));
        for (const Node& expected : fabric.nodes()) {
            const Node& node = reading.fabric.node(find(reading.fabric, expected.name));
            EXPECT_EQ(std::tie(node.guid, node.kind, node.ports),
                      std::tie(expected.guid, expected.kind, expected.ports));
            for (unsigned p = 0; p <= node.ports; ++p)
                EXPECT_EQ(reading.fabric.port(PortIndex{node.first_port + p}).lid,
                          fabric.port(PortIndex{expected.first_port + p}).lid);
        }
    }
}

TEST(PortReport, TellsNamesWithDashesApart) {
    const Reading reading = read(
        "SW     3  1 0x0000000000000020 4x QDR - CA     5  1 0x0000000000000041 ( 'sw' - 'a' - 'b' )\n"
        "CA     5  1 0x0000000000000041 4x QDR - SW     3  1 0x0000000000000020 ( 'a' - 'b' - 'sw' )\n"
        "SW     3  2 0x0000000000000020 4x SDR                                    'sw'\n");

    EXPECT_EQ(cables(reading.fabric), (std::vector<std::string>{"a' - 'b port 1 - sw port 1 4xQDR"}));
    EXPECT_EQ(reading.fabric.node(NodeId{0}).ports, 2);
}

TEST(PortReport, JoinsThePortsOfAnAdapter) {
    const Reading reading = read(
        "CA     4  2 0x0000000000100002 4x SDR - SW     3  2 0x0000000000200000 ( 'Hca1' - 'a ' )\n"
        "CA     1  1 0x0000000000100001 4x SDR - SW     3  1 0x0000000000200000 ( 'Hca1' - 'a ' )\n");

    ASSERT_EQ(reading.fabric.node_count(), 2u);
    EXPECT_EQ(reading.fabric.node(NodeId{0}).guid, Guid{0x100000});
    EXPECT_EQ(reading.fabric.node(NodeId{0}).ports, 2);
    EXPECT_EQ(reading.remarks.size(), 2u);
}

TEST(PortReport, RefusesBadLines) {
    const std::string good = "SW 3 1 0x20 4x QDR - CA 5 1 0x41 ( 'sw' - 'h' )\n";
    EXPECT_REFUSED(good + "nonsense\n", format, 2, "expected a port's line");
    EXPECT_REFUSED(good + "SW x\n", format, 2, "expected a LID");
    EXPECT_REFUSED(good + "SW 3 255 0x20 4x QDR 'sw'\n", format, 2, "from 1 to 254");
    EXPECT_REFUSED(good + "SW 3 0 0x20 4x QDR 'sw'\n", format, 2, "from 1 to 254");
    EXPECT_REFUSED(good + "SW 3 2 20 4x QDR 'sw'\n", format, 2, "expected a port GUID");
    EXPECT_REFUSED(good + "SW 3 2 0x20 fast QDR 'sw'\n", format, 2, "expected a rate");
    EXPECT_REFUSED(good + "SW 3 2 0x20 4x QDR sw\n", format, 2, "single quotes");
    EXPECT_REFUSED(good + "SW 3 2 0x20 4x QDR - XX 5 1 0x41 ( 'sw' - 'h' )\n", format, 2, "expected SW, CA or RT");
    EXPECT_REFUSED(good + "SW 3 2 0x20 4x QDR - CA 5 1 0x42 ( 'sw' )\n", format, 2, "expected ( 'name' - 'name' )");
    EXPECT_REFUSED(good + "SW 50000 2 0x20 4x QDR 'sw'\n", format, 2, "at most 49151");
    EXPECT_REFUSED(good + "CA 7 1 0x51 4x QDR - SW 3 1 0x20 ( 'other' - 'sw' )\n", format, 2,
                   "sw port 1 is connected to other port 1 here but to h port 1 on line 1");
}

TEST(Ibnetdiscover, RefusesBadInput) {
    const std::string head = "Switch 8 \"S-0000000000000020\" # \"a\" base port 0 lid 1 lmc 0\n";
    EXPECT_REFUSED("", format, 0, "ends without a node");
    EXPECT_REFUSED("only noise\nmore noise\n", format, 2, "ends without a node");
    EXPECT_REFUSED(head + "what is this\n", format, 2, "expected a node (Switch");
    EXPECT_REFUSED(head + "[1] \"H-0000000000000030\"[1](31) # \"x\" lid 2 4xQDR\n", format, 2, "no node of this file");
    EXPECT_REFUSED(head + "[9] \"S-0000000000000020\"[1]\n", format, 2, "a has no port 9");
    EXPECT_REFUSED(head + "[1] \"S-0000000000000020\"[0]\n", format, 2, "from 1 to 254");
    EXPECT_REFUSED(head + "[1] \"S-0000000000000020\"[9]\n", format, 2, "a has no port 9");
    EXPECT_REFUSED(head + "[1] \"S-0000000000000020\"[2] # \"a\" lid x 4xQDR\n", format, 2,
                   "expected a number after lid");
    EXPECT_REFUSED(head + "[1] \"S-0000000000000020\"[2] # lid 1 lmc 9 \"a\" lid 1 4xQDR\n", format, 2,
                   "LMC from 0 to 7");
    EXPECT_REFUSED(head + "switchguid=0x20\nSwitch 8 \"S-0000000000000021\"\n", format, 3,
                   "already used by the node on line 1");
    EXPECT_REFUSED(head + head, format, 2, "already defined on line 1");
    EXPECT_REFUSED("Chassis x\n", format, 1, "chassis number");
    EXPECT_REFUSED("devid=\n", format, 1, "expected a number for devid");
    EXPECT_REFUSED("module=x\n", format, 1, "module name");
    EXPECT_REFUSED("Switch 300 \"S-0000000000000020\"\n", format, 1, "from 1 to 254");
}

TEST(Ibnetdiscover, RefusesContradictionsAndNamesBothLines) {
    const std::string text =
        "Switch 8 \"S-0000000000000020\" # \"a\" base port 0 lid 1 lmc 0\n"
        "[1] \"S-0000000000000030\"[1] # \"b\" lid 2 4xQDR\n"
        "Switch 8 \"S-0000000000000030\" # \"b\" base port 0 lid 2 lmc 0\n"
        "[1] \"S-0000000000000020\"[2] # \"a\" lid 1 4xQDR\n";

    EXPECT_REFUSED(text, format, 4, "b port 1 is connected to a port 2 here but to a port 1 on line 2");
}

}  // namespace
}  // namespace loom::fabric
