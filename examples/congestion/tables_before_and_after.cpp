// A switch dies. The old tables are read from a file and repaired; most of their entries stay.
#include <cstdio>
#include <fstream>

#include "loom/base/file.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/check.hpp"
#include "loom/routing/reroute.hpp"
#include "loom/routing/routed.hpp"

int main() try {
    using namespace loom;
    const char* file = "before.lft";
    fabric::Fabric tree = fabric::pgft(fabric::kary_tree(4, 3));
    tree.assign_lids();
    const routing::SwitchGraph whole(tree);
    const routing::Tables tables = routing::find_engine("ftree").route(whole, {}).tables;
    write_file(
        file, [&](std::ostream& out) { routing::write_tables(tables, whole, out, routing::TableFormat::opensm_lfts); });

    routing::RoutedFabric after;
    after.fabric = fabric::damage(tree, {.nodes = {"L2-05"}}).fabric;
    routing::Sources sources;
    sources.tables = file;
    sources.fit = routing::Fit::changed;
    routing::open(after, sources);
    for (const std::string& remark : after.remarks) std::printf("%s\n", remark.c_str());

    const bool still_good = routing::check(*after.graph, after.tables).ok();
    const routing::Rerouted repaired = routing::reroute(*after.graph, after.tables, {});
    const bool good = routing::check(*after.graph, repaired.tables).ok();
    std::printf("old tables: %s; %zu of %zu entries changed, %zu of them had to; new tables: %s\n",
                still_good ? "good" : "not good", repaired.changed, repaired.entries, repaired.unavoidable,
                good ? "good" : "not good");
    std::remove(file);
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
