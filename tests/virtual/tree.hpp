// A small routed tree with ranks on it.
#pragma once

#include "loom/fabric/generate.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/routed.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::twin {

// 64 hosts in three levels, routed by ftree; `ranks` on the first hosts, so many on each.
struct Tree : routing::RoutedFabric {
    explicit Tree(std::uint32_t ranks, std::uint32_t on_each_host = 1) {
        fabric = fabric::pgft(fabric::kary_tree(4, 3));
        routing::open(*this, {.engine = &routing::find_engine("ftree"), .expects_lids = false});
        std::vector<std::string> odd;
        const fabric::Placement all = fabric::place_ranks(fabric, {}, odd);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) placement.hosts.push_back(all.hosts.at(rank / on_each_host));
    }
    [[nodiscard]] sim::Network network() const { return {graph.get(), &tables, placement}; }

    fabric::Placement placement;
};

}  // namespace loom::twin
