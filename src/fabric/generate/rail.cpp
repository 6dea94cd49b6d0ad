#include <fmt/format.h>

#include "fabric/generate/common.hpp"
#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::fabric {

using namespace generate;

Fabric rail(const Rail& p) {
    require("the number of units", p.units);
    require("the servers of a unit", p.servers_per_unit, 254);
    require("the number of rails", p.rails, 254);
    require("the number of spines", p.spines, 254);
    require("the parallel cables between a leaf and a spine", p.parallel, 254);
    const bool own_spines = p.layout == RailSpines::per_rail;
    const std::size_t leaves = times(p.units, p.rails), places = times(p.units, p.servers_per_unit);
    const std::size_t spines = std::size_t{p.spines} * (own_spines ? p.rails : 1);
    const std::size_t leaves_of_spine = own_spines ? p.units : leaves;
    if (p.servers > places)
        throw UsageError(fmt::format("{} units of {} have places for {} servers, got {}", p.units, p.servers_per_unit,
                                     places, p.servers));
    const std::size_t servers = p.servers == 0 ? places : p.servers;
    (void)times(servers, p.rails);
    const auto leaf_ports = switch_ports("a leaf", p.servers_per_unit + std::size_t{p.spines} * p.parallel, p.radix);
    const auto spine_ports = switch_ports("a spine", times(leaves_of_spine, p.parallel), p.radix);

    Fabric fabric;
    fabric.title = fmt::format("{} units of {} servers on {} rails", p.units, p.servers_per_unit, p.rails);
    const Names unit_name("unit", p.units), leaf_name("-rail", p.rails);
    for (std::size_t i = 0; i < leaves; ++i)
        fabric.add_node(NodeKind::switch_, leaf_ports, unit_name(i / p.rails) + leaf_name(i % p.rails));
    const std::uint32_t first_spine = add_nodes(fabric, NodeKind::switch_, spines, spine_ports, "spine");

    const Names server_name("server", servers);
    for (std::size_t server = 0; server < servers; ++server)
        for (std::size_t adapter = 0; adapter < p.rails; ++adapter) {
            const NodeId host =
                fabric.add_node(NodeKind::host, 1, fmt::format("{} mlx5_{}", server_name(server), adapter));
            const std::size_t leaf = server / p.servers_per_unit * p.rails + adapter;
            fabric.connect(host, PortNum{1}, NodeId{static_cast<std::uint32_t>(leaf)},
                           port_number(1 + server % p.servers_per_unit), p.rate);
        }

    for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        const std::size_t group = own_spines ? leaf % p.rails * p.spines : 0;
        const std::size_t place = own_spines ? leaf / p.rails : leaf;
        for (std::size_t cable = 0; cable < p.parallel; ++cable)
            for (std::size_t spine = 0; spine < p.spines; ++spine)
                fabric.connect(NodeId{static_cast<std::uint32_t>(leaf)},
                               port_number(1 + p.servers_per_unit + cable * p.spines + spine),
                               NodeId{static_cast<std::uint32_t>(first_spine + group + spine)},
                               port_number(1 + cable * leaves_of_spine + place), p.rate);
    }
    return fabric;
}

}  // namespace loom::fabric
