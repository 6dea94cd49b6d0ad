#include "loom/fabric/fabric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::fabric {
namespace {

using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(Fabric, ACableIsSeenFromBothEnds) {
    Fabric fabric;
    const NodeId sw = fabric.add_node(NodeKind::switch_, 4, "sw"), host = fabric.add_node(NodeKind::host, 1, "h");

    fabric.connect(sw, PortNum{3}, host, PortNum{1}, {Width::x4, Speed::edr});

    EXPECT_EQ(fabric.port(sw, PortNum{3}).peer, fabric.port_index(host, PortNum{1}));
    EXPECT_EQ(fabric.port(host, PortNum{1}).peer, fabric.port_index(sw, PortNum{3}));
    EXPECT_EQ(fabric.port(host, PortNum{1}).rate, (LinkRate{Width::x4, Speed::edr}));
    EXPECT_EQ(fabric.link_count(), 1u);
    fabric.disconnect(host, PortNum{1});
    EXPECT_FALSE(fabric.port(sw, PortNum{3}).connected());
    EXPECT_EQ(fabric.link_count(), 0u);
}

TEST(Fabric, ImpossibleCablesAreRefusedByName) {
    Fabric fabric;
    const NodeId a = fabric.add_node(NodeKind::switch_, 2, "A"), b = fabric.add_node(NodeKind::switch_, 2, "B");
    fabric.connect(a, PortNum{1}, b, PortNum{1});

    EXPECT_THAT(message_of([&] { fabric.connect(a, PortNum{1}, b, PortNum{2}); }),
                HasSubstr("A port 1 is already connected to B port 1"));
    EXPECT_THAT(message_of([&] { fabric.connect(a, PortNum{3}, b, PortNum{2}); }),
                HasSubstr("A port 3 does not exist, expected a port from 1 to 2"));
    EXPECT_THAT(message_of([&] { fabric.connect(a, PortNum{0}, b, PortNum{2}); }),
                HasSubstr("A port 0 does not exist"));
    EXPECT_THAT(message_of([&] { fabric.connect(a, PortNum{2}, a, PortNum{2}); }),
                HasSubstr("A port 2 cannot be connected to itself"));
    EXPECT_EQ(fabric.link_count(), 1u);
}

TEST(Fabric, GuidsAreUniqueGivenOrInvented) {
    Fabric fabric;
    const NodeId invented = fabric.add_node(NodeKind::host, 1, "x");
    const Guid taken = fabric.node(invented).guid;

    EXPECT_NE(taken, no_guid);
    EXPECT_THAT(message_of([&] { fabric.add_node(NodeKind::host, 1, "y", taken); }),
                HasSubstr("two nodes have the GUID"));
    EXPECT_THAT(message_of([&] { fabric.add_node(NodeKind::switch_, 255, "z"); }), HasSubstr("at most 254 ports"));
}

TEST(AssignLids, GivesHostsConsecutiveAlignedRangesAndKeepsWhatIsThere) {
    Fabric fabric = pgft(kary_tree(2, 2));
    Port& kept = fabric.port(NodeId{1}, PortNum{0});
    kept.lid = Lid{5};

    fabric.assign_lids(2);

    EXPECT_EQ(fabric.port(NodeId{1}, PortNum{0}).lid, Lid{5});
    std::set<unsigned> seen;
    for (const Port& port : fabric.all_ports())
        if (port.lid != no_lid) {
            EXPECT_EQ(port.lid.value % (1u << port.lmc), 0u);
            for (unsigned i = 0; i < (1u << port.lmc); ++i) EXPECT_TRUE(seen.insert(port.lid.value + i).second);
        }
    EXPECT_EQ(seen.size(), 4u * 4 + 4);
}

TEST(AssignLids, LeavesAloneEveryLidThatAHostHolds) {
    Fabric fabric = pgft(kary_tree(2, 2));
    const NodeId host = fabric.nodes_of(NodeKind::host).back();
    Port& kept = fabric.port(host, PortNum{1});
    kept.lid = Lid{4};
    kept.lmc = 2;

    fabric.assign_lids();

    for (const Port& port : fabric.all_ports()) {
        const bool is_other = port.lid != no_lid && port.node != host;
        EXPECT_FALSE(is_other && port.lid.value >= 4 && port.lid.value <= 7) << port.lid.value;
    }
}

TEST(AssignLids, SaysWhenTheSubnetIsFull) {
    Fabric fabric = pgft(kary_tree(10, 3));

    EXPECT_THAT(message_of([&] { fabric.assign_lids(6); }), HasSubstr("more LIDs than the 49,151"));
    EXPECT_THROW(fabric.assign_lids(8), Error);
}

TEST(LinkRate, HasTheRealEncoding) {
    EXPECT_EQ((LinkRate{Width::x4, Speed::qdr}).megabits(), 32'000u);
    EXPECT_EQ((LinkRate{Width::x4, Speed::hdr}).megabits(), 200'000u);
    EXPECT_EQ((LinkRate{}).megabits(), 0u);
}

TEST(LinkRate, ReadsWhatItWrites) {
    for (const Width width : {Width::unknown, Width::x1, Width::x2, Width::x4, Width::x8, Width::x12})
        for (int speed = 0; speed <= static_cast<int>(Speed::xdr); ++speed) {
            const LinkRate rate{width, static_cast<Speed>(speed)};

            EXPECT_EQ(parse_rate(to_string(rate)), rate);
        }
    EXPECT_EQ(parse_rate("4xfdr10"), (LinkRate{Width::x4, Speed::fdr10}));
    for (const char* wrong : {"", "x", "5xQDR", "4x", "4QDR", "4xQQR"}) EXPECT_FALSE(parse_rate(wrong)) << wrong;
}

TEST(Fabric, DescribesNodesThatShareANameWithTheirGuid) {
    Fabric fabric;
    const NodeId one = fabric.add_node(NodeKind::switch_, 4, "twin", Guid{0x10});
    const NodeId other = fabric.add_node(NodeKind::switch_, 4, "twin", Guid{0x20});
    const NodeId alone = fabric.add_node(NodeKind::switch_, 4, "alone");

    mark_shared_names(fabric);

    EXPECT_EQ(describe(fabric, one, PortNum{2}), "twin (0x0000000000000010) port 2");
    EXPECT_EQ(describe(fabric, other), "twin (0x0000000000000020)");
    EXPECT_EQ(describe(fabric, alone), "alone");
    fabric.node(other).name = "renamed";
    mark_shared_names(fabric);
    EXPECT_EQ(describe(fabric, one), "twin");
}

}  // namespace
}  // namespace loom::fabric
