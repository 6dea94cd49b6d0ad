#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

Reading read(std::string_view text) {
    return parse_fabric(text, "net");
}

constexpr std::string_view small_net =
    "# two switches, two hosts\n"
    "Switch\t8 \"Switch1\"\n"
    "[1]\t\"Hca1\"[1]\n"
    "[2]\t\"Hca2\"[2] w=8 s=4\n"
    "[3]\t\"Switch2\"[3]\t# \"Switch2\" lid 0 4xFDR\n"
    "\n"
    "Switch 8 \"Switch2\"\n"
    "[3]\t\"Switch1\"[3]\t# \"Switch1\" lid 0 4xFDR\n"
    "\n"
    "Hca\t2 \"Hca1\"\n"
    "[1]\t\"Switch1\"\n"
    "Hca\t2 \"Hca2\"\n"
    "[2]\t\"Switch1\"[2]\n";

TEST(Ibsim, ReadsASmallNet) {
    const Reading reading = read(small_net);

    EXPECT_EQ(reading.format, Format::ibsim);
    EXPECT_EQ(reading.fabric.title, "net");
    EXPECT_EQ(cables(reading.fabric),
              (std::vector<std::string>{"Hca1 port 1 - Switch1 port 1 4xSDR", "Hca2 port 2 - Switch1 port 2 12xQDR",
                                        "Switch1 port 3 - Switch2 port 3 4xFDR"}));
    EXPECT_TRUE(reading.remarks.empty()) << reading.remarks.front();
}

TEST(Ibsim, GivesTheGuidsThatTheSimulatorGives) {
    const Reading reading = read(small_net);

    EXPECT_EQ(reading.fabric.node(NodeId{0}).guid, Guid{0x200000});
    EXPECT_EQ(reading.fabric.node(NodeId{1}).guid, Guid{0x200001});
    EXPECT_EQ(reading.fabric.node(NodeId{2}).guid, Guid{0x100000});
    EXPECT_EQ(reading.fabric.node(NodeId{3}).guid, Guid{0x100003});
}

TEST(Ibsim, TakesGuidsDefaultsModulesAndAliases) {
    const Reading reading = read(
        "width=8\nspeed=7\nmodule=\"left\"\nswitchguid=0x500\n"
        "Switch 4 \"a\"\n[1] \"b\"[2]\n@[4] \"out\"\n"
        "switchguid+0x10\nSwitch 4 \"b\"\n[2] \"a\"[1]\n"
        "module=\"right\"\nswitchguid=0x900\nSwitch 4 \"a\"\n[3] \"left@out\"\n"
        "do verb 1\n");

    EXPECT_EQ(cables(reading.fabric), (std::vector<std::string>{"left#a port 1 - left#b port 2 12xQDR",
                                                                "left#a port 4 - right#a port 3 12xQDR"}));
    EXPECT_EQ(reading.fabric.node(NodeId{1}).guid, Guid{0x510});
    EXPECT_EQ(reading.remarks.size(), 2u);  // the alias's end has no line of its own; the command
}

TEST(Ibsim, RoundTripKeepsWhatTheFormatHas) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Fabric fabric = random_fabric(seed, {.supported = false, .chassis = false});

        Reading reading = round_trip(fabric, Format::ibsim);

        EXPECT_TRUE(reading.remarks.empty()) << reading.remarks.front();
        reading.fabric.title = fabric.title;
        expect_equal(fabric, reading.fabric);
    }
}

TEST(Ibsim, NamesThatCannotBeIdsBecomeDescriptions) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Fabric fabric = random_fabric(seed, {.names = Names::printable, .supported = false, .chassis = false});

        const Reading reading = round_trip(fabric, Format::ibsim);

        ASSERT_EQ(reading.fabric.node_count(), fabric.node_count());
        for (std::uint32_t i = 0; i < fabric.node_count(); ++i) {
            std::string expected = fabric.node(NodeId{i}).name;
            std::replace(expected.begin(), expected.end(), '"', '\'');
            EXPECT_EQ(reading.fabric.node(NodeId{i}).name, expected);
        }
        EXPECT_EQ(cables(reading.fabric).size(), cables(fabric).size());
    }
}

TEST(Ibsim, EqualNamesDoNotBecomeIds) {
    Fabric fabric;
    const NodeId a = fabric.add_node(NodeKind::switch_, 2, "same");
    const NodeId b = fabric.add_node(NodeKind::switch_, 2, "same");
    fabric.connect(a, PortNum{1}, b, PortNum{2});

    const Reading reading = round_trip(fabric, Format::ibsim);

    EXPECT_EQ(reading.fabric.link_count(), 1u);
    EXPECT_EQ(reading.fabric.node(b).name, "same");
}

TEST(Ibsim, RefusesBadHeaders) {
    EXPECT_REFUSED("# x\nSwitch 255 \"a\"\n", Format::ibsim, 2, "from 1 to 254");
    EXPECT_REFUSED("Switch 0 \"a\"\n", Format::ibsim, 1, "from 1 to 254");
    EXPECT_REFUSED("Switch 99999999999999999999 \"a\"\n", Format::ibsim, 1, "from 1 to 254");
    EXPECT_REFUSED("Switch 8 a\n", Format::ibsim, 1, "id in quotes");
    EXPECT_REFUSED("Switch 8 \"a\n", Format::ibsim, 1, "id in quotes");
    EXPECT_REFUSED("Switch 8 \"a\"\nSwitch 8 \"a\"\n", Format::ibsim, 2, "already defined on line 1");
    EXPECT_REFUSED("switchguid=0x7\nSwitch 8 \"a\"\nswitchguid=0x7\nSwitch 8 \"b\"\n", Format::ibsim, 4,
                   "already used by the node on line 2");
    EXPECT_REFUSED("switchguid=7z\n", Format::ibsim, 1, "expected a number for switchguid");
    EXPECT_REFUSED("# nothing\n", Format::ibsim, 1, "ends without a node");
}

TEST(Ibsim, RefusesBadPortLines) {
    EXPECT_REFUSED("[1] \"a\"[1]\n", Format::ibsim, 1, "before its first port line");
    EXPECT_REFUSED("Switch 8 \"a\"\n[0] \"b\"[1]\n", Format::ibsim, 2, "has no port 0");
    EXPECT_REFUSED("Switch 8 \"a\"\n[9] \"b\"[1]\n", Format::ibsim, 2, "has no port 9, expected 1 to 8");
    EXPECT_REFUSED("Switch 8 \"a\"\n[1 \"b\"[1]\n", Format::ibsim, 2, "port number in brackets");
    EXPECT_REFUSED("Switch 8 \"a\"\n[1] b\n", Format::ibsim, 2, "other end's id in quotes");
    EXPECT_REFUSED("Switch 8 \"a\"\n[1] \"b\"[0]\n", Format::ibsim, 2, "from 1 to 254");
    EXPECT_REFUSED("Switch 8 \"a\"\n[1] \"b\"[1] w=x\n", Format::ibsim, 2, "small number");
    EXPECT_REFUSED("Switch 8 \"a\"\n[1](zz) \"b\"[1]\n", Format::ibsim, 2, "port GUID");
    EXPECT_REFUSED("Switch 8 \"a\"\n\n[1] \"b\"[1]\n", Format::ibsim, 3, "no node of this file has the id \"b\"");
    EXPECT_REFUSED("Switch 8 \"a\"\nSwitch 4 \"b\"\n[1] \"a\"[9]\n", Format::ibsim, 3, "a has no port 9");
    EXPECT_REFUSED("Switch 8 \"a\"\n[1] \"a\"[1]\n", Format::ibsim, 2, "connected to itself");
    EXPECT_REFUSED("Switch 8 \"a\"\nSwich 4 \"b\"\n", Format::ibsim, 2, "expected a node (Switch, Ca, Hca or Rt)");
    EXPECT_REFUSED("Switch 8 \"a\"\ninclude \"b\"\n", Format::ibsim, 2, "include is not followed");
}

TEST(Ibsim, RefusesContradictionsAndNamesBothLines) {
    const std::string net = "Switch 8 \"a\"\n[1] \"b\"[1]\n\nSwitch 8 \"b\"\n[1] \"a\"[1]\n[2] \"a\"[1]\n";

    EXPECT_REFUSED(net, Format::ibsim, 6, "a port 1 is connected to b port 2 here but to b port 1 on line 2");
}

TEST(Ibsim, MixedRatesAndRepeatedLinesAreRemarked) {
    const Reading reading = read(
        "Switch 8 \"a\"\n[1] \"b\"[1] # \"b\" lid 0 4xQDR\n[1] \"b\"[1] # \"b\" lid 0 4xQDR\n\n"
        "Switch 8 \"b\"\n[1] \"a\"[1] # \"a\" lid 0 4xDDR\n");

    EXPECT_EQ(cables(reading.fabric), (std::vector<std::string>{"a port 1 - b port 1 4xDDR"}));
    ASSERT_EQ(reading.remarks.size(), 2u);
    EXPECT_NE(reading.remarks[0].find("first on line 3"), std::string::npos);
    EXPECT_NE(reading.remarks[1].find("first on line 6"), std::string::npos);
}

}  // namespace
}  // namespace loom::fabric
