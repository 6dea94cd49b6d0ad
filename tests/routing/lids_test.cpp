#include "loom/routing/lids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::routing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Lids, OfTablesAreAdoptedWithTheirLmc) {
    for (std::uint8_t lmc = 0; lmc < 4; ++lmc) {
        fabric::Fabric tree = fabric::pgft(fabric::kary_tree(3, 2));
        tree.assign_lids(lmc);
        const SwitchGraph graph(tree);
        std::ostringstream text;
        write_tables(route_minhop(graph, {}).tables, graph, text, TableFormat::opensm_lfts);
        fabric::Fabric bare = tree;
        bare.clear_lids();

        adopt_lids(bare, parse_tables(text.str(), "tables"));

        for (std::uint32_t i = 0; i < tree.port_count(); ++i) {
            EXPECT_EQ(bare.port(PortIndex{i}).lid, tree.port(PortIndex{i}).lid) << "LMC " << int{lmc};
            EXPECT_EQ(bare.port(PortIndex{i}).lmc, tree.port(PortIndex{i}).lmc) << "LMC " << int{lmc};
        }
    }
}

TEST(Lids, AreCompletedAndThatIsSaid) {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(2, 2));

    EXPECT_THAT(complete_lids(tree, 1), ElementsAre("the fabric had no LIDs; Loomband's own were used, 1 to 13"));
    EXPECT_THAT(complete_lids(tree, 1), IsEmpty());
    EXPECT_THROW((void)complete_lids(tree, 2), UsageError);
    tree.port(NodeId{0}, PortNum{0}).lid = no_lid;
    EXPECT_THAT(complete_lids(tree), ElementsAre("1 port had no LID; Loomband chose one"));
}

}  // namespace
}  // namespace loom::routing
