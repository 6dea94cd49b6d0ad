#include "fabric/io/cabling.hpp"
#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

constexpr auto format = Format::db_csv;

const std::string nodes =
    "START_NODES\n"
    "NodeType,NodeGUID,NodeDesc,NumPorts\n"
    "2,0x20,\"MF0;sw:MQM8700/U1, \"left\"\",41\n"
    "1,0x30,\"node1 mlx5_0\",1\n"
    "END_NODES\n";  // 5 lines
const std::string ports =
    "START_PORTS\n"
    "PortNum,NodeGuid,PortGuid,LID,LinkSpeedActv,LinkSpeedSup,LinkWidthActv,LinkWidthSup,LMC,More\n"
    "0,0x20,0x20,7,0,0,0,0,0,N/A\n"
    "3,0x20,0x20,7,1024,1799,2,3,0,N/A\n"
    "1,0x30,0x31,9,1024,775,2,3,1,N/A\n"
    "END_PORTS\n";
const std::string links = "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n0x20,3,0x30,1\nEND_LINKS\n";

TEST(DbCsv, FindsColumnsByName) {
    const Reading reading =
        parse_fabric("# version\n\nSTART_OTHER\nanything, at all\nEND_OTHER\n" + nodes + ports + links, "net");
    const Fabric& fabric = reading.fabric;

    EXPECT_EQ(reading.format, format);
    EXPECT_EQ(cables(fabric),
              (std::vector<std::string>{"MF0;sw:MQM8700/U1, \"left\" port 3 - node1 mlx5_0 port 1 4xHDR"}));
    EXPECT_EQ(fabric.port(NodeId{0}, PortNum{0}).lid, Lid{7});
    EXPECT_EQ(fabric.port(NodeId{1}, PortNum{1}).lid, Lid{9});
    EXPECT_EQ(fabric.port(NodeId{1}, PortNum{1}).lmc, 1);
    EXPECT_EQ(fabric.port(NodeId{1}, PortNum{1}).guid, Guid{0x31});
    EXPECT_EQ(to_string(fabric.port(NodeId{0}, PortNum{3}).supported), "4xEDR");  // the weaker end's best
    EXPECT_TRUE(reading.remarks.empty());
}

TEST(DbCsv, SectionsMayComeInAnyOrderOrBeMissing) {
    EXPECT_EQ(parse_fabric(links + ports + nodes, "net").fabric.link_count(), 1u);
    EXPECT_EQ(parse_fabric(nodes, "net").remarks.size(), 2u);
}

TEST(DbCsv, RoundTripKeepsWhatTheFormatHas) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Fabric fabric = random_fabric(seed, {.names = Names::printable, .chassis = false});

        Reading reading = parse_fabric(written(fabric, format), "test");

        ASSERT_EQ(reading.format, format);
        EXPECT_TRUE(reading.remarks.empty()) << reading.remarks.front();
        for (std::uint32_t i = 0; i < fabric.port_count(); ++i)
            if (Port& port = fabric.port(PortIndex{i}); port.connected() && port.peer.value > i)
                port.supported = fabric.port(port.peer).supported =
                    io::slower(port.supported, fabric.port(port.peer).supported);
        reading.fabric.title = fabric.title;
        expect_equal(fabric, reading.fabric);
    }
}

TEST(DbCsv, RefusesBadSections) {
    EXPECT_REFUSED("START_LINKS\nEND_LINKS\n", format, 2, "ends without nodes");
    EXPECT_REFUSED("START_NODES\nSTART_PORTS\n", format, 2, "expected END_NODES");
    EXPECT_REFUSED("START_NODES\nEND_PORTS\n", format, 2, "expected END_NODES");
    EXPECT_REFUSED("END_NODES\n", format, 1, "ends no open section");
    EXPECT_REFUSED("START_\n", format, 1, "section's name");
    EXPECT_REFUSED("START_NODES\nNodeGUID\n", format, 2, "the file ends inside a section");
    EXPECT_REFUSED(nodes + nodes, format, 10, "twice");
    EXPECT_REFUSED("START_NODES\nEND_NODES\n", format, 2, "is empty");
    EXPECT_REFUSED("START_NODES\nNodeGUID,NumPorts\nEND_NODES\n", format, 2, "no column NodeType");
    EXPECT_REFUSED(nodes + "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2\nEND_LINKS\n", format, 7, "no column PortNum2");
}

TEST(DbCsv, RefusesBadRows) {
    const std::string head = "START_NODES\nNodeType,NodeGUID,NodeDesc,NumPorts\n";
    EXPECT_REFUSED(head + "1,0x1,\"a\"\nEND_NODES\n", format, 3, "expected 4 fields");
    EXPECT_REFUSED(head + "1,0x1,\"a,1\nEND_NODES\n", format, 3, "closing quote");
    EXPECT_REFUSED(head + "1,0x1,\"a\"b,1\nEND_NODES\n", format, 3, "expected a comma");
    EXPECT_REFUSED(head + "4,0x1,\"a\",1\nEND_NODES\n", format, 3, "at most 3 for NodeType");
    EXPECT_REFUSED(head + "0,0x1,\"a\",1\nEND_NODES\n", format, 3, "expected a NodeType");
    EXPECT_REFUSED(head + "1,0x0,\"a\",1\nEND_NODES\n", format, 3, "not zero");
    EXPECT_REFUSED(head + "1,0x1,\"a\",255\nEND_NODES\n", format, 3, "at most 254 for NumPorts");
    EXPECT_REFUSED(head + "1,guid,\"a\",1\nEND_NODES\n", format, 3, "for NodeGUID");
    EXPECT_REFUSED(head + "1,0x1,\"a\",1\n1,0x1,\"b\",1\nEND_NODES\n", format, 4, "already used on line 3");
    const std::string link = nodes + "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n";
    EXPECT_REFUSED(link + "0x20,3,0x99,1\nEND_LINKS\n", format, 8, "no node of the section NODES");
    EXPECT_REFUSED(link + "0x20,42,0x30,1\nEND_LINKS\n", format, 8, "has no port 42");
    EXPECT_REFUSED(link + "0x20,0,0x30,1\nEND_LINKS\n", format, 8, "has no port 0");
    EXPECT_REFUSED(link + "0x20,1,0x30,1\n0x20,2,0x30,1\nEND_LINKS\n", format, 9, "on line 8");
    EXPECT_REFUSED(nodes + "START_PORTS\nNodeGuid,PortNum,LMC\n0x20,42,0\nEND_PORTS\n", format, 8, "has no port 42");
    EXPECT_REFUSED(nodes + "START_PORTS\nNodeGuid,PortNum,LMC\n0x30,1,8\nEND_PORTS\n", format, 8, "at most 7 for LMC");
}

}  // namespace
}  // namespace loom::fabric
