#include <fmt/format.h>

#include "fabric/generate/common.hpp"
#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::fabric {

using namespace generate;

Fabric dragonfly(const Dragonfly& p) {
    require("the routers of a group", p.routers, 254);
    require("the hosts of a router", p.hosts, 254);
    require("the global cables of a router", p.global, 254);
    const std::size_t channels = std::size_t{p.routers} * p.global;  // that leave a group
    const std::size_t groups = p.groups == 0 ? channels + 1 : p.groups;
    if (groups < 2 || groups > channels + 1)
        throw UsageError(fmt::format("{} routers with {} global cables join from 2 to {} groups, got {}", p.routers,
                                     p.global, channels + 1, groups));
    const std::size_t routers = times(groups, p.routers), hosts = times(routers, p.hosts);
    const std::uint8_t ports = switch_ports("a router", std::size_t{p.hosts} + p.routers - 1 + p.global, p.radix);

    Fabric fabric;
    fabric.title = fmt::format("dragonfly of {} groups of {} routers", groups, p.routers);
    const Names group_name("G", groups), router_name("-R", p.routers);
    for (std::size_t i = 0; i < routers; ++i)
        fabric.add_node(NodeKind::switch_, ports, group_name(i / p.routers) + router_name(i % p.routers));
    const auto router = [&](std::size_t group, std::size_t number) {
        return NodeId{static_cast<std::uint32_t>(group * p.routers + number)};
    };
    const std::uint32_t first = add_nodes(fabric, NodeKind::host, hosts, 1, "host");
    for (std::size_t i = 0; i < hosts; ++i)
        fabric.connect(NodeId{static_cast<std::uint32_t>(first + i)}, PortNum{1},
                       NodeId{static_cast<std::uint32_t>(i / p.hosts)}, port_number(1 + i % p.hosts), p.rate);

    for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t a = 0; a < p.routers; ++a)
            for (std::size_t b = a + 1; b < p.routers; ++b)
                fabric.connect(router(group, a), port_number(p.hosts + b), router(group, b),
                               port_number(p.hosts + 1 + a), p.rate);

    const std::size_t others = groups - 1, first_global = std::size_t{p.hosts} + p.routers;
    const auto connect_global = [&](std::size_t group, std::size_t channel, std::size_t peer, std::size_t back) {
        fabric.connect(router(group, channel / p.global), port_number(first_global + channel % p.global),
                       router(peer, back / p.global), port_number(first_global + back % p.global), p.rate);
    };
    for (std::size_t round = 0; round < channels / others; ++round)
        for (std::size_t group = 0; group < groups; ++group)
            for (std::size_t k = 0; k < others; ++k) {
                const bool absolute = p.arrangement == GlobalCables::absolute;
                const std::size_t peer = absolute ? (k < group ? k : k + 1) : (group + groups - k - 1) % groups;
                if (peer < group) continue;  // made from the other side
                const std::size_t back = absolute ? group : others - 1 - k;
                connect_global(group, round * others + k, peer, round * others + back);
            }
    return fabric;
}

}  // namespace loom::fabric
