#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "fabric/generate/common.hpp"
#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"

namespace loom::fabric {

namespace {

using namespace generate;

using PortRef = std::pair<NodeId, PortNum>;

// A network as seen from outside: its free ports, in the order in which a larger one uses them.
using Box = std::vector<PortRef>;

class Builder {
public:
    explicit Builder(const Clos& p) : p_(p) {
        const unsigned share = p.up + p.down;
        require("the ports of a crossbar", p.crossbar, 254);
        require("the uplinks of the ratio", p.up, 254);
        require("the outer ports of the ratio", p.down, 254);
        require("the depth of the network", p.depth, 8);
        if (p.crossbar % share != 0)
            throw UsageError(
                fmt::format("a ratio of {}:{} does not split the {} ports of a crossbar", p.up, p.down, p.crossbar));
        split_ = {{p.crossbar, p.crossbar / share * p.down}};
        for (unsigned depth = 2; depth <= p.depth; ++depth) {
            const std::size_t size = times(largest(depth - 1), 1);
            if (size % 2 != 0)
                throw UsageError(fmt::format("a network of {} ports cannot be halved for depth {}", size, depth));
            split_.push_back({size, size / 2});
        }
    }

    // Ports of the largest network: a spine has as many ports as there are leaves.
    [[nodiscard]] std::size_t largest(unsigned depth) const {
        const Split& s = split_[depth - 1];
        return s.size * s.down;  // both at most max_nodes
    }

    Box build(Fabric& fabric, unsigned depth, std::size_t ports, const std::string& prefix) const {
        const Split split = split_[depth - 1];
        const std::size_t leaves = ports / split.down, up = split.size - split.down;
        const std::size_t spines = (leaves * up + split.size - 1) / split.size;
        const auto row = [&](std::size_t count, const char* what) {
            const Names name(prefix + what, count);
            std::vector<Box> boxes;
            for (std::size_t i = 0; i < count; ++i) boxes.push_back(part(fabric, depth, name(i)));
            return boxes;
        };
        const std::vector<Box> leaf = row(leaves, "leaf"), spine = row(spines, "spine");

        std::vector<std::size_t> used(spines, 0);
        for (std::size_t cable = 0; cable < leaves * up; ++cable) {
            const PortRef low = leaf[cable / up][split.down + cable % up];
            std::size_t top = (p_.uplinks == UplinkOrder::from_first ? cable % up : cable) % spines;
            while (used[top] == split.size) top = (top + 1) % spines;
            const PortRef high = spine[top][used[top]++];
            fabric.connect(low.first, low.second, high.first, high.second, p_.rate);
        }

        Box outer;
        for (std::size_t i = 0; i < leaves * split.down; ++i)
            outer.push_back(p_.outer == OuterPorts::by_leaf ? leaf[i / split.down][i % split.down]
                                                            : leaf[i % leaves][i / leaves]);
        return outer;
    }

private:
    struct Split {
        std::size_t size;  // ports of a part
        std::size_t down;  // of which lead out of the network when the part is a leaf
    };

    // What stands in the place of a switch: a crossbar or a whole network.
    Box part(Fabric& fabric, unsigned depth, const std::string& name) const {
        if (depth > 1) return build(fabric, depth - 1, largest(depth - 1), name + ".");
        const NodeId id = fabric.add_node(NodeKind::switch_, static_cast<std::uint8_t>(p_.crossbar), name);
        Box box;
        for (unsigned port = 1; port <= p_.crossbar; ++port) box.emplace_back(id, port_number(port));
        return box;
    }

    const Clos& p_;
    std::vector<Split> split_;  // by depth - 1
};

}  // namespace

Fabric clos(const Clos& p) {
    const Builder builder(p);
    const std::size_t most = builder.largest(p.depth), ports = p.ports == 0 ? most : p.ports;
    const std::size_t step = p.depth == 1 ? p.crossbar / (p.up + p.down) * p.down : builder.largest(p.depth - 1) / 2;
    (void)times(ports, 1);
    if (ports > most || ports % step != 0)
        throw UsageError(
            fmt::format("a {}:{} network of depth {} from {}-port crossbars has a multiple of {} ports, "
                        "at most {}; got {}",
                        p.up, p.down, p.depth, p.crossbar, step, most, ports));

    Fabric fabric;
    fabric.title =
        fmt::format("Clos {}:{}, {} ports, depth {}, {}-port crossbars", p.up, p.down, ports, p.depth, p.crossbar);
    Box outer = builder.build(fabric, p.depth, ports, "");
    std::sort(outer.begin(), outer.end());
    const std::uint32_t first = add_nodes(fabric, NodeKind::host, ports, 1, "host");
    for (std::size_t i = 0; i < ports; ++i)
        fabric.connect(NodeId{static_cast<std::uint32_t>(first + i)}, PortNum{1}, outer[i].first, outer[i].second,
                       p.rate);
    return fabric;
}

}  // namespace loom::fabric
