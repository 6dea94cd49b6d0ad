#include "loom/fabric/presets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace loom::fabric {
namespace {

TEST(ZahaviTable1, HasEveryRowWithItsHosts) {
    const std::vector<std::size_t> hosts = {12, 16, 16, 16, 16, 16,  16,  16,  32,   32,  32,
                                            32, 48, 64, 64, 64, 144, 144, 256, 1728, 1728};
    const std::vector<std::size_t> switches = {8,  32, 8,  8,  6,  28, 6,  6,   20,  20, 20,
                                               24, 40, 48, 40, 40, 24, 18, 256, 432, 360};

    const std::vector<TreePreset> rows = zahavi_table1();

    ASSERT_EQ(rows.size(), 21);
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Fabric fabric = rows[i].make();
        EXPECT_EQ(rows[i].row, i + 1);
        EXPECT_TRUE(names.insert(rows[i].name).second) << rows[i].name;
        EXPECT_EQ(fabric.title, rows[i].description);
        EXPECT_EQ(fabric.nodes_of(NodeKind::host).size(), hosts[i]) << rows[i].name;
        EXPECT_EQ(fabric.nodes_of(NodeKind::switch_).size(), switches[i]) << rows[i].name;
    }
}

// Cables up and down of the first switch of a level.
std::pair<long, long> cables_of_first(const Fabric& fabric, const std::string& prefix) {
    const auto node = std::ranges::find_if(fabric.nodes(), [&](const Node& n) { return n.name.starts_with(prefix); });
    const NodeId id{static_cast<std::uint32_t>(node - fabric.nodes().begin())};
    std::pair<long, long> result{0, 0};
    for (const Port& port : fabric.ports(id)) {
        if (!port.connected()) continue;
        const Node& peer = fabric.node(fabric.port(port.peer).node);
        ++(peer.kind == NodeKind::host || peer.name < node->name ? result.second : result.first);
    }
    return result;
}

TEST(ZahaviTable1, HalfBisectionIsWhereTheRowSaysItIs) {
    const std::vector<TreePreset> rows = zahavi_table1();
    const Fabric full = rows[8].make(), first = rows[9].make(), second = rows[10].make();

    EXPECT_EQ(cables_of_first(full, "L0"), std::pair(4L, 4L));
    EXPECT_EQ(cables_of_first(full, "L1"), std::pair(4L, 4L));
    EXPECT_EQ(cables_of_first(first, "L0"), std::pair(2L, 4L));
    EXPECT_EQ(cables_of_first(first, "L1"), std::pair(2L, 2L));
    EXPECT_EQ(cables_of_first(second, "L0"), std::pair(4L, 4L));
    EXPECT_EQ(cables_of_first(second, "L1"), std::pair(2L, 4L));
}

TEST(ZahaviTable1, ReorderedRowsDifferOnlyInTheRootsPorts) {
    const std::vector<TreePreset> rows = zahavi_table1();
    const Fabric plain = rows[2].make(), reordered = rows[3].make();

    std::size_t moved = 0;
    for (std::uint32_t i = 0; i < plain.port_count(); ++i) {
        const PortIndex index{i};
        if (!plain.port(index).connected()) continue;
        const Port& before = plain.port(plain.port(index).peer);
        const Port& after = reordered.port(reordered.port(index).peer);
        if (plain.node(plain.port(index).node).name.starts_with("L1")) continue;
        EXPECT_EQ(before.node, after.node);
        moved += before.number != after.number;
    }

    EXPECT_EQ(moved, 4);
}

}  // namespace
}  // namespace loom::fabric
