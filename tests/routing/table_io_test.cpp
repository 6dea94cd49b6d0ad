#include "loom/routing/table_io.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/routing/content.hpp"
#include "reference/fabrics.hpp"

namespace loom::routing {
namespace {

using fabric::Fabric;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two switches joined by one cable: "left" (GUID 0x100, LID 3) with host LID 1 on port 2, "right" (GUID
// 0x200, LID 4) with host LID 2 on port 3.
Fabric pair_of_switches() {
    Fabric fabric;
    const NodeId left = fabric.add_node(fabric::NodeKind::switch_, 4, "left", Guid{0x100});
    const NodeId right = fabric.add_node(fabric::NodeKind::switch_, 4, "right", Guid{0x200});
    const NodeId a = fabric.add_node(fabric::NodeKind::host, 1, "a", Guid{0x300});
    const NodeId b = fabric.add_node(fabric::NodeKind::host, 1, "b", Guid{0x400});
    fabric.connect(left, PortNum{1}, right, PortNum{1});
    fabric.connect(left, PortNum{2}, a, PortNum{1});
    fabric.connect(right, PortNum{3}, b, PortNum{1});
    fabric.assign_lids();
    return fabric;
}

Tables pair_tables(const SwitchGraph& graph) {
    Tables tables(graph.switch_count(), graph.top_lid());
    const std::uint8_t left[] = {2, 1, 0, 1};
    const std::uint8_t right[] = {1, 3, 1, 0};
    for (std::uint16_t lid = 1; lid <= 4; ++lid) {
        tables.set(0, Lid{lid}, left[lid - 1]);
        tables.set(1, Lid{lid}, right[lid - 1]);
    }
    return tables;
}

std::string written(const Tables& tables, const SwitchGraph& graph, TableFormat format, WriteOptions options = {}) {
    std::ostringstream out;
    write_tables(tables, graph, out, format, options);
    return out.str();
}

Tables random_tables(const SwitchGraph& graph, std::uint64_t seed) {
    Random random(seed);
    Tables tables(graph.switch_count(), graph.top_lid());
    for (const Destination& destination : graph.destinations())
        for (unsigned i = 0; i < destination.lid_count(); ++i)
            for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
                if (random.below(8) != 0)
                    tables.set(s, Lid{static_cast<std::uint16_t>(destination.lid.value + i)},
                               static_cast<std::uint8_t>(random.below(graph.port_count(s) + 1)));
    return tables;
}

constexpr TableFormat all_formats[] = {TableFormat::opensm_lfts, TableFormat::dump_lfts, TableFormat::fdbs,
                                       TableFormat::json};

TEST(TableIo, OpensmTextIsExact) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);

    const std::string text = written(pair_tables(graph), graph, TableFormat::opensm_lfts);

    EXPECT_EQ(text,
              "Unicast lids [0-4] of switch Lid 3 guid 0x0000000000000100 ('left'):\n"
              "0x0001 002 # Channel Adapter portguid 0x0000000000000301: 'a'\n"
              "0x0002 001 # Channel Adapter portguid 0x0000000000000401: 'b'\n"
              "0x0003 000 # Switch portguid 0x0000000000000100: 'left'\n"
              "0x0004 001 # Switch portguid 0x0000000000000200: 'right'\n"
              "4 lids dumped\n"
              "Unicast lids [0-4] of switch Lid 4 guid 0x0000000000000200 ('right'):\n"
              "0x0001 001 # Channel Adapter portguid 0x0000000000000301: 'a'\n"
              "0x0002 003 # Channel Adapter portguid 0x0000000000000401: 'b'\n"
              "0x0003 001 # Switch portguid 0x0000000000000100: 'left'\n"
              "0x0004 000 # Switch portguid 0x0000000000000200: 'right'\n"
              "4 lids dumped\n");
}

TEST(TableIo, DumpLftsTextIsExact) {
    Fabric fabric = pair_of_switches();
    fabric.clear_lids();
    fabric.assign_lids(1);
    const SwitchGraph graph(fabric);
    const Destination host = graph.destinations()[0];
    Tables tables(2, graph.top_lid());
    tables.set(0, host.lid, 2);
    tables.set(0, Lid{static_cast<std::uint16_t>(host.lid.value + 1)}, 2);

    const std::string text = written(tables, graph, TableFormat::dump_lfts);

    EXPECT_THAT(text, HasSubstr("0x0002 002 : (Channel Adapter portguid 0x0000000000000301: 'a')\n"
                                "0x0003 002 : (path #2 out of 2: portguid 0x0000000000000301)\n"
                                "2 valid lids dumped \n"));
    EXPECT_THAT(text, HasSubstr(" guid 0x0000000000000100 (left):\n  Lid  Out   Destination\n       Port     Info \n"));
}

TEST(TableIo, FdbsTextIsExact) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    Tables tables = pair_tables(graph);
    tables.set(1, Lid{1}, no_route);
    tables.set(1, Lid{3}, 2);

    const std::string text = written(tables, graph, TableFormat::fdbs);

    EXPECT_EQ(text,
              "dump_ucast_routes: Switch 0x0000000000000100\n"
              "LID    : Port : Hops : Optimal\n"
              "0x0001 : 002  : 01   : yes\n"
              "0x0002 : 001  : 02   : yes\n"
              "0x0003 : 000  : 00   : yes\n"
              "0x0004 : 001  : 01   : yes\n"
              "dump_ucast_routes: Switch 0x0000000000000200\n"
              "LID    : Port : Hops : Optimal\n"
              "0x0001 : UNREACHABLE\n"
              "0x0002 : 003  : 01   : yes\n"
              "0x0003 : 002  : HOPS UNKNOWN\n"
              "0x0004 : 000  : 00   : yes\n");
}

TEST(TableIo, FdbsNamesTheShorterWay) {
    reference::Wiring wiring;
    const NodeId a = wiring.add_switch("a"), b = wiring.add_switch("b"), c = wiring.add_switch("c");
    wiring.join(a, b);
    wiring.join(b, c);
    wiring.join(a, c);
    wiring.join(a, c);  // another, by port 3
    wiring.fabric.assign_lids();
    const SwitchGraph graph(wiring.fabric);
    Tables tables(3, graph.top_lid());
    const Lid to_c = wiring.fabric.port(c, PortNum{0}).lid;
    tables.set(0, to_c, 1);
    tables.set(1, to_c, 2);
    tables.set(2, to_c, 0);

    const std::string text = written(tables, graph, TableFormat::fdbs);

    EXPECT_THAT(text, HasSubstr("0x0003 : 001  : 02   : No 1 hop path possible via port 2!\n"));
}

TEST(TableIo, EveryFormatComesBackUnchanged) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const Fabric fabric = reference::random_fabric(seed);
        const SwitchGraph graph(fabric);
        const Tables tables = random_tables(graph, seed);
        for (const TableFormat format : all_formats) {
            const TableFile file = parse_tables(written(tables, graph, format), "t");
            std::vector<std::string> remarks;

            const Tables back = bind_tables(file, graph, &remarks);

            EXPECT_EQ(file.format, format);
            EXPECT_EQ(back, tables) << name(format) << " seed " << seed;
            EXPECT_THAT(remarks, IsEmpty());
        }
    }
}

TEST(TableIo, JsonKeepsLanesAndEngine) {
    const Fabric fabric = reference::torus(3, 3, 1);
    const SwitchGraph graph(fabric);
    Tables tables = random_tables(graph, 5);
    tables.engine = "df\"sssp\n";
    tables.use_lanes();
    Random random(1);
    for (const Destination& destination : graph.destinations())
        for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
            tables.set_lane(s, destination.lid, static_cast<std::uint8_t>(random.below(4)));

    const Tables back = bind_tables(parse_tables(written(tables, graph, TableFormat::json), "t"), graph);

    EXPECT_EQ(back, tables);
    EXPECT_EQ(back.engine, "df\"sssp\n");
}

TEST(TableIo, SeveralLanesAreRefusedUnlessForced) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    Tables tables = pair_tables(graph);
    tables.use_lanes();
    EXPECT_NO_THROW(written(tables, graph, TableFormat::opensm_lfts));  // all on lane 0
    tables.set_lane(0, Lid{2}, 1);

    for (const TableFormat format : {TableFormat::opensm_lfts, TableFormat::dump_lfts, TableFormat::fdbs}) {
        EXPECT_THROW(written(tables, graph, format), Error);
        EXPECT_EQ(written(tables, graph, format, {.force = true}), written(pair_tables(graph), graph, format));
    }
}

TEST(TableIo, TablesOfAnotherFabricAreNotWritten) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);

    EXPECT_THROW(written(Tables(3, Lid{4}), graph, TableFormat::json), Error);
}

TEST(TableIo, OddNamesSurviveEveryFormat) {
    const std::string odd[] = {"(a):",        "x guid 0x5 portguid 0x6", "'",        "tab\there",
                               "line\nbreak", std::string(300, 'x'),     "\xff\xfe", ""};
    for (const std::string& name_of_switch : odd) {
        Fabric fabric = pair_of_switches();
        for (std::uint32_t n = 0; n < fabric.node_count(); ++n) fabric.node(NodeId{n}).name = name_of_switch;
        const SwitchGraph graph(fabric);
        for (const TableFormat format : all_formats) {
            std::vector<std::string> remarks;

            const TableFile file = parse_tables(written(pair_tables(graph), graph, format), "t");
            const Tables back = bind_tables(file, graph, &remarks);

            EXPECT_EQ(back, pair_tables(graph)) << name_of_switch;
            EXPECT_THAT(remarks, IsEmpty());
        }
    }
}

TEST(TableIo, ReadsTheOldOpensmHeader) {
    const TableFile file = parse_tables(
        "Unicast lids [0x0-0xd] of switch Lid 768 guid 0x0008f10400411a08 ('ISR9024 (top)'):\n"
        "0x0001 001 # Channel Adapter portguid 0x0008f10403960559: 'host \\'1\\''\n"
        "0x000d 024 # unknown node and type\n"
        "13 lids dumped\n",
        "t");

    ASSERT_EQ(file.switches.size(), 1u);
    EXPECT_EQ(file.format, TableFormat::opensm_lfts);
    EXPECT_EQ(file.switches[0].guid, Guid{0x0008f10400411a08});
    EXPECT_EQ(file.switches[0].lid, Lid{768});
    EXPECT_EQ(file.switches[0].name, "ISR9024 (top)");
    EXPECT_EQ(file.switches[0].ports.size(), 14u);
    EXPECT_EQ(file.switches[0].ports[1], 1);
    EXPECT_EQ(file.switches[0].ports[2], no_route);
    EXPECT_EQ(file.switches[0].ports[13], 24);
    EXPECT_EQ(file.owners[1], Guid{0x0008f10403960559});
}

TEST(TableIo, ReadsIbrouteWithDirectedPathsAllLidsAndWarnings) {
    const TableFile file = parse_tables(
        "[root@node ~]# dump_lfts -a\n"
        "ibwarn: [12] something\n"
        "Unicast lids [0x0-0x3] of switch DR path slid 0; dlid 0; 0,1,19 guid 0x0000000000000100 (MF0;sw:SX6036/U1):\n"
        "  Lid  Out   Destination\n"
        "       Port     Info \n"
        "0x0000 255 : (path #0 - illegal port)\n"
        "0x0001 002 : (Channel Adapter portguid 0x0000000000000301: 'a')\n"
        "0x0002 063 : (illegal port)\n"
        "SubnGet(LFT) failed on switch 'x'\n"
        "0x0003 001 \n"
        "4 lids dumped \n"
        "\n"
        "*** WARNING ***: this command has been replaced by dump_fts\n"
        "[root@node ~]# \n",
        "t");

    ASSERT_EQ(file.switches.size(), 1u);
    EXPECT_EQ(file.format, TableFormat::dump_lfts);
    EXPECT_EQ(file.switches[0].name, "MF0;sw:SX6036/U1");
    EXPECT_THAT(file.switches[0].ports, ElementsAre(no_route, 2, no_route, 1));
    EXPECT_THAT(file.remarks, ElementsAre(HasSubstr("t:1: the first of 4 lines")));
}

TEST(TableIo, ReadsIbdiagnetFdbs) {
    const TableFile file = parse_tables(
        "# This database file was automatically generated\r\n"
        "osm_ucast_mgr_dump_ucast_routes: Switch 0x2c90000213700\r\n"
        "PLFT_NUM: 0\r\n"
        "LID    : Port : Hops : Optimal\r\n"
        "0x0001 : UNREACHABLE\r\n"
        "0x0002 : 003  : 00   : yes\r\n"
        "0x000a : 255  : 00   : yes\r\n"
        "osm_ucast_mgr_dump_ucast_routes: Switch 0x2c90000213700\r\n"
        "PLFT_NUM: 1\r\n"
        "0x0002 : 004  : 00   : yes\r\n"
        "osm_ucast_mgr_dump_ucast_routes: Switch 0x2c90000213701\r\n"
        "0x0002 : 007  : HOPS UNKNOWN\r\n",
        "t");

    ASSERT_EQ(file.switches.size(), 2u);
    EXPECT_EQ(file.format, TableFormat::fdbs);
    EXPECT_EQ(file.switches[0].guid, Guid{0x2c90000213700});
    EXPECT_EQ(file.switches[0].ports[2], 3);
    EXPECT_EQ(file.switches[0].ports[10], no_route);
    EXPECT_EQ(file.switches[1].ports[2], 7);
    EXPECT_THAT(file.remarks, ElementsAre(HasSubstr("1 private tables")));
}

TEST(TableIo, JsonSkipsWhatItDoesNotKnow) {
    const TableFile file = parse_tables(
        "{\"extra\": {\"loom\": [1, {\"a\": null}]}, \"switches\": [{\"new\": [[-1.5]], \"ports\": \"/wEC\", \"guid\": "
        "\"0x1\"}],\n"
        "\"version\": 1, \"loom\" : \"tables\"}",
        "t");

    ASSERT_EQ(file.switches.size(), 1u);
    EXPECT_THAT(file.switches[0].ports, ElementsAre(no_route, 1, 2));
}

TEST(TableIo, FindsTheFormat) {
    EXPECT_EQ(detect_tables(""), std::nullopt);
    EXPECT_EQ(detect_tables("Switch 36 \"S-0\"\n"), std::nullopt);
    EXPECT_EQ(detect_tables("{\"loom\": \"fabric\"}"), std::nullopt);
    EXPECT_EQ(detect_tables(" {\"loom\":\"tables\"}"), TableFormat::json);
    EXPECT_EQ(detect_tables("$ x\nUnicast lids [0-1] of switch Lid 1 guid 0x1 ('a'):\n0x0001 000 # x\n"),
              TableFormat::opensm_lfts);
    EXPECT_EQ(detect_tables("Unicast lids [0x0-0x1] of switch Lid 1 guid 0x1 (a):\n  Lid  Out   Destination\n"),
              TableFormat::dump_lfts);
    EXPECT_EQ(detect_tables("dump_ucast_routes: Switch 0x1\n"), TableFormat::fdbs);
    EXPECT_EQ(parse_table_format("opensm"), TableFormat::opensm_lfts);
    EXPECT_THROW((void)parse_table_format("lft"), UsageError);
    EXPECT_EQ(table_format_for("a/b.json"), TableFormat::json);
    EXPECT_EQ(table_format_for("opensm.fdbs"), TableFormat::fdbs);
    EXPECT_EQ(table_format_for("tables"), TableFormat::opensm_lfts);
}

TEST(Content, IsToldFromTheText) {
    EXPECT_EQ(describe(identify("")), "in no known form");
    EXPECT_EQ(describe(identify("{\"loom\":\"tables\"}")), "forwarding tables (json)");
    EXPECT_EQ(describe(identify("{\"loom\":\"fabric\"}")), "a fabric (json)");
    EXPECT_EQ(describe(identify("dump_ucast_routes: Switch 0x1\n")), "forwarding tables (fdbs)");
    EXPECT_EQ(describe(identify("Switch\t8 \"S\"\n")), "a fabric (ibsim)");
    EXPECT_EQ(describe(identify("0x0001\tnode\n")), "a host order");
}

TEST(TableBinding, NamesASwitchThatIsNotThere) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    const TableFile file = parse_tables("dump_ucast_routes: Switch 0x999\n0x0001 : 001\n", "old.fdbs");

    try {
        (void)bind_tables(file, graph);
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "old.fdbs:1: the fabric has no switch 0x0000000000000999");
    }
    std::vector<std::string> remarks;
    const Tables tables = bind_tables(file, graph, &remarks, Fit::changed);
    EXPECT_EQ(tables, Tables(2, graph.top_lid()));
    EXPECT_THAT(remarks, ElementsAre(HasSubstr("1 switch of the tables"),
                                     HasSubstr("2 switches of the fabric have no table, left first")));
}

TEST(TableBinding, NamesAPortBeyondTheSwitch) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    const TableFile file = parse_tables("dump_ucast_routes: Switch 0x100\n0x0001 : 005\n0x0002 : 004\n", "t");

    try {
        (void)bind_tables(file, graph);
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(),
                     "t:1: switch 0x0000000000000100 sends LID 1 to port 5, but has only 4 ports in the fabric");
    }
    std::vector<std::string> remarks;
    const Tables tables = bind_tables(file, graph, &remarks, Fit::changed);
    EXPECT_EQ(tables.port(0, Lid{1}), no_route);
    EXPECT_EQ(tables.port(0, Lid{2}), 4);
    EXPECT_THAT(remarks, Contains(HasSubstr("1 entries use ports")));
}

TEST(TableBinding, UnknownLidsAreARemark) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    const TableFile file = parse_tables(
        "dump_ucast_routes: Switch 0x100\n0x0001 : 002\n0x0777 : 001\n0xBFFF : 001\ndump_ucast_routes: Switch 0x200\n",
        "t");
    std::vector<std::string> remarks;

    const Tables tables = bind_tables(file, graph, &remarks);

    EXPECT_EQ(tables.top_lid(), graph.top_lid());
    EXPECT_EQ(tables.port(0, Lid{1}), 2);
    EXPECT_THAT(remarks, ElementsAre(HasSubstr("2 LIDs of the tables are unknown to the fabric, 1911 first")));
}

TEST(TableBinding, LidsThatMovedAreARemark) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    std::string text = written(pair_tables(graph), graph, TableFormat::opensm_lfts);
    const auto at = text.find("portguid 0x0000000000000301");
    text.replace(at, 27, "portguid 0x0000000000000999");
    std::vector<std::string> remarks;

    const Tables tables = bind_tables(parse_tables(text, "t"), graph, &remarks);

    EXPECT_EQ(tables, pair_tables(graph));
    EXPECT_THAT(remarks,
                ElementsAre(HasSubstr("LID 1 is port 0x0000000000000999 there and a (0x0000000000000301) here")));
}

TEST(TableBinding, WithoutAGuidTheLidDecides) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    const TableFile file = parse_tables("Unicast lids [0x0-0x4] of switch Lid 4:\n0x0002 003\n", "t");

    const Tables tables = bind_tables(file, graph);

    EXPECT_EQ(tables.port(1, Lid{2}), 3);
    EXPECT_THROW((void)bind_tables(parse_tables("Unicast lids [0x0-0x4] of switch Lid 9:\n", "t"), graph), Error);
}

TEST(TableBinding, TheSameSwitchByLidAndByGuidIsAnError) {
    const Fabric fabric = pair_of_switches();
    const SwitchGraph graph(fabric);
    const TableFile file = parse_tables(
        "Unicast lids [0x0-0x4] of switch Lid 4:\nUnicast lids [0-4] of switch Lid 4 guid 0x200 ('right'):\n", "t");

    EXPECT_THROW((void)bind_tables(file, graph), Error);
}

TEST(TableBinding, AFabricWithoutLidsIsAnError) {
    Fabric fabric = pair_of_switches();
    fabric.clear_lids();
    const SwitchGraph graph(fabric);

    EXPECT_THROW((void)bind_tables(parse_tables("dump_ucast_routes: Switch 0x100\n", "t"), graph), Error);
}

}  // namespace
}  // namespace loom::routing
