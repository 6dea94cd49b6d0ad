#include "loom/fabric/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/host_order_io.hpp"
#include "loom/fabric/placement_doubts.hpp"

namespace loom::fabric {
namespace {

using Names = std::vector<std::string>;

Fabric small_tree() {
    Fabric fabric = pgft({.children = {3, 4}, .parents = {1, 3}});
    fabric.assign_lids();
    return fabric;
}

std::string name_of(const Fabric& fabric, PortIndex port) {
    return port == no_port ? "-" : fabric.node(fabric.port(port).node).name;
}

Names names_of(const Fabric& fabric, const Placement& placement) {
    Names names;
    for (const PortIndex port : placement.hosts) names.push_back(name_of(fabric, port));
    return names;
}

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Placement, IsFoundFromWhatACommandSays) {
    const Fabric fabric = small_tree();
    std::vector<std::string> remarks;

    EXPECT_EQ(place_ranks(fabric, {}, remarks), place_in_order(fabric));
    EXPECT_EQ(place_ranks(fabric, {.how = "order"}, remarks), place_in_order(fabric));
    EXPECT_EQ(place_ranks(fabric, {.how = "keepers"}, remarks), place_with_keepers(fabric));
    EXPECT_EQ(place_ranks(fabric, {.how = "random", .seed = 3}, remarks), shuffled(place_in_order(fabric), 3));
    EXPECT_EQ(names_of(fabric, place_ranks(fabric, {.hosts = "host[02-03]"}, remarks)), (Names{"host02", "host03"}));
    EXPECT_TRUE(remarks.empty());
    EXPECT_THROW((void)place_ranks(fabric, {.how = "nowhere", .folder = "/none"}, remarks), IoError);
}

TEST(Placement, InOrderIsByLeafAndPort) {
    const Fabric fabric = small_tree();

    const Placement placement = place_in_order(fabric);

    ASSERT_EQ(placement.ranks(), 12u);
    EXPECT_EQ(name_of(fabric, placement.hosts[0]), "host00");
    EXPECT_EQ(name_of(fabric, placement.hosts[11]), "host11");
}

TEST(Placement, KeepersFillUpThinLeaves) {
    Fabric fabric = small_tree();
    fabric.disconnect(fabric.nodes_of(NodeKind::switch_)[1], PortNum{2});

    const Placement placement = place_with_keepers(fabric);

    EXPECT_EQ(names_of(fabric, placement), (Names{"host00", "host01", "host02", "host03", "-", "host05", "host06",
                                                  "host07", "host08", "host09", "host10", "host11"}));
}

TEST(Placement, KeepersComeLastWhereHostsArePluggedInAnywhere) {
    Fabric fabric;
    const NodeId left = fabric.add_node(NodeKind::switch_, 8, "left"),
                 right = fabric.add_node(NodeKind::switch_, 8, "right");
    fabric.connect(left, PortNum{8}, right, PortNum{8});
    const auto plug = [&](NodeId leaf, std::uint8_t port, const char* name) {
        fabric.connect(fabric.add_node(NodeKind::host, 1, name), PortNum{1}, leaf, PortNum{port});
    };
    plug(left, 4, "a");
    plug(left, 5, "b");
    plug(right, 1, "c");
    plug(right, 2, "d");
    plug(right, 3, "e");

    EXPECT_EQ(names_of(fabric, place_with_keepers(fabric)), (Names{"a", "b", "-", "c", "d", "e"}));
}

TEST(Placement, KnowsAHostByEachOfItsLids) {
    Fabric fabric = pgft({.children = {3}, .parents = {1}});
    fabric.assign_lids(2);

    const Placement placement = read_placement(fabric, "11\n4\n15\n", "job");

    EXPECT_EQ(names_of(fabric, placement), (Names{"host1", "host0", "host2"}));
}

TEST(Placement, AHostWithoutANameComesBack) {
    Fabric fabric = small_tree();
    const Placement placement = place_in_order(fabric);
    fabric.node(fabric.port(placement.hosts[3]).node).name = "";

    EXPECT_EQ(read_placement(fabric, to_text(fabric, placement), "text"), placement);
}

TEST(Placement, ShuffledIsAPermutationOfTheSeed) {
    const Placement order = place_in_order(small_tree());

    const Placement one = shuffled(order, 1);

    EXPECT_EQ(one, shuffled(order, 1));
    EXPECT_NE(one, shuffled(order, 2));
    EXPECT_TRUE(std::is_permutation(one.hosts.begin(), one.hosts.end(), order.hosts.begin()));
}

TEST(Placement, ReadsNamesGuidsLidsListsAndKeepers) {
    Fabric fabric = small_tree();
    const Placement order = place_in_order(fabric);
    fabric.node(fabric.port(order.hosts[5]).node).name = "spare HCA-1";
    const std::string text = "# my job\nhost03\n" + to_string(fabric.port(order.hosts[1]).guid) + "\n" +
                             std::to_string(fabric.port(order.hosts[2]).lid.value) + "\n-\n\n  host[09-11]  \nspare\n" +
                             to_string(fabric.node(fabric.port(order.hosts[7]).node).guid) + "\n";

    const Placement placement = read_placement(fabric, text, "job");

    EXPECT_EQ(names_of(fabric, placement),
              (Names{"host03", "host01", "host02", "-", "host09", "host10", "host11", "spare HCA-1", "host07"}));
}

TEST(Placement, TextComesBackTheSame) {
    Fabric fabric = small_tree();
    Placement placement = shuffled(place_in_order(fabric), 9);
    placement.hosts[4] = no_port;
    fabric.node(fabric.port(placement.hosts[0]).node).name = "twin";
    fabric.node(fabric.port(placement.hosts[1]).node).name = "twin";
    fabric.node(fabric.port(placement.hosts[2]).node).name = " odd # name";
    fabric.node(fabric.port(placement.hosts[3]).node).name = "";

    const Placement again = read_placement(fabric, to_text(fabric, placement), "text");

    EXPECT_EQ(again, placement);
}

TEST(Placement, AHostWithoutANameIsWrittenByItsGuid) {
    Fabric fabric = small_tree();
    const Placement placement = place_in_order(fabric);
    fabric.node(fabric.port(placement.hosts[0]).node).name = "";
    std::ostringstream order;
    write_host_order(fabric, host_order(fabric), order);

    const Placement again = read_placement(fabric, to_text(fabric, placement), "text");
    const Placement by_lid = read_placement(fabric, order.str(), "order");

    EXPECT_EQ(again, placement);
    EXPECT_EQ(by_lid, placement);
}

TEST(Placement, NamesThatFitSeveralHostsAreSaid) {
    Fabric fabric = small_tree();
    const Placement order = place_in_order(fabric);
    const auto name = [&](std::size_t rank) -> std::string& {
        return fabric.node(fabric.port(order.hosts[rank]).node).name;
    };
    name(0) = "node17 mlx5_0";
    name(1) = "node17 mlx5_1";
    name(2) = std::to_string(fabric.port(order.hosts[3]).lid.value);

    const Names once = host_list_doubts(fabric, "node17,host05");
    const Names twice = placement_doubts(fabric, "node17\nnode17\n");
    const Names number = placement_doubts(fabric, name(2));

    EXPECT_EQ(once, (Names{"a name fits several hosts (the first is \"node17\": node17 mlx5_0 and node17 mlx5_1); "
                           "they are taken in turn, a GUID (0x...) would say which"}));
    EXPECT_EQ(twice, Names{});
    EXPECT_EQ(number, (Names{"a host's name is another's LID (the first is \"" + name(2) +
                             "\", the LID of host03); the name counts"}));
}

TEST(Placement, ANodeNamedAgainGivesItsNextPort) {
    Fabric fabric;
    const NodeId sw = fabric.add_node(NodeKind::switch_, 4, "s");
    const NodeId host = fabric.add_node(NodeKind::host, 2, "dual");
    fabric.connect(sw, PortNum{1}, host, PortNum{1});
    fabric.connect(sw, PortNum{2}, host, PortNum{2});
    fabric.assign_lids();

    const Placement placement = place_on_hosts(fabric, "dual,dual,dual");

    EXPECT_EQ(placement.hosts,
              (std::vector<PortIndex>{fabric.port_index(host, PortNum{1}), fabric.port_index(host, PortNum{2}),
                                      fabric.port_index(host, PortNum{1})}));
}

TEST(Placement, UnknownHostsAreNamed) {
    const Fabric fabric = small_tree();

    EXPECT_EQ(message_of([&] { (void)read_placement(fabric, "host00\n\nhost99\n", "job"); }),
              "job:3: expected a host of the fabric that is connected to a switch, got \"host99\"");
    EXPECT_EQ(message_of([&] { (void)read_placement(fabric, "# none\n", "job"); }),
              "job:1: expected at least one host");
    EXPECT_THROW((void)read_placement(fabric, "0xdead\n", "job"), ParseError);
    EXPECT_THROW((void)read_placement(fabric, "L0-0\n", "job"), ParseError);
    EXPECT_THROW((void)place_on_hosts(fabric, "host[00-99]"), UsageError);
}

TEST(HostList, ExpandsAsSlurmDoes) {
    EXPECT_EQ(expand_host_list("node[001-003,020],login"),
              (Names{"node001", "node002", "node003", "node020", "login"}));
    EXPECT_EQ(expand_host_list("r[1-2]n[8-10]x"), (Names{"r1n8x", "r1n9x", "r1n10x", "r2n8x", "r2n9x", "r2n10x"}));
    EXPECT_EQ(expand_host_list("a , b"), (Names{"a", "b"}));
}

TEST(HostList, NonsenseIsRefused) {
    for (const char* text :
         {"", "a,,b", "a[", "a[]", "a[3-1]", "a[x]", "a[1-2", "a[1-99999999]", "a[1-1000]b[1-1000]c[1-1000]", "a[-3]"})
        EXPECT_THROW((void)expand_host_list(text), UsageError) << text;
}

}  // namespace
}  // namespace loom::fabric
