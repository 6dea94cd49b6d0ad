#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

constexpr auto format = Format::subnet_lst;

const std::string host_end =
    "{ CA Ports:02 SystemGUID:0000000000000103 NodeGUID:0000000000000100 PortGUID:0000000000000101 VenID:0002C9 "
    "DevID:673C Rev:000000A1 {node 1} LID:0012 PN:01 } ";
const std::string switch_end =
    "{ SW-SM Ports:24 SystemGUID:0000000000000200 NodeGUID:0000000000000200 PortGUID:0000000000000200 VenID:000002C9 "
    "DevID:BD360000 Rev:000000A1 {a {b} c} LID:000A PN:20 } ";
const std::string good = host_end + switch_end + "PHY=4x LOG=ACT SPD=10\n";

TEST(SubnetLst, ReadsALine) {
    const Reading reading = parse_fabric(good, "net");
    const Fabric& fabric = reading.fabric;

    EXPECT_EQ(reading.format, format);
    EXPECT_EQ(cables(fabric), (std::vector<std::string>{"a {b} c port 32 - node 1 port 1 4xQDR"}));
    EXPECT_EQ(fabric.node(NodeId{1}).ports, 36);
    EXPECT_EQ(fabric.node(NodeId{1}).device, 0xbd36u);  // shifted in the file
    EXPECT_EQ(fabric.node(NodeId{0}).system_guid, Guid{0x103});
    EXPECT_EQ(fabric.port(NodeId{0}, PortNum{1}).lid, Lid{18});
    EXPECT_EQ(fabric.port(NodeId{1}, PortNum{0}).lid, Lid{10});
    EXPECT_EQ(reading.remarks.size(), 1u);  // one end only
}

TEST(SubnetLst, LeavesOutCablesThatAreDown) {
    const Reading reading = parse_fabric(good + host_end + switch_end + "PHY=4x LOG=DWN SPD=2.5\n", "net");

    EXPECT_EQ(reading.fabric.link_count(), 1u);
    ASSERT_EQ(reading.remarks.size(), 2u);
    EXPECT_NE(reading.remarks[1].find("down (first on line 2)"), std::string::npos);
}

TEST(SubnetLst, RoundTripKeepsWhatTheFormatHas) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Fabric fabric =
            random_fabric(seed, {.names = Names::printable, .supported = false, .chassis = false, .lmc = false});
        if (fabric.link_count() == 0) continue;

        const Reading reading = parse_fabric(written(fabric, format), "test");

        ASSERT_EQ(reading.format, format);
        EXPECT_TRUE(reading.remarks.empty()) << reading.remarks.front();
        EXPECT_EQ(cables(reading.fabric), cables(fabric));
        for (const Node& node : reading.fabric.nodes()) {
            const auto model = std::find_if(fabric.nodes().begin(), fabric.nodes().end(),
                                            [&](const Node& n) { return n.name == node.name; });
            ASSERT_NE(model, fabric.nodes().end());
            EXPECT_EQ(
                std::tie(node.guid, node.system_guid, node.vendor, node.device, node.kind, node.ports),
                std::tie(model->guid, model->system_guid, model->vendor, model->device, model->kind, model->ports));
            for (unsigned p = 0; p <= node.ports; ++p)
                EXPECT_EQ(reading.fabric.port(PortIndex{node.first_port + p}).lid,
                          fabric.port(PortIndex{model->first_port + p}).lid);
        }
    }
}

std::string with(std::string text, std::string_view what, std::string_view by) {
    return text.replace(text.find(what), what.size(), by);
}

TEST(SubnetLst, RefusesBadInput) {
    EXPECT_REFUSED("# nothing\n", format, 1, "ends without a cable");
    EXPECT_REFUSED(good + "rubbish\n", format, 2, "expected {");
    EXPECT_REFUSED(good + with(good, "CA", "XX"), format, 2, "expected SW, CA or Rt");
    EXPECT_REFUSED(good + with(good, "Ports:02", "Ports:FF"), format, 2, "at most FE");
    EXPECT_REFUSED(good + with(good, "Ports:02", "Ports:03"), format, 2, "on line 1");
    EXPECT_REFUSED(good + with(good, "NodeGUID:0000000000000100", "NodeGUID:x"), format, 2, "expected NodeGUID:");
    EXPECT_REFUSED(good + with(good, "NodeGUID:0000000000000100", "NodeGUID:00000000000001000"), format, 2,
                   "on line 1");
    EXPECT_REFUSED(good + with(good, "NodeGUID:0000000000000100", "NodeGUID:0"), format, 2, "not zero");
    EXPECT_REFUSED(good + with(good, "VenID:", "Vendor:"), format, 2, "expected VenID:");
    EXPECT_REFUSED(good + with(good, "{node 1} LID:", "{node 1 LID:"), format, 2, "expected { and");
    EXPECT_REFUSED(good + with(good, "LID:0012", "LID:FFFF"), format, 2, "at most BFFF");
    EXPECT_REFUSED(good + with(good, "PN:01", "PN:00"), format, 2, "has no port 0");
    EXPECT_REFUSED(good + with(good, "PN:01", "PN:03"), format, 2, "has no port 3");
    EXPECT_REFUSED(good + with(good, "PHY=4x", "PHY=5x"), format, 2, "expected a width");
    EXPECT_REFUSED(good + with(good, "SPD=10", "SPD=11"), format, 2, "lane's speed");
    EXPECT_REFUSED(good + with(good, "PHY=4x", "up"), format, 2, "expected PHY=");
    EXPECT_REFUSED(good + host_end + "\n", format, 2, "expected {");
}

}  // namespace
}  // namespace loom::fabric
