#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/fabric/generate.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/oddities.hpp"

namespace loom::fabric {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Fabric tree(std::uint8_t lmc = 0) {
    Fabric fabric = pgft(kary_tree(4, 2));
    fabric.assign_lids(lmc);
    return fabric;
}

TEST(Losses, JsonHasNone) {
    Fabric fabric = with_aggregation_nodes(tree(2));
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i)
        fabric.port(PortIndex{i}).supported = fabric.port(PortIndex{i}).rate;

    EXPECT_THAT(losses(fabric, Format::json), IsEmpty());
}

TEST(Losses, AreOnlyToldWhereTheyOccur) {
    Fabric fast = tree();
    for (std::uint32_t i = 0; i < fast.port_count(); ++i)
        fast.port(PortIndex{i}).supported = fast.port(PortIndex{i}).rate;

    EXPECT_THAT(losses(tree(), Format::ibnetdiscover), IsEmpty());
    EXPECT_THAT(losses(fast, Format::ibnetdiscover),
                Contains("ibnetdiscover: the rates that the ends of cables support are not kept"));
    EXPECT_THAT(losses(tree(), Format::subnet_lst), Not(Contains(HasSubstr("LMC"))));
    EXPECT_THAT(losses(tree(1), Format::subnet_lst), Contains("subnet_lst: LMCs are not kept"));
}

TEST(Losses, OfFormatsThatHoldLittle) {
    const Fabric fabric = with_aggregation_nodes(tree());

    EXPECT_THAT(losses(fabric, Format::topo),
                Contains("topo: of 8 aggregation nodes none are left, some have become hosts"));
    EXPECT_THAT(losses(fabric, Format::topo), Contains("topo: GUIDs are not kept"));
    EXPECT_THAT(losses(fabric, Format::slurm), Contains("slurm: of 8 aggregation nodes none are left"));
    EXPECT_THAT(losses(fabric, Format::slurm), Contains("slurm: GUIDs are not kept"));
    EXPECT_THAT(losses(fabric, Format::dot), Contains("dot: LIDs are not kept"));
}

TEST(Losses, NodesWithoutACableMayGo) {
    Fabric fabric = tree();
    fabric.add_node(NodeKind::host, 1, "lonely");

    EXPECT_THAT(losses(fabric, Format::subnet_lst), Contains("subnet_lst: of 17 hosts 16 are left"));
}

}  // namespace
}  // namespace loom::fabric
