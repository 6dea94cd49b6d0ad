// A collective's own schedule, counted by `congestion` before and after its ranks were renumbered for the fabric.
#include <gtest/gtest.h>

#include <map>

#include "loom/coll/algorithm.hpp"
#include "loom/congestion/mapping.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/fabric/presets.hpp"
#include "loom/routing/engine.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::reproduce {
namespace {

// Rounds are told by tags. `members[i]` is the process that is rank i.
traffic::PatternPtr pattern_of(const traffic::Schedule& schedule, std::span<const std::uint32_t> members) {
    std::map<std::uint32_t, std::string> rounds;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
        for (const traffic::Op& op : schedule.ops(Rank{rank}))
            if (op.kind == traffic::OpKind::send)
                rounds[op.tag] += std::to_string(members[rank]) + " " + std::to_string(members[op.peer.value]) + "\n";
    std::string text;
    for (const auto& [tag, pairs] : rounds) text += pairs + "\n";
    return traffic::read_pairs(text, "schedule", schedule.ranks());
}

TEST(Renumbering, OfAnAllgatherLowersItsContention) {
    fabric::Fabric fabric = fabric::pgft(fabric::kary_tree(4, 2));
    fabric.assign_lids();
    const routing::SwitchGraph graph(fabric);
    const routing::Tables tables = routing::find_engine("random").route(graph, {}).tables;
    const congestion::Routes routes(graph, tables, fabric::place_in_order(fabric));
    const std::vector<std::uint32_t> hosts(16);
    coll::Group group;
    group.size = 16;
    group.hosts = hosts;
    coll::Call call;
    call.what = coll::Collective::allgather;
    call.bytes = 1024;
    const traffic::Schedule schedule =
        whole_schedule(coll::find_algorithm(call.what, "bruck"), group, std::span(&call, 1));
    std::vector<std::uint32_t> same(16);
    for (std::uint32_t i = 0; i < 16; ++i) same[i] = i;
    const auto before = pattern_of(schedule, same);
    congestion::MapOptions options;
    options.moves = 20'000;

    const congestion::Remapping found = congestion::optimise_mapping(routes, *before, options);
    const auto after = pattern_of(schedule, found.mapping);

    const congestion::MapMetrics was = congestion::measure_mapping(routes, *before, same);
    const congestion::MapMetrics is = congestion::measure_mapping(routes, *after, same);
    EXPECT_LT(is.sum_of_routes, was.sum_of_routes);
    EXPECT_EQ(is.sum_of_routes, found.after.sum_of_routes);
}

}  // namespace
}  // namespace loom::reproduce
