#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "fabric/generate/common.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::fabric {

using namespace generate;

Fabric torus(const Torus& p) {
    require("the number of dimensions", p.dimensions.size(), 16);
    require("the parallel cables between neighbours", p.parallel, 254);
    require("the hosts of a switch", p.hosts_per_switch, 254);
    std::size_t switches = 1, used = p.hosts_per_switch;
    for (const unsigned size : p.dimensions) {
        require("the size of a dimension", size);
        switches = times(switches, size);
        used += size > 1 ? 2 * std::size_t{p.parallel} : 0;
    }
    const std::size_t hosts = times(switches, p.hosts_per_switch);
    const std::uint8_t ports = switch_ports("a switch of the grid", used, p.radix);

    Fabric fabric;
    fabric.title = fmt::format("{} {}", fmt::join(p.dimensions, " x "), p.wrap == Wrap::torus ? "torus" : "mesh");
    std::vector<std::size_t> at(p.dimensions.size(), 0);
    for (std::size_t i = 0; i < switches; ++i) {
        std::string name = "S";
        for (std::size_t d = 0; d < at.size(); ++d) name += Names("-", p.dimensions[d])(at[d]);
        fabric.add_node(NodeKind::switch_, ports, name);
        for (std::size_t d = at.size(); d-- > 0;) {
            if (++at[d] < p.dimensions[d]) break;
            at[d] = 0;
        }
    }
    const std::uint32_t first = add_nodes(fabric, NodeKind::host, hosts, 1, "host");
    for (std::size_t i = 0; i < hosts; ++i)
        fabric.connect(NodeId{static_cast<std::uint32_t>(first + i)}, PortNum{1},
                       NodeId{static_cast<std::uint32_t>(i / p.hosts_per_switch)},
                       port_number(1 + i % p.hosts_per_switch), p.rate);

    std::size_t onwards = p.hosts_per_switch + 1;  // first port of the dimension's cables onwards
    std::size_t stride = switches;
    for (const unsigned size : p.dimensions) {
        stride /= size;
        if (size == 1) continue;
        for (std::size_t i = 0; i < switches; ++i) {
            const std::size_t place = i / stride % size;
            const bool last = place + 1 == size;
            if (last && (p.wrap == Wrap::mesh || size == 2)) continue;
            const std::size_t next = last ? i - place * stride : i + stride;
            for (std::size_t cable = 0; cable < p.parallel; ++cable)
                fabric.connect(NodeId{static_cast<std::uint32_t>(i)}, port_number(onwards + cable),
                               NodeId{static_cast<std::uint32_t>(next)}, port_number(onwards + p.parallel + cable),
                               p.rate);
        }
        onwards += 2 * std::size_t{p.parallel};
    }
    return fabric;
}

}  // namespace loom::fabric
