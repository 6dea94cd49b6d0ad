// Small fabrics for tests: by hand, or drawn at random.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/fabric/fabric.hpp"

namespace loom::reference {

// Adds cables port by port: each node's lowest free port is used next.
class Wiring {
public:
    fabric::Fabric fabric;

    NodeId add_switch(std::string name, unsigned ports = 36) {
        return fabric.add_node(fabric::NodeKind::switch_, static_cast<std::uint8_t>(ports), std::move(name));
    }
    NodeId add_host(NodeId sw, std::string name = {}) {
        if (name.empty()) name = fmt::format("host-{}", fabric.node_count());
        const NodeId host = fabric.add_node(fabric::NodeKind::host, 1, std::move(name));
        join(sw, host);
        return host;
    }
    bool has_free_port(NodeId node) const {
        for (const auto& port : fabric.ports(node))
            if (!port.connected()) return true;
        return false;
    }
    void join(NodeId a, NodeId b) {
        const PortNum pa = free_port(a);
        PortNum pb = free_port(b);
        if (a == b) pb = PortNum{static_cast<std::uint8_t>(pa.value + 1)};
        fabric.connect(a, pa, b, pb);
    }

private:
    PortNum free_port(NodeId node) const {
        for (const auto& port : fabric.ports(node))
            if (!port.connected()) return port.number;
        return PortNum{255};  // connect() reports it
    }
};

// `leaves` switches with `hosts` each, every leaf joined to each of `roots` by `parallel` cables.
inline fabric::Fabric two_level_tree(unsigned leaves, unsigned hosts, unsigned roots, unsigned parallel = 1,
                                     std::uint8_t lmc = 0) {
    Wiring w;
    std::vector<NodeId> leaf, root;
    for (unsigned i = 0; i < leaves; ++i) leaf.push_back(w.add_switch(fmt::format("leaf-{}", i)));
    for (unsigned i = 0; i < roots; ++i) root.push_back(w.add_switch(fmt::format("root-{}", i)));
    for (const NodeId l : leaf) {
        for (unsigned i = 0; i < hosts; ++i) w.add_host(l);
        for (const NodeId r : root)
            for (unsigned i = 0; i < parallel; ++i) w.join(l, r);
    }
    w.fabric.assign_lids(lmc);
    return std::move(w.fabric);
}

inline fabric::Fabric torus(unsigned width, unsigned height, unsigned hosts) {
    Wiring w;
    std::vector<NodeId> sw;
    for (unsigned i = 0; i < width * height; ++i) sw.push_back(w.add_switch(fmt::format("switch-{}", i)));
    for (unsigned y = 0; y < height; ++y)
        for (unsigned x = 0; x < width; ++x) {
            if (width > 1) w.join(sw[y * width + x], sw[y * width + (x + 1) % width]);
            if (height > 1) w.join(sw[y * width + x], sw[(y + 1) % height * width + x]);
        }
    for (const NodeId s : sw)
        for (unsigned i = 0; i < hosts; ++i) w.add_host(s);
    w.fabric.assign_lids();
    return std::move(w.fabric);
}

// Anything: parallel cables, switches without hosts, now and then several pieces.
inline fabric::Fabric random_fabric(std::uint64_t seed, unsigned most_switches = 12) {
    Random random(seed);
    Wiring w;
    const unsigned switches = 1 + random.below(most_switches);
    std::vector<NodeId> sw;
    for (unsigned i = 0; i < switches; ++i) sw.push_back(w.add_switch(fmt::format("s{}", i), 8 + random.below(9)));
    const bool whole = random.below(4) != 0;
    for (unsigned i = 1; i < switches; ++i) {
        const NodeId other = sw[random.below(i)];
        if ((whole || random.below(5) != 0) && w.has_free_port(other)) w.join(sw[i], other);
    }
    for (unsigned i = random.below(2 * switches + 1); i > 0; --i) {
        const NodeId a = sw[random.below(switches)];
        const NodeId b = sw[random.below(switches)];
        if (a != b && w.has_free_port(a) && w.has_free_port(b)) w.join(a, b);
    }
    for (const NodeId s : sw)
        for (unsigned i = random.below(4); i > 0 && w.has_free_port(s); --i) w.add_host(s);
    w.fabric.assign_lids(random.below(5) == 0 ? 1 : 0);
    return std::move(w.fabric);
}

// Pulls `count` random cables between switches.
inline void pull_cables(fabric::Fabric& fabric, unsigned count, std::uint64_t seed) {
    Random random(seed);
    for (unsigned i = 0; i < count; ++i) {
        std::vector<PortIndex> cables;
        for (std::uint32_t p = 0; p < fabric.port_count(); ++p) {
            const fabric::Port& port = fabric.port(PortIndex{p});
            if (!port.connected() || port.peer.value < p) continue;
            if (fabric.node(port.node).kind != fabric::NodeKind::switch_) continue;
            if (fabric.node(fabric.port(port.peer).node).kind != fabric::NodeKind::switch_) continue;
            cables.push_back(PortIndex{p});
        }
        if (cables.empty()) return;
        const fabric::Port& port = fabric.port(cables[random.below(static_cast<std::uint32_t>(cables.size()))]);
        fabric.disconnect(port.node, port.number);
    }
}

}  // namespace loom::reference
