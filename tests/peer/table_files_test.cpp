// Table files between OpenSM, the diagnostic tools and Loomband: what one writes the other reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "loom/base/file.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/host_order_io.hpp"
#include "loom/fabric/io.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/table_io.hpp"
#include "peer/harness/opensm.hpp"

namespace loom::peer {
namespace {

using routing::SwitchGraph;
using routing::TableFormat;
using routing::Tables;
using testing::IsEmpty;

std::string as_ibsim(const fabric::Fabric& fabric) {
    std::ostringstream out;
    write_fabric(fabric, out, fabric::Format::ibsim);
    return out.str();
}

// The fabric as OpenSM has numbered it.
fabric::Fabric discovered(Subnet& subnet) {
    const Outcome outcome = subnet.tool({"ibnetdiscover"});
    EXPECT_TRUE(outcome.ok()) << outcome.errors;
    return fabric::parse_fabric(outcome.output, "ibnetdiscover").fabric;
}

Tables bound(std::string_view text, const SwitchGraph& graph, TableFormat expected) {
    const routing::TableFile file = routing::parse_tables(text, "dump");
    EXPECT_EQ(file.format, expected);
    std::vector<std::string> remarks;
    Tables tables = bind_tables(file, graph, &remarks);
    EXPECT_THAT(remarks, IsEmpty());
    return tables;
}

fabric::Fabric small_tree() {
    fabric::Pgft tree = fabric::kary_tree(3, 2);
    tree.hosts = 8;  // one place is empty
    return fabric::pgft(tree);
}

TEST(TableFiles, AllDumpsOfOneSubnetSayTheSame) {
    for (const unsigned lmc : {0u, 1u}) {
        Subnet subnet(as_ibsim(small_tree()));
        const OpensmRun run = subnet.opensm({.engine = "minhop", .lmc = lmc});
        const fabric::Fabric fabric = discovered(subnet);
        const SwitchGraph graph(fabric);

        const Tables from_opensm = bound(run.lfts, graph, TableFormat::opensm_lfts);
        const Tables from_tools = bound(subnet.tool({"dump_lfts"}).output, graph, TableFormat::dump_lfts);
        const Tables with_gaps = bound(subnet.tool({"dump_lfts", "-a"}).output, graph, TableFormat::dump_lfts);
        const Tables briefly = bound(subnet.tool({"dump_lfts", "-n"}).output, graph, TableFormat::dump_lfts);
        const Tables from_fdbs = bound(read_file(subnet.folder() / "opensm" / "opensm.fdbs"), graph, TableFormat::fdbs);

        EXPECT_GT(from_opensm.port(0, graph.top_lid()), 0);
        EXPECT_EQ(from_tools, from_opensm);
        EXPECT_EQ(with_gaps, from_opensm);
        EXPECT_EQ(briefly, from_opensm);
        EXPECT_EQ(from_fdbs, from_opensm);
    }
}

TEST(TableFiles, OpensmLoadsWhatLoombandWrites) {
    for (const unsigned lmc : {0u, 1u}) {
        for (const TableFormat format : {TableFormat::opensm_lfts, TableFormat::dump_lfts}) {
            Subnet subnet(as_ibsim(small_tree()));
            (void)subnet.opensm({.engine = "minhop", .lmc = lmc});
            const fabric::Fabric fabric = discovered(subnet);
            const SwitchGraph graph(fabric);
            routing::Routing routed = routing::find_engine("random").route(graph, {});
            routed.tables.engine.clear();
            const auto path = subnet.folder() / "tables";
            write_file(path, [&](std::ostream& out) { write_tables(routed.tables, graph, out, format); });

            const OpensmRun loaded = subnet.opensm({.engine = "file", .tables = path, .lmc = lmc});

            EXPECT_TRUE(loaded.came_up);
            EXPECT_EQ(loaded.engine_used, "file");
            EXPECT_THAT(loaded.errors, IsEmpty());
            EXPECT_EQ(bound(loaded.lfts, graph, TableFormat::opensm_lfts), routed.tables);
        }
    }
}

TEST(TableFiles, FdbsAreAsOpensmWritesThem) {
    Subnet subnet(as_ibsim(small_tree()));
    (void)subnet.opensm({.engine = "minhop"});
    const fabric::Fabric fabric = discovered(subnet);
    const SwitchGraph graph(fabric);
    const std::string theirs = read_file(subnet.folder() / "opensm" / "opensm.fdbs");

    std::ostringstream ours;
    write_tables(bound(theirs, graph, TableFormat::fdbs), graph, ours, TableFormat::fdbs);

    const auto sorted_lines = [](const std::string& text) {  // OpenSM's order of switches is its own
        std::vector<std::string> lines;
        std::istringstream in(text);
        for (std::string line; std::getline(in, line);) lines.push_back(line);
        std::sort(lines.begin(), lines.end());
        return lines;
    };
    EXPECT_EQ(sorted_lines(ours.str()), sorted_lines(theirs));
}

TEST(TableFiles, OpensmHostOrderIsRead) {
    Subnet subnet(as_ibsim(small_tree()));
    const OpensmRun run = subnet.opensm({.engine = "ftree"});
    const fabric::Fabric fabric = discovered(subnet);

    const auto order = fabric::parse_host_order(run.host_order, "order");
    const auto hosts = bind_host_order(order, fabric, "order");

    EXPECT_TRUE(fabric::is_host_order(run.host_order));
    EXPECT_EQ(order.size(), 9u);
    EXPECT_EQ(hosts.size(), 8u);
    for (std::size_t i = 1; i < hosts.size(); ++i)
        if (fabric.port(hosts[i].switch_port).node == fabric.port(hosts[i - 1].switch_port).node) {
            EXPECT_GT(fabric.port(hosts[i].switch_port).number, fabric.port(hosts[i - 1].switch_port).number);
        }
}

}  // namespace
}  // namespace loom::peer
