#include "loom/fabric/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/oddities.hpp"

namespace loom::fabric {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

Summary summary_of(const Fabric& fabric) {
    return summarise(fabric, find_levels(fabric));
}

TEST(Summary, OfARegularTreeHasNoRemarks) {
    Fabric fabric = pgft({.children = {8, 4, 2}, .parents = {1, 4, 2}, .radix = 12});
    fabric.assign_lids(1);

    const Summary summary = summary_of(fabric);

    EXPECT_THAT(summary.remarks, IsEmpty());
    EXPECT_EQ(summary.hosts, 64);
    EXPECT_EQ(summary.switches, 8 + 8 + 8);
    EXPECT_EQ(summary.host_links, 64);
    EXPECT_EQ(summary.switch_links, 32 + 16);
    EXPECT_EQ(summary.lids, 2 * 64 + 24);
    EXPECT_EQ(summary.lmc, 1);
    EXPECT_THAT(summary.radix, ElementsAre(Pair(12, 24)));
    EXPECT_THAT(summary.rates, ElementsAre(Pair("4xQDR", 112)));
    ASSERT_EQ(summary.levels.size(), 3);
    EXPECT_DOUBLE_EQ(summary.levels[0].oversubscription, 2);
    EXPECT_DOUBLE_EQ(summary.levels[1].oversubscription, 2);
    EXPECT_DOUBLE_EQ(summary.levels[2].oversubscription, 0);
    EXPECT_EQ(summary.levels[1].open_ports, 8 * (12 - 4 - 2));
    EXPECT_EQ(summary.subnets.size(), 1);
}

TEST(Summary, WeighsOversubscriptionByRate) {
    Fabric fabric;
    const NodeId leaf = fabric.add_node(NodeKind::switch_, 4, "leaf"),
                 other = fabric.add_node(NodeKind::switch_, 4, "other");
    const NodeId root = fabric.add_node(NodeKind::switch_, 4, "root");
    for (const NodeId id : {leaf, other})
        for (std::uint8_t port = 1; port <= 2; ++port)
            fabric.connect(fabric.add_node(NodeKind::host, 1, "h"), PortNum{1}, id, PortNum{port},
                           {Width::x4, Speed::edr});
    fabric.connect(leaf, PortNum{3}, root, PortNum{1}, {Width::x4, Speed::hdr});
    fabric.connect(other, PortNum{3}, root, PortNum{2}, {Width::x4, Speed::hdr});

    const Summary summary = summary_of(fabric);

    EXPECT_DOUBLE_EQ(summary.levels.at(0).oversubscription, 1);
}

TEST(Summary, SaysWhatIsIrregular) {
    const Fabric whole = pgft(kary_tree(4, 2));
    const Fabric fabric =
        damage(whole, {.slow_links = {1}, .nodes = {"host05"}, .cables = {{"L0-2", PortNum{6}}}}).fabric;

    const Summary summary = summary_of(fabric);

    EXPECT_THAT(summary.remarks, Contains("leaves carry from 3 to 4 hosts"));
    EXPECT_THAT(summary.remarks, Contains("switches of level 0 have from 3 to 4 cables up; L0-2 has 3"));
    EXPECT_THAT(summary.remarks, Contains(testing::HasSubstr("1 cable runs below what both ends support")));
    EXPECT_EQ(summary.slow.size(), 1);
    EXPECT_EQ(to_string(summary.slow.at(0).supported), "4xQDR");
}

TEST(Summary, CountsAggregationNodesApart) {
    const Summary summary = summary_of(with_aggregation_nodes(pgft(kary_tree(3, 2))));

    EXPECT_EQ(summary.hosts, 9);
    EXPECT_EQ(summary.aggregation_nodes, 6);
    EXPECT_EQ(summary.levels.at(0).down, 9);
    EXPECT_THAT(summary.remarks, IsEmpty());
}

TEST(Summary, FindsRailsThatAreSubnetsOfTheirOwn) {
    const Fabric fabric =
        rail({.units = 2, .servers_per_unit = 4, .rails = 3, .spines = 2, .layout = RailSpines::per_rail});

    const Summary summary = summary_of(fabric);

    ASSERT_EQ(summary.subnets.size(), 3);
    EXPECT_EQ(summary.subnets[0].switches, 4);
    EXPECT_EQ(summary.subnets[0].hosts, 8);
    EXPECT_EQ(summary.servers_on_several_subnets, 8);
    EXPECT_THAT(summary.remarks, ElementsAre("there are 3 separate subnets; 8 servers are on more than one (rails)"));
}

TEST(Summary, OfNothingIsEmpty) {
    const Summary summary = summary_of(Fabric{});

    EXPECT_EQ(summary.switches + summary.hosts, 0);
    EXPECT_THAT(summary.levels, IsEmpty());
    EXPECT_THAT(summary.remarks, IsEmpty());
}

TEST(Summary, NamesCablesSlowerThanMostOfTheirLevelWhereSupportIsUnknown) {
    Fabric fabric = pgft(kary_tree(4, 2));
    Port& end = fabric.port(fabric.nodes_of(NodeKind::switch_)[0], PortNum{5});
    end.rate.width = fabric.port(end.peer).rate.width = Width::x1;

    const Summary summary = summary_of(fabric);

    EXPECT_EQ(summary.support_unknown, fabric.link_count());
    EXPECT_THAT(summary.slow, IsEmpty());
    ASSERT_EQ(summary.behind.size(), 1);
    EXPECT_EQ(summary.behind[0].rate, (LinkRate{Width::x1, Speed::qdr}));
    EXPECT_EQ(summary.behind[0].supported, (LinkRate{Width::x4, Speed::qdr}));
    EXPECT_THAT(summary.remarks, Contains(testing::HasSubstr("1 cable is slower than most between the same levels")));
}

TEST(Summary, HalfOfTheCablesDoNotSayWhatIsUsual) {
    Fabric fabric = pgft({.children = {2, 2}, .parents = {1, 1}});
    Port& end = fabric.port(fabric.nodes_of(NodeKind::switch_)[0], PortNum{3});
    end.rate.width = fabric.port(end.peer).rate.width = Width::x1;

    const Summary summary = summary_of(fabric);

    EXPECT_THAT(summary.behind, IsEmpty());
}

TEST(Summary, NamesTheFirstSwitchWithTheFewestCablesUp) {
    const Fabric fabric =
        damage(pgft(kary_tree(4, 2)), {.cables = {{"L0-1", PortNum{6}}, {"L0-2", PortNum{6}}}}).fabric;

    EXPECT_THAT(summary_of(fabric).remarks, Contains("switches of level 0 have from 3 to 4 cables up; L0-1 has 3"));
}

TEST(Summary, DoesNotCallSlowWhatOnlyRunsSlowerThanAnotherLevel) {
    Fabric fabric = pgft(kary_tree(4, 2));
    for (const NodeId host : fabric.nodes_of(NodeKind::host)) {
        Port& port = fabric.port(host, PortNum{1});
        port.rate = fabric.port(port.peer).rate = {Width::x4, Speed::ddr};
    }

    const Summary summary = summary_of(fabric);

    EXPECT_THAT(summary.behind, IsEmpty());
    EXPECT_DOUBLE_EQ(summary.levels[0].oversubscription, 0.5);
}

TEST(Summary, MentionsCablesFromASwitchToItself) {
    Fabric fabric = pgft({.children = {4, 2}, .parents = {1, 2}, .radix = 8});
    fabric.connect(fabric.nodes_of(NodeKind::switch_)[0], PortNum{7}, fabric.nodes_of(NodeKind::switch_)[0],
                   PortNum{8});

    const Summary summary = summary_of(fabric);

    EXPECT_THAT(summary.remarks, Contains(testing::HasSubstr("1 cable leads from a node to itself")));
}

}  // namespace
}  // namespace loom::fabric
