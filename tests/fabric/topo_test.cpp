#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

constexpr auto format = Format::topo;
Reading read(std::string_view text) {
    return parse_fabric(text, "net");
}

TEST(Topo, ReadsPlainSystems) {
    const Reading reading = read(
        "# small\n\n"
        "MTS800 SW-1\n  P1 -> Cougar H-1 P1\n  P5 -4x-10G-> MTS2400 SW-2 P20\n  P6 -12x-> MTS2400 SW-2 P21\n\n"
        "MTS2400 SW-2\n\tP1 -2.5G-> MT25204 H-2 P1\n\tP20 -> MTS800 SW-1 P5\n");
    const Fabric& fabric = reading.fabric;

    EXPECT_EQ(reading.format, format);
    EXPECT_EQ(cables(fabric),
              (std::vector<std::string>{"H-1 port 1 - SW-1 port 1 ?x?", "H-2 port 1 - SW-2 port 1 ?xSDR",
                                        "SW-1 port 5 - SW-2 port 20 4xQDR", "SW-1 port 6 - SW-2 port 21 12x?"}));
    EXPECT_EQ(fabric.node(NodeId{0}).ports, 8);
    EXPECT_EQ(fabric.node(NodeId{1}).ports, 2);
    EXPECT_EQ(fabric.node(NodeId{1}).kind, NodeKind::host);
    EXPECT_EQ(fabric.node(NodeId{2}).ports, 24);
    EXPECT_EQ(fabric.node(NodeId{3}).ports, 1);
    EXPECT_TRUE(reading.remarks.empty());
}

TEST(Topo, GuessesUnknownTypesAndSaysSo) {
    const Reading reading = read("QM8700 spine\n P40 -4x-50G-> MCX653 node1 P1\n P3 -> Oddity box P2\n");

    EXPECT_EQ(reading.fabric.node(NodeId{0}).kind, NodeKind::switch_);
    EXPECT_EQ(reading.fabric.node(NodeId{0}).ports, 40);
    EXPECT_EQ(reading.fabric.node(NodeId{1}).kind, NodeKind::host);
    EXPECT_EQ(reading.fabric.node(NodeId{2}).kind, NodeKind::host);
    ASSERT_EQ(reading.remarks.size(), 1u);
    EXPECT_NE(reading.remarks[0].find("QM8700"), std::string::npos);
}

TEST(Topo, RoundTripKeepsWhatTheFormatHas) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Fabric fabric = random_fabric(seed);

        const Reading reading = round_trip(fabric, format);

        ASSERT_EQ(reading.fabric.node_count(), fabric.node_count());
        EXPECT_EQ(cables(reading.fabric), cables(fabric));
        EXPECT_TRUE(reading.remarks.empty()) << reading.remarks.front();
        std::set<std::tuple<std::string, NodeKind, int>> before, after;
        for (const Node& node : fabric.nodes()) before.emplace(node.name, node.kind, node.ports);
        for (const Node& node : reading.fabric.nodes()) after.emplace(node.name, node.kind, node.ports);
        EXPECT_EQ(before, after);
    }
}

TEST(Topo, NamesBecomeWordsOfTheirOwn) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Fabric fabric = random_fabric(seed, {.names = Names::bytes});

        const Reading reading = round_trip(fabric, format);

        EXPECT_EQ(reading.fabric.node_count(), fabric.node_count());
        EXPECT_EQ(reading.fabric.link_count(), fabric.link_count());
    }
}

TEST(Topo, RefusesBadInput) {
    const std::string head = "MTS800 a\n";
    EXPECT_REFUSED("# nothing\n", format, 1, "ends without a system");
    EXPECT_REFUSED(" P1 -> Cougar h P1\n", format, 1, "before its first port");
    EXPECT_REFUSED("MTS800\n", format, 1, "expected a system (TYPE NAME)");
    EXPECT_REFUSED("MTS9600 a CFG: leaf3=R\n", format, 1, "boards (CFG:)");
    EXPECT_REFUSED(head + "MTS800 a\n", format, 2, "already has a section");
    EXPECT_REFUSED(head + " P1 -> Cougar h\n", format, 2, "PORT -> TYPE NAME PORT");
    EXPECT_REFUSED(head + " L1/P1 -> Cougar h P1\n", format, 2, "boards are not read");
    EXPECT_REFUSED(head + " P0 -> Cougar h P1\n", format, 2, "P1 to P254");
    EXPECT_REFUSED(head + " P255 -> Cougar h P1\n", format, 2, "P1 to P254");
    EXPECT_REFUSED(head + " P9 -> Cougar h P1\n", format, 2, "a has no port 9, expected 1 to 8");
    EXPECT_REFUSED(head + " P1 -3x-> Cougar h P1\n", format, 2, "expected a width");
    EXPECT_REFUSED(head + " P1 -4x-7G-> Cougar h P1\n", format, 2, "expected a lane's speed");
    EXPECT_REFUSED(head + " P1 -4x> Cougar h P1\n", format, 2, "expected an arrow");
    EXPECT_REFUSED(head + " P1 -> MTS2400 a P2\n", format, 2, "expected one type");
    EXPECT_REFUSED(head + " P1 -> MTS800 a P1\n", format, 2, "connected to itself");
    EXPECT_REFUSED(head + " P1 -> Cougar h P1\n P2 -> Cougar h P1\n", format, 3, "on line 2");
}

}  // namespace
}  // namespace loom::fabric
