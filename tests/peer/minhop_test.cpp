// Loomband's minhop beside OpenSM's: the same fabric, the same LIDs, the same tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/io.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/table_io.hpp"
#include "peer/harness/opensm.hpp"

namespace loom::peer {
namespace {

using fabric::Fabric;

struct BesideOpensm {
    Fabric fabric;           // as ibnetdiscover sees it after OpenSM has given LIDs
    routing::Tables theirs;  // in the numbering of `fabric`
};

BesideOpensm run_opensm(const Fabric& fabric, const std::string& engine, unsigned lmc) {
    std::ostringstream net;
    fabric::write_fabric(fabric, net, fabric::Format::ibsim);
    Subnet subnet(net.str());
    OpensmOptions options;
    options.engine = engine;
    options.lmc = lmc;
    const OpensmRun run = subnet.opensm(options);
    EXPECT_TRUE(run.came_up);
    BesideOpensm result{fabric::parse_fabric(subnet.tool({"ibnetdiscover"}).output, "ibnetdiscover").fabric, {}};
    const routing::SwitchGraph graph(result.fabric);
    result.theirs = routing::bind_tables(routing::parse_tables(run.lfts, "opensm-lfts.dump"), graph);
    return result;
}

std::size_t differing_entries(const routing::SwitchGraph& graph, const routing::Tables& a, const routing::Tables& b) {
    std::size_t count = 0;
    for (const routing::Destination& d : graph.destinations())
        for (unsigned k = 0; k < d.lid_count(); ++k)
            for (routing::SwitchIndex s = 0; s < graph.switch_count(); ++s) {
                const Lid lid{static_cast<std::uint16_t>(d.lid.value + k)};
                count += a.port(s, lid) != b.port(s, lid) ? 1 : 0;
            }
    return count;
}

void expect_same_tables(const Fabric& fabric, unsigned lmc) {
    const BesideOpensm beside = run_opensm(fabric, "minhop", lmc);
    const routing::SwitchGraph graph(beside.fabric);

    const routing::Tables ours = routing::route_minhop(graph, {}).tables;

    EXPECT_GT(graph.destinations().size(), 0u);
    EXPECT_TRUE(routing::check(graph, beside.theirs).examples.empty());
    EXPECT_EQ(differing_entries(graph, ours, beside.theirs), 0u);
}

TEST(MinHopBesideOpensm, FillsTheSameTablesOnATree) {
    expect_same_tables(fabric::pgft({{6, 8, 4}, {1, 3, 4}, {1, 2, 1}}), 0);
}

TEST(MinHopBesideOpensm, FillsTheSameTablesOnADamagedTree) {
    fabric::Damage what;
    what.links.share = 0.1;
    what.switches.count = 1;
    what.hosts.share = 0.2;
    expect_same_tables(fabric::damage(fabric::pgft(fabric::kary_tree(4, 3)), what).fabric, 0);
}

TEST(MinHopBesideOpensm, FillsTheSameTablesOnATorus) {
    expect_same_tables(fabric::torus({{4, 3, 2}, 3}), 0);
}

TEST(MinHopBesideOpensm, FillsTheSameTablesWithFourLidsAHost) {
    expect_same_tables(fabric::pgft({{4, 6}, {1, 3}, {1, 2}}), 2);
}

}  // namespace
}  // namespace loom::peer
