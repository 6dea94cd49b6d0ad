#include "loom/fabric/host_order_io.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "loom/base/error.hpp"
#include "loom/fabric/placement.hpp"
#include "reference/fabrics.hpp"

namespace loom::fabric {
namespace {

using testing::HasSubstr;

bool operator==(const HostPort& a, const HostPort& b) {
    return a.port == b.port && a.switch_port == b.switch_port;
}

std::string written(const Fabric& fabric, PlaceKeepers keepers) {
    std::ostringstream out;
    write_host_order(fabric, host_order(fabric), out, keepers);
    return out.str();
}

// Two leaves under one root, with two hosts and one.
Fabric uneven_tree() {
    reference::Wiring wiring;
    const NodeId first = wiring.add_switch("first"), second = wiring.add_switch("second"),
                 root = wiring.add_switch("root");
    wiring.add_host(first, "a");
    wiring.add_host(first, "b c");
    wiring.add_host(second, "d\te");
    wiring.join(first, root);
    wiring.join(second, root);
    wiring.fabric.assign_lids();
    return std::move(wiring.fabric);
}

TEST(HostOrderIo, TextIsAsOpensmWritesIt) {
    const Fabric fabric = uneven_tree();

    EXPECT_EQ(written(fabric, PlaceKeepers::keep), "0x0001\ta\n0x0002\tb c\n0x0003\td e\n0xFFFF\tDUMMY\n");
    EXPECT_EQ(written(fabric, PlaceKeepers::drop), "0x0001\ta\n0x0002\tb c\n0x0003\td e\n");
}

TEST(HostOrderIo, ComesBackAsTheSameOrder) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const Fabric fabric = reference::random_fabric(seed);
        const std::vector<HostPort> order = host_order(fabric);
        if (order.empty()) continue;

        const auto file = parse_host_order(written(fabric, PlaceKeepers::keep), "order");
        const std::vector<HostPort> back = bind_host_order(file, fabric, "order");

        ASSERT_EQ(back.size(), order.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            EXPECT_TRUE(back[i] == order[i]) << "seed " << seed << " rank " << i;
    }
}

TEST(HostOrderIo, AHostIsKnownByEachOfItsLids) {
    Fabric fabric = uneven_tree();
    fabric.clear_lids();
    fabric.assign_lids(2);

    const auto hosts = bind_host_order(parse_host_order("0x000e\td e\n0x0005\ta\n", "order"), fabric, "order");

    ASSERT_EQ(hosts.size(), 2u);
    EXPECT_EQ(fabric.node(fabric.port(hosts[0].port).node).name, "d\te");
    EXPECT_EQ(fabric.node(fabric.port(hosts[1].port).node).name, "a");
}

TEST(HostOrderIo, PlaceKeepersCanBeKept) {
    const Fabric fabric = uneven_tree();
    const auto file = parse_host_order("0xFFFF\tDUMMY\n# a remark\n\n0x0003\td e\r\n", "order");

    const auto kept = bind_host_order(file, fabric, "order", PlaceKeepers::keep);
    const auto dropped = bind_host_order(file, fabric, "order");

    ASSERT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept[0].port, no_port);
    EXPECT_EQ(fabric.port(kept[1].port).lid, Lid{3});
    EXPECT_EQ(dropped.size(), 1u);
    EXPECT_EQ(file[1].name, "d e");
    EXPECT_EQ(file[1].line, 4u);
}

TEST(HostOrderIo, IsAPlacementFileToo) {
    const Fabric fabric = uneven_tree();

    const Placement placement = read_placement(fabric, written(fabric, PlaceKeepers::keep), "order");

    EXPECT_EQ(placement, place_with_keepers(fabric));
}

TEST(HostOrderIo, IsTold) {
    EXPECT_TRUE(is_host_order("0x0002\tnode-1\n"));
    EXPECT_TRUE(is_host_order("# order\n0xFFFF\tDUMMY\n"));
    EXPECT_FALSE(is_host_order("0x0002 001 # Switch\n"));
    EXPECT_FALSE(is_host_order("0x0002 : 001\n"));
    EXPECT_FALSE(is_host_order("0x0002c90000000001\n"));
    EXPECT_FALSE(is_host_order(""));
}

struct Bad {
    const char* name;
    const char* text;
    const char* message;
};
class BadHostOrder : public testing::TestWithParam<Bad> {};

TEST_P(BadHostOrder, SaysWhereAndWhatWasExpected) {
    const Fabric fabric = uneven_tree();

    try {
        (void)bind_host_order(parse_host_order(GetParam().text, "bad"), fabric, "bad");
        FAIL() << "no error";
    } catch (const ParseError& error) {
        EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
    }
}

constexpr Bad bad_orders[] = {
    {"Empty", "", "bad: no host in it; expected lines like"},
    {"NoLid", "0x0001\ta\nnode\n", "bad:2: expected \"0xLID NAME\", found \"node\""},
    {"LidRunsOn", "0x0001zz\ta\n", "bad:1: expected \"0xLID NAME\""},
    {"LidTooLong", "0x11112222333344445\ta\n", "bad:1: expected \"0xLID NAME\""},
    {"LidZero", "0x0000\ta\n", "bad:1: LID 0x0 is no unicast LID"},
    {"LidMulticast", "0xc001\ta\n", "bad:1: LID 0xc001 is no unicast LID"},
    {"KeeperMisspelt", "0xFFFF\tDUMY\n",
     "bad:1: LID 0xffff is no unicast LID; expected 0x1 to 0xbfff, or \"0xFFFF DUMMY\""},
    {"HostTwice", "0x0001\ta\n0x0001\tb\n", "bad:2: LID 0x0001 was given before, at line 1"},
    {"HostUnknown", "0x0001\ta\n0x0099\tz\n", "bad:2: LID 153 (z) is no host port behind a switch"},
    {"HostIsASwitch", "0x0004\tfirst\n", "bad:1: LID 4 (first) is no host port behind a switch"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadHostOrder, testing::ValuesIn(bad_orders),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(HostOrderIo, HostsWithoutLidsAreNotWritten) {
    Fabric fabric = uneven_tree();
    fabric.clear_lids();

    EXPECT_THROW(written(fabric, PlaceKeepers::keep), Error);
}

}  // namespace
}  // namespace loom::fabric
