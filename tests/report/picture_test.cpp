#include "loom/report/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "loom/fabric/generate.hpp"
#include "report/groups.hpp"

namespace {

using namespace loom;
using namespace loom::report;
using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::SizeIs;

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
}

std::size_t cables(const Groups& groups) {
    std::size_t sum = 0;
    for (const Bundle& bundle : groups.bundles) sum += bundle.cables;
    return sum;
}

TEST(Groups, LeaveASmallTreeAsItIs) {
    const fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));

    const Groups groups = group_switches(tree, fabric::find_levels(tree), 160, {});

    ASSERT_THAT(groups.rows, SizeIs(2));
    EXPECT_THAT(groups.rows, Each(SizeIs(4)));
    EXPECT_EQ(groups.bundles.size(), 16u);
    EXPECT_EQ(cables(groups), 16u);
    for (const std::size_t leaf : groups.rows[0]) EXPECT_EQ(groups.boxes[leaf].hosts, 4u);
}

TEST(Groups, JoinALargeTreeByPodsAndItsRootsByPlanes) {
    const fabric::Fabric tree = fabric::pgft(fabric::kary_tree(6, 3));  // 36 switches a level, 6 pods, 6 planes

    const Groups groups = group_switches(tree, fabric::find_levels(tree), 10, {});

    ASSERT_THAT(groups.rows, SizeIs(3));
    EXPECT_THAT(groups.rows, Each(SizeIs(6)));
    for (const Box& box : groups.boxes) EXPECT_EQ(box.switches.size(), 6u);
    EXPECT_EQ(groups.bundles.size(), 6u + 36u);  // a pod's leaves to its own middle switches, each pod to each plane
    EXPECT_EQ(cables(groups), 2u * 216u);
}

TEST(Groups, NeverMakeARowLongerThanAsked) {
    const fabric::Fabric tree = fabric::pgft({.children = {2, 30}, .parents = {1, 2}});
    const fabric::Fabric torus = fabric::torus({.dimensions = {5, 5}});

    const Groups of_tree = group_switches(tree, fabric::find_levels(tree), 7, {});
    const Groups of_torus = group_switches(torus, fabric::find_levels(torus), 7, {});

    EXPECT_THAT(of_tree.rows, Each(SizeIs(Le(7u))));
    EXPECT_THAT(of_torus.rows, Each(SizeIs(Le(7u))));
}

TEST(Groups, StandAboveWhatHangsBelowThem) {
    const fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 3));

    const Groups groups = group_switches(tree, fabric::find_levels(tree), 160, {});

    const auto joined = [&](std::size_t lower, std::size_t upper) {
        return std::any_of(groups.bundles.begin(), groups.bundles.end(),
                           [&](const Bundle& bundle) { return bundle.lower == lower && bundle.upper == upper; });
    };
    EXPECT_TRUE(joined(groups.rows[0].front(), groups.rows[1].front()));
    EXPECT_TRUE(joined(groups.rows[0].back(), groups.rows[1].back()));
    EXPECT_FALSE(joined(groups.rows[0].front(), groups.rows[1].back()));
}

TEST(Groups, KnowTheirMostLoadedCable) {
    const fabric::Fabric tree = fabric::pgft({.children = {2, 2}, .parents = {1, 1}, .parallel = {1, 2}});
    const NodeId leaf = fabric::find_levels(tree).leaf_order.front();
    std::vector<double> load(tree.port_count(), 1);
    const PortIndex hot = tree.port_index(leaf, PortNum{4});
    load[hot.value] = 9;

    const Groups groups = group_switches(tree, fabric::find_levels(tree), 160, load);

    ASSERT_EQ(groups.bundles.size(), 2u);
    EXPECT_EQ(groups.bundles[0].load, 9);
    EXPECT_EQ(groups.bundles[0].hottest, hot);
    EXPECT_EQ(groups.bundles[0].cables, 2u);
    EXPECT_EQ(groups.bundles[1].load, 1);
}

TEST(Picture, ShowsEverySwitchCableAndHostOfASmallTree) {
    const fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));

    const std::string picture = draw_fabric(tree, fabric::find_levels(tree), {.title = "small <tree>"}).document();

    EXPECT_EQ(count(picture, "data-box="), 8u);
    EXPECT_EQ(count(picture, "data-ends="), 16u);
    EXPECT_EQ(count(picture, "<circle"), 16u);
    EXPECT_THAT(picture, HasSubstr("small &lt;tree&gt;"));
    EXPECT_THAT(picture, HasSubstr(">L0-0</text>"));
}

TEST(Picture, ColoursByLoadAndNamesTheBusiestCable) {
    const fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));
    const fabric::Levels levels = fabric::find_levels(tree);
    std::vector<double> load(tree.port_count(), 1);
    load[tree.port_index(levels.leaf_order[0], PortNum{5}).value] = 12;

    const std::string picture = draw_fabric(tree, levels, {}, load).document();

    EXPECT_THAT(picture, HasSubstr("12 flows: L0-0 port 5 to L1-0 port 1"));
    EXPECT_THAT(picture, HasSubstr("stroke=\"" + heat_colour(1) + "\""));
    EXPECT_THAT(picture, HasSubstr("12 flows on the busiest cable"));
}

TEST(Picture, TellsTheBusierDirectionOfAHost) {
    const fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));
    const fabric::Levels levels = fabric::find_levels(tree);
    std::vector<double> load(tree.port_count(), 1);
    const auto hosts = fabric::host_order(tree, levels);
    load[hosts[0].port.value] = 7;         // what the first host sends
    load[hosts[1].switch_port.value] = 8;  // what the second one gets

    const std::string picture = draw_fabric(tree, levels, {}, load).document();

    EXPECT_THAT(picture, HasSubstr("<title>host00\n7 flows</title>"));
    EXPECT_THAT(picture, HasSubstr("<title>host01\n8 flows</title>"));
    EXPECT_THAT(picture, HasSubstr("<title>host02\n1 flows</title>"));
}

TEST(Picture, TellsHowManyHostsTheLeavesHave) {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 2));
    EXPECT_THAT(draw_fabric(tree, fabric::find_levels(tree)).document(), HasSubstr(">4 hosts each</text>"));

    const NodeId first = fabric::find_levels(tree).leaf_order.front();
    for (const PortNum port : {PortNum{1}, PortNum{2}}) tree.disconnect(first, port);

    EXPECT_THAT(draw_fabric(tree, fabric::find_levels(tree)).document(), HasSubstr(">2 to 4 hosts each</text>"));
}

TEST(Picture, OfALargeTreeStaysSmall) {
    fabric::Pgft parameters = fabric::kary_tree(18, 3);
    parameters.children.back() = 36;
    const fabric::Fabric tree = fabric::pgft(parameters);  // 11,664 hosts

    const std::string picture = draw_fabric(tree, fabric::find_levels(tree)).document();

    EXPECT_LT(picture.size(), 300'000u);
    EXPECT_EQ(count(picture, "<circle"), 0u);
    EXPECT_THAT(picture, HasSubstr("324 switches in 18"));
}

TEST(Picture, OfATorusIsARing) {
    const fabric::Fabric torus = fabric::torus({.dimensions = {3, 3}});

    const std::string picture = draw_fabric(torus, fabric::find_levels(torus)).document();

    EXPECT_EQ(count(picture, "<path"), 18u);
    EXPECT_THAT(picture, Not(HasSubstr("nan")));
}

TEST(Picture, SurvivesStrangeFabrics) {
    fabric::Fabric empty;
    fabric::Fabric lonely;
    lonely.add_node(fabric::NodeKind::switch_, 4, "only \"one\" & all");

    EXPECT_THAT(draw_fabric(empty, fabric::find_levels(empty)).document(), HasSubstr("<svg"));
    EXPECT_THAT(draw_fabric(lonely, fabric::find_levels(lonely)).document(), Not(HasSubstr("\"one\"")));
}

}  // namespace
