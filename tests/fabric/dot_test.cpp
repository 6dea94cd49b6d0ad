#include "fabric/random_fabric.hpp"

namespace loom::fabric {
namespace {

using namespace testing;

constexpr auto format = Format::dot;
Reading read(std::string_view text) {
    return parse_fabric(text, "graph.dot");
}

TEST(Dot, RoundTripKeepsWhatTheFormatHas) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Fabric fabric = random_fabric(seed, {.names = Names::printable, .supported = false, .chassis = false});
        fabric.clear_lids();
        for (std::uint32_t i = 0; i < fabric.node_count(); ++i) {
            Node& node = fabric.node(NodeId{i});
            node.vendor = node.device = 0;
            node.system_guid = node.guid;
            node.enhanced_port0 = false;
        }

        Reading reading = parse_fabric(written(fabric, format), "test");

        ASSERT_EQ(reading.format, format);
        EXPECT_TRUE(reading.remarks.empty()) << reading.remarks.front();
        reading.fabric.title = fabric.title;
        expect_equal(fabric, reading.fabric);
    }
}

TEST(Dot, ReadsPlainGraphs) {
    const Reading reading = read(
        "/* of another\n tool */\nstrict graph {\n"
        "  rankdir=LR; node [shape=box, color=\"red\"];\n"
        "  // but this is\n"
        "  subgraph cluster_1 { a; b [kind=switch ports=16] }\n"
        "  a -- b -- c\n"
        "  a:3 -- b:p7:n [label=\"4xHDR\"]\n"
        "}\n");

    EXPECT_EQ(reading.format, format);
    EXPECT_EQ(reading.fabric.link_count(), 3u);
}

TEST(Dot, GuessesKindsAndPortsAndSaysSo) {
    const Reading reading = read("graph {\n a -- b; b -- c [taillabel=5]\n}\n");
    const Fabric& fabric = reading.fabric;

    EXPECT_EQ(cables(fabric, Rates::ignore), (std::vector<std::string>{"a port 1 - b port 1", "b port 5 - c port 1"}));
    EXPECT_EQ(fabric.node(NodeId{0}).kind, NodeKind::host);
    EXPECT_EQ(fabric.node(NodeId{1}).kind, NodeKind::switch_);
    EXPECT_EQ(reading.remarks.size(), 2u);
}

TEST(Dot, DirectedEdgesAreCables) {
    const Reading reading = read("digraph x { a -> b }");

    EXPECT_EQ(reading.fabric.link_count(), 1u);
    EXPECT_NE(reading.remarks[0].find("directed"), std::string::npos);
}

TEST(Dot, RefusesBadInput) {
    EXPECT_REFUSED("tree {}", format, 1, "expected graph or digraph");
    EXPECT_REFUSED("graph x\n y {}", format, 2, "expected {");
    EXPECT_REFUSED("graph {\n a -- b\n", format, 3, "expected }");
    EXPECT_REFUSED("graph {\n a -- {b c}\n}", format, 2, "groups in braces");
    EXPECT_REFUSED("graph {\n a --\n}", format, 3, "expected a node at the end");
    EXPECT_REFUSED("graph {\n a [x=\n]}", format, 3, "expected a value");
    EXPECT_REFUSED("graph {\n a [,]}", format, 2, "expected an attribute");
    EXPECT_REFUSED("graph {\n a:\n}", format, 3, "expected a port");
    EXPECT_REFUSED("graph {\n\"a\n", format, 2, "closing quote");
    EXPECT_REFUSED("graph {\n/* a\n", format, 2, "expected */");
    EXPECT_REFUSED("graph {\n a <b>\n}", format, 2, "found \"<\"");
    EXPECT_REFUSED("graph {\n a [kind=cat]\n}", format, 2, "switch, host or router");
    EXPECT_REFUSED("graph {\n a [ports=255]\n}", format, 2, "at most 254");
    EXPECT_REFUSED("graph {\n a:1 -- b:1\n a:1 -- c:1\n}", format, 3, "on line 2");
    EXPECT_REFUSED("graph {\n a:1 -- a:1\n}", format, 2, "connected to itself");
    EXPECT_REFUSED("graph {\n \"S-0000000000000020\"\n \"H-0000000000000020\"\n}", format, 3,
                   "already used by the node on line 2");
}

TEST(Dot, RefusesMoreEdgesThanPorts) {
    std::string text = "graph {\n";
    for (int i = 0; i < 255; ++i) text += "hub -- n" + std::to_string(i) + "\n";

    EXPECT_REFUSED(text + "}", format, 256, "more than 254 ports");
}

TEST(Dot, SurvivesDeepNesting) {
    EXPECT_REFUSED("graph " + std::string(200'000, '{'), format, 1, "expected }");
}

TEST(Dot, ANodeWithoutEdgesIsAHostThatOtherFormatsTake) {
    const Reading reading = parse_fabric("graph { a -- b; a -- c; lonely; }", "g.dot");

    std::ostringstream text;
    write_fabric(reading.fabric, text, Format::ibnetdiscover);
    const Reading back = parse_fabric(text.str(), "g.out");

    EXPECT_EQ(reading.fabric.node_count(), 4u);
    for (const Node& node : reading.fabric.nodes()) EXPECT_GE(node.ports, 1) << node.name;
    EXPECT_EQ(back.fabric.node_count(), 4u);
}

}  // namespace
}  // namespace loom::fabric
