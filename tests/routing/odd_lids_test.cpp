#include "loom/routing/lids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/switch_graph.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::routing {
namespace {

using testing::HasSubstr;

TEST(SwitchGraph, RefusesALidOfTwoPorts) {
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(2, 2));
    tree.assign_lids();
    const std::vector<NodeId> hosts = tree.nodes_of(fabric::NodeKind::host);
    tree.port(hosts[1], PortNum{1}).lid = tree.port(hosts[0], PortNum{1}).lid;

    try {
        const SwitchGraph graph(tree);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_STREQ(
            error.what(),
            "LID 1 belongs to two ports: host0 port 1 and host1 port 1; expected a LID to be that of one port");
    }
}

TEST(Tables, AByteOrderMarkInFrontIsPassedOver) {
    const std::string mark = "\xef\xbb\xbf";
    const std::string lft =
        "Unicast lids [0-3] of switch Lid 3 guid 0x000000000000000a ('s'):\n"
        "0x0001 001 # Channel Adapter portguid 0x0000000000000011: 'a'\n"
        "1 lids dumped\n";

    const TableFile file = parse_tables(mark + lft, "marked");

    EXPECT_EQ(file.switches.size(), 1u);
}

}  // namespace
}  // namespace loom::routing
