#include <gmock/gmock.h>

#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

constexpr auto format = Format::slurm;
Reading read(std::string_view text) {
    return parse_fabric(text, "topology.conf");
}

TEST(Slurm, ReadsATree) {
    const Reading reading = read(
        "# tree\n"
        "SwitchName=leaf1 Nodes=n[08-10],login LinkSpeed=100\n"
        "switchname=leaf2 \\\n  nodes=n11 # comment\n"
        "SwitchName=top Switches=leaf[1-2]\n");

    EXPECT_EQ(reading.format, format);
    EXPECT_EQ(
        cables(reading.fabric, Rates::ignore),
        (std::vector<std::string>{"leaf1 port 1 - n08 port 1", "leaf1 port 2 - n09 port 1", "leaf1 port 3 - n10 port 1",
                                  "leaf1 port 4 - login port 1", "leaf1 port 5 - top port 1",
                                  "leaf2 port 1 - n11 port 1", "leaf2 port 2 - top port 2"}));
    EXPECT_EQ(reading.fabric.nodes_of(NodeKind::switch_).size(), 3u);
    ASSERT_EQ(reading.remarks.size(), 1u);
    EXPECT_NE(reading.remarks[0].find("one cable was assumed"), std::string::npos);
}

TEST(Slurm, ANodeMayHaveTwoLeaves) {
    const Reading reading = read("SwitchName=a Nodes=n1,n1\nSwitchName=b Nodes=n1\n");

    EXPECT_EQ(reading.fabric.link_count(), 2u);
    EXPECT_EQ(reading.fabric.node(NodeId{1}).ports, 2);
    EXPECT_EQ(reading.remarks.size(), 2u);
}

Fabric two_level(unsigned leaves, unsigned hosts) {
    Fabric fabric;
    const NodeId top = fabric.add_node(NodeKind::switch_, 36, "top");
    for (unsigned l = 0; l < leaves; ++l) {
        const NodeId leaf = fabric.add_node(NodeKind::switch_, 36, "leaf" + std::to_string(l));
        fabric.connect(leaf, PortNum{36}, top, PortNum{static_cast<std::uint8_t>(l + 1)});
        fabric.connect(leaf, PortNum{35}, top, PortNum{static_cast<std::uint8_t>(l + 18)});  // parallel
        for (unsigned h = 0; h < hosts; ++h) {
            const NodeId host =
                fabric.add_node(NodeKind::host, 1, "node" + std::to_string(l * hosts + h + 1) + " mlx5_0");
            fabric.connect(leaf, PortNum{static_cast<std::uint8_t>(h + 1)}, host, PortNum{1});
        }
    }
    return fabric;
}

TEST(Slurm, WritesCompressedLists) {
    Fabric fabric = two_level(3, 10);
    fabric.title = "three leaves";

    EXPECT_EQ(
        written(fabric, format),
        "# three leaves\n"
        "SwitchName=leaf0 Nodes=node[1-10]\nSwitchName=leaf1 Nodes=node[11-20]\nSwitchName=leaf2 Nodes=node[21-30]\n"
        "SwitchName=top Switches=leaf[0-2]\n");
}

TEST(Slurm, HostsOfAnUpperSwitchGetALeaf) {
    Fabric fabric = two_level(3, 10);
    const NodeId host = fabric.add_node(NodeKind::host, 1, "manager");
    fabric.connect(NodeId{0}, PortNum{36}, host, PortNum{1});

    const std::string text = written(fabric, format);

    EXPECT_NE(text.find("SwitchName=top-hosts Nodes=manager\nSwitchName=top Switches=top-hosts,leaf[0-2]\n"),
              std::string::npos)
        << text;
}

TEST(Slurm, RoundTripKeepsWhoIsUnderWhom) {
    const Fabric fabric = two_level(4, 6);

    const Reading first = round_trip(fabric, format);
    const Reading second = round_trip(first.fabric, format);

    EXPECT_EQ(first.fabric.node_count(), fabric.node_count());
    EXPECT_EQ(first.fabric.link_count(), 4u + 24u);
    EXPECT_EQ(cables(first.fabric), cables(second.fabric));
}

TEST(Slurm, AnyFabricIsWrittenSoThatItReadsBack) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Fabric fabric = random_fabric(seed, {.names = Names::bytes});
        const std::string text = written(fabric, format);
        if (text.find("SwitchName") == std::string::npos) continue;  // no switch with anything below it

        const Reading reading = parse_fabric(text, "test", format);

        EXPECT_GT(reading.fabric.link_count(), 0u) << text;
    }
}

TEST(Slurm, RefusesBadInput) {
    EXPECT_REFUSED("# nothing\n", format, 1, "ends without a switch");
    EXPECT_REFUSED("Nodes=a\n", format, 1, "expected SwitchName=");
    EXPECT_REFUSED("SwitchName=a word\n", format, 1, "expected KEY=VALUE");
    EXPECT_REFUSED("SwitchName=a Colour=red\n", format, 1, "found \"Colour=red\"");
    EXPECT_REFUSED("SwitchName=a SwitchName=b\n", format, 1, "one SwitchName");
    EXPECT_REFUSED("SwitchName=\n", format, 1, "expected a name");
    EXPECT_REFUSED("SwitchName=a Nodes=n1\n\nSwitchName=a Nodes=n2\n", format, 3, "already defined on line 1");
    EXPECT_REFUSED("SwitchName=a Nodes=n[1-\n", format, 1, "expected ]");
    EXPECT_REFUSED("SwitchName=a Nodes=n[1-300]\n", format, 1, "more than 254 ports");
    EXPECT_REFUSED("SwitchName=a Nodes=n[1-999999999]\n", format, 1, "more than 400000 names");
    EXPECT_REFUSED("SwitchName=b Nodes=x\nSwitchName=a Switches=b,c\n", format, 2, "\"c\" has no line of its own");
    EXPECT_REFUSED("SwitchName=a Switches=a\n", format, 1, "under itself");
    EXPECT_REFUSED("\nSwitchName=a \\\nNodes=n1 \\\nColour=red\n", format, 2, "found \"Colour=red\"");
}

TEST(Slurm, TheListsOfAFileShareOneLimit) {
    std::string text;
    for (int i = 0; i < 10; ++i) text += "SwitchName=s" + std::to_string(i) + " Nodes=n[1-100000]\n";

    EXPECT_REFUSED(text, format, 5, "names");
}

TEST(Slurm, HostsThatOnlyBearTheirDevicesNameStayApart) {
    Fabric fabric;
    const NodeId leaf = fabric.add_node(NodeKind::switch_, 8, "leaf");
    auto plug = [&, port = std::uint8_t{1}](const char* name, Guid guid) mutable {
        fabric.connect(fabric.add_node(NodeKind::host, 1, name, guid), PortNum{1}, leaf, PortNum{port++});
    };
    plug("MT23108 InfiniHost Mellanox Technologies", Guid{0x10});
    plug("MT23108 InfiniHost Mellanox Technologies", Guid{0x20});
    plug("localhost HCA-1", Guid{0x30});
    plug("localhost HCA-1", Guid{0x40});
    plug("node1 HCA-1", Guid{0x50});  // two adapters of one server
    plug("node1 HCA-2", Guid{0x60});
    plug("Mellanox Technologies Aggregation Node", Guid{0x70});

    std::ostringstream text;
    write_fabric(fabric, text, format);
    const Fabric back = read(text.str()).fabric;

    std::vector<std::string> names;
    for (const NodeId id : back.nodes_of(NodeKind::host)) names.push_back(back.node(id).name);
    EXPECT_THAT(names,
                ::testing::UnorderedElementsAre("MT23108-0000000000000010", "MT23108-0000000000000020",
                                                "localhost-0000000000000030", "localhost-0000000000000040", "node1"));
}

}  // namespace
}  // namespace loom::fabric
