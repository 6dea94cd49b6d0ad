// OpenSM and Loomband on the same ibsim file: what is reachable, and each other's tables.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "loom/base/file.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "peer/side_by_side.hpp"

namespace loom::peer {
namespace {

using testing::IsEmpty;

// Names of the nodes in the piece of the fabric that the first node is in: where OpenSM runs.
std::set<std::string> first_piece(const fabric::Fabric& fabric) {
    std::vector<bool> seen(fabric.node_count());
    std::vector<NodeId> todo{NodeId{0}};
    seen[0] = true;
    std::set<std::string> names;
    while (!todo.empty()) {
        const NodeId node = todo.back();
        todo.pop_back();
        names.insert(fabric.node(node).name);
        for (const auto& port : fabric.ports(node)) {
            if (!port.connected()) continue;
            const NodeId next = fabric.port(port.peer).node;
            if (!seen[next.value]) todo.push_back(next);
            seen[next.value] = true;
        }
    }
    return names;
}

std::set<std::string> names_of(const fabric::Fabric& fabric) {
    std::set<std::string> names;
    for (const auto& node : fabric.nodes()) names.insert(node.name);
    return names;
}

// (GUID, port) of both ends of every cable, and the LID of every end port: all that routing needs.
using Cables = std::set<std::tuple<std::uint64_t, unsigned, std::uint64_t, unsigned>>;
Cables cables_of(const fabric::Fabric& fabric) {
    Cables cables;
    for (const auto& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        const auto& peer = fabric.port(port.peer);
        cables.emplace(fabric.node(port.node).guid.value, port.number.value, fabric.node(peer.node).guid.value,
                       peer.number.value);
    }
    return cables;
}

std::map<std::tuple<std::uint64_t, unsigned>, unsigned> lids_of(const fabric::Fabric& fabric) {
    std::map<std::tuple<std::uint64_t, unsigned>, unsigned> lids;
    for (const auto& port : fabric.all_ports())
        if (port.lid != no_lid) lids[{fabric.node(port.node).guid.value, port.number.value}] = port.lid.value;
    return lids;
}

// Entries for LIDs that exist; what a table says about the others means nothing.
std::size_t differing_entries(const Discovered& net, const routing::Tables& a, const routing::Tables& b) {
    std::size_t count = 0;
    for (routing::SwitchIndex s = 0; s < net.graph.switch_count(); ++s)
        for (const auto& destination : net.graph.destinations())
            for (unsigned i = 0; i < destination.lid_count(); ++i) {
                const Lid lid{static_cast<std::uint16_t>(destination.lid.value + i)};
                count += a.port(s, lid) != b.port(s, lid) ? 1 : 0;
            }
    return count;
}

std::size_t unreachable_pairs(const Discovered& net, const routing::Tables& tables) {
    std::size_t count = 0;
    for (const auto& from : net.hosts)
        for (const auto& to : net.hosts)
            if (from.port != to.port && walk(net, tables, from, to).empty()) ++count;
    return count;
}

fabric::Fabric small_tree() {
    return fabric::pgft({.children = {3, 4}, .parents = {1, 2}, .parallel = {1, 2}});
}

TEST(Agreement, OnWhatIsReachableInFabricsThatFallApart) {
    const fabric::Fabric whole = fabric::pgft({.children = {3, 3, 3}, .parents = {1, 2, 2}});
    unsigned split = 0;
    for (unsigned seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        fabric::Damage damage;
        damage.seed = seed;
        damage.links = {.share = 0.35};
        const fabric::Fabric fabric = fabric::damage(whole, damage).fabric;
        const std::set<std::string> expected = first_piece(fabric);
        split += expected.size() < fabric.node_count() ? 1 : 0;
        Subnet subnet(ibsim_text(fabric));

        const OpensmRun run = subnet.opensm({.engine = "minhop"});
        ASSERT_TRUE(run.came_up);
        const Discovered net(subnet);

        EXPECT_EQ(names_of(net.fabric), expected);
        EXPECT_EQ(unreachable_pairs(net, net.bind(run.lfts)), 0u);
        for (const char* engine : {"minhop", "sssp", "ftree"})
            EXPECT_EQ(unreachable_pairs(net, net.route(engine)), 0u) << engine;
    }
    EXPECT_GT(split, 0u);
}

class OpensmLoads : public testing::TestWithParam<const char*> {};

TEST_P(OpensmLoads, OurTablesWithoutErrorAndUnchanged) {
    fabric::Damage damage;
    damage.links = {.count = 2};
    Subnet subnet(ibsim_text(fabric::damage(fabric::pgft(fabric::kary_tree(4, 3)), damage).fabric));
    ASSERT_TRUE(subnet.opensm({.engine = "minhop"}).came_up);
    const Discovered net(subnet);
    const routing::Tables ours = net.route(GetParam());
    const auto file = subnet.folder() / "ours.lfts";
    write_file(file, [&](std::ostream& out) {
        routing::write_tables(ours, net.graph, out, routing::TableFormat::opensm_lfts);
    });

    const OpensmRun loaded = subnet.opensm({.engine = "file", .tables = file});

    EXPECT_TRUE(loaded.came_up);
    EXPECT_EQ(loaded.engine_used, "file");
    EXPECT_THAT(loaded.errors, IsEmpty());
    EXPECT_EQ(differing_entries(net, ours, net.bind(loaded.lfts)), 0u);
    const IbdmchkRun checked = subnet.ibdmchk();
    EXPECT_TRUE(checked.finished);
    EXPECT_THAT(checked.errors, IsEmpty());
    EXPECT_EQ(checked.paths, net.hosts.size() * (net.hosts.size() - 1));
}

INSTANTIATE_TEST_SUITE_P(Engines, OpensmLoads, testing::Values("ftree", "minhop", "updn", "sssp", "dfsssp"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST(Readers, UnderstandWhatTheDiscoveryToolsPrint) {
    Subnet subnet(ibsim_text(small_tree()));
    const OpensmRun run = subnet.opensm({.engine = "minhop"});
    const Discovered net(subnet);
    const std::vector<std::pair<std::string, fabric::Format>> texts = {
        {subnet.tool({"ibnetdiscover", "-p"}).output, fabric::Format::ibnetdiscover},
        {subnet.tool({"ibnetdiscover", "-f"}).output, fabric::Format::ibnetdiscover},
        {subnet.tool({"ibnetdiscover", "-g"}).output, fabric::Format::ibnetdiscover},
        {run.subnet, fabric::Format::subnet_lst}};
    ASSERT_EQ(net.fabric.node_count(), small_tree().node_count());

    for (const auto& [text, format] : texts) {
        SCOPED_TRACE(text.substr(0, 300));
        const fabric::Reading reading = fabric::parse_fabric(text, "discovery");

        EXPECT_EQ(reading.format, format);
        EXPECT_EQ(cables_of(reading.fabric), cables_of(net.fabric));
        EXPECT_EQ(lids_of(reading.fabric), lids_of(net.fabric));
        EXPECT_EQ(names_of(reading.fabric), names_of(net.fabric));
    }
}

TEST(Readers, UnderstandIbroute) {
    Subnet subnet(ibsim_text(small_tree()));
    const OpensmRun run = subnet.opensm({.engine = "ftree"});
    const Discovered net(subnet);
    const routing::Tables theirs = net.bind(run.lfts);

    for (routing::SwitchIndex s = 0; s < net.graph.switch_count(); ++s) {
        const unsigned lid = net.fabric.port(net.graph.node(s), PortNum{0}).lid.value;
        const Outcome printed = subnet.tool({"ibroute", std::to_string(lid)});
        ASSERT_TRUE(printed.ok()) << printed.errors;
        const routing::Tables one = net.bind(printed.output);
        for (const auto& destination : net.graph.destinations())
            EXPECT_EQ(one.port(s, destination.lid), theirs.port(s, destination.lid)) << "switch LID " << lid;
    }
}

}  // namespace
}  // namespace loom::peer
