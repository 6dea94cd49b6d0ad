#include "loom/routing/routed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/check.hpp"
#include "support/process.hpp"

namespace loom::routing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A tree whose LIDs nobody would choose: 3 + the usual ones.
fabric::Fabric tree_with_odd_lids() {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(3, 2));
    tree.assign_lids();
    for (std::uint32_t i = 0; i < tree.port_count(); ++i)
        if (Lid& lid = tree.port(PortIndex{i}).lid; lid != no_lid)
            lid.value = static_cast<std::uint16_t>(lid.value + 3);
    return tree;
}

void write(const fabric::Fabric& fabric, const std::string& file) {
    const SwitchGraph graph(fabric);
    const Tables tables = route_minhop(graph, {}).tables;
    write_file(file, [&](std::ostream& out) { write_tables(tables, graph, out, TableFormat::opensm_lfts); });
}

TEST(Routed, AFabricWithoutLidsTakesThoseOfTheTables) {
    const test::TemporaryFolder folder;
    const fabric::Fabric tree = tree_with_odd_lids();
    write(tree, folder.file("t.lft"));
    RoutedFabric routed;
    routed.fabric = tree;
    routed.fabric.clear_lids();

    open(routed, {.tables = folder.file("t.lft")});

    EXPECT_THAT(routed.remarks, IsEmpty());
    EXPECT_TRUE(check(*routed.graph, routed.tables).ok());
    for (std::uint32_t i = 0; i < tree.port_count(); ++i)
        EXPECT_EQ(routed.fabric.port(PortIndex{i}).lid, tree.port(PortIndex{i}).lid);
}

TEST(Routed, AnEngineRoutesAndIsNamed) {
    RoutedFabric routed;
    routed.fabric = fabric::pgft(fabric::kary_tree(3, 2));

    open(routed, {.engine = &find_engine("sssp")});

    EXPECT_EQ(routed.tables.engine, "sssp");
    EXPECT_TRUE(check(*routed.graph, routed.tables).ok());
    EXPECT_THAT(routed.remarks, ElementsAre("the fabric had no LIDs; Loomband's own were used, 1 to 15"));
}

TEST(Routed, WithoutTablesAndEngineThereAreLidsAlone) {
    RoutedFabric routed;
    routed.fabric = fabric::pgft(fabric::kary_tree(3, 2));

    open(routed, {.lmc = 1, .expects_lids = false});

    EXPECT_EQ(routed.tables.switch_count(), 0u);
    EXPECT_EQ(routed.graph->host_destinations().size(), 9u);
    EXPECT_EQ(routed.graph->host_destinations()[0].lmc, 1);
    EXPECT_THAT(routed.remarks, IsEmpty());
}

TEST(Routed, WhatIsOddIsToldInTheOrderOfReading) {
    const test::TemporaryFolder folder;
    const fabric::Fabric tree = tree_with_odd_lids();
    write(tree, folder.file("t.lft"));
    RoutedFabric routed;
    routed.fabric = tree;
    routed.remarks = {"of the file"};
    routed.fabric.port(NodeId{0}, PortNum{0}).lid = no_lid;

    open(routed, {.tables = folder.file("t.lft")});

    ASSERT_GE(routed.remarks.size(), 2u);
    EXPECT_EQ(routed.remarks[0], "of the file");
    EXPECT_EQ(routed.remarks[1], "1 port had no LID; Loomband chose one");
}

}  // namespace
}  // namespace loom::routing
