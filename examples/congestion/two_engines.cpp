// One tree with a broken cable, routed by two engines: who makes how many flows share a link?
#include <cstdio>

#include "loom/congestion/contention.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/routing/engine.hpp"
#include "loom/traffic/catalogue.hpp"

int main() try {
    using namespace loom;
    fabric::Damage broken;
    broken.cables = {{"L0-03", PortNum{7}}};  // one of the four cables up from the fourth leaf
    fabric::Fabric tree = fabric::damage(fabric::pgft(fabric::kary_tree(4, 3)), broken).fabric;
    tree.assign_lids();

    const routing::SwitchGraph graph(tree);
    const fabric::Placement ranks = fabric::place_in_order(tree);
    const auto shift = traffic::make_pattern("shift", ranks.ranks());
    std::printf("%zu hosts, %u switches, pattern %s\n", ranks.ranks(), graph.switch_count(), shift->name().c_str());
    for (const char* engine : {"minhop", "ftree"}) {
        const routing::Routing made = routing::find_engine(engine).route(graph, {});
        const congestion::Routes routes(graph, made.tables, ranks);
        const congestion::Contention found = congestion::contention(routes, *shift);
        std::printf("%-6s  worst %u flows on a link, %.2f in the mean of %zu stages\n", engine, found.worst, found.mean,
                    found.per_stage.size());
        for (const congestion::HotLink& hot : congestion::hottest(routes, found, 1, congestion::HostLinks::ignore))
            std::printf("        hottest: %s\n", routes.describe(hot.link).c_str());
    }
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
