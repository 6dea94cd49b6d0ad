// Small random fabrics for round-trip tests, and comparisons of what a format can carry.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"
#include "loom/fabric/io.hpp"

namespace loom::fabric::testing {

enum class Names { plain, printable, bytes };

struct Shape {
    Names names = Names::plain;
    bool routers = true;
    bool supported = true;  // ports know the best rate they could do
    bool chassis = true;
    bool lmc = true;
};

inline std::string random_name(Random& random, Names names, unsigned index) {
    std::string name = "n" + std::to_string(index);
    if (names == Names::plain) return name;
    const unsigned length = random.below(12);
    for (unsigned i = 0; i < length; ++i)
        name += static_cast<char>(names == Names::printable ? ' ' + random.below(95) : random.below(256));
    if (names == Names::bytes && random.below(8) == 0) name.clear();
    return name + (names == Names::printable ? "." : "");  // blanks at the end are not kept by every format
}

inline LinkRate random_rate(Random& random) {
    constexpr Width widths[] = {Width::x1, Width::x2, Width::x4, Width::x8, Width::x12};
    constexpr Speed speeds[] = {Speed::sdr, Speed::ddr, Speed::qdr, Speed::fdr10,
                                Speed::fdr, Speed::edr, Speed::hdr, Speed::ndr};
    return {widths[random.below(5)], speeds[random.below(8)]};
}

inline Fabric random_fabric(std::uint64_t seed, const Shape& shape = {}) {
    Random random(seed);
    Fabric fabric;
    fabric.title = "random";
    const unsigned nodes = 1 + random.below(12);
    for (unsigned i = 0; i < nodes; ++i) {
        const unsigned pick = random.below(shape.routers ? 5 : 4);
        const NodeKind kind = pick < 2 ? NodeKind::switch_ : pick < 4 ? NodeKind::host : NodeKind::router;
        const auto ports =
            static_cast<std::uint8_t>(kind == NodeKind::switch_ ? 1 + random.below(12) : 1 + random.below(2));
        const NodeId id = fabric.add_node(kind, ports, random_name(random, shape.names, i),
                                          Guid{0x2c9030000000000u + 0x100u * i + random.below(16) + 1});
        Node& node = fabric.node(id);
        node.vendor = random.below(0x1000000);
        node.device = random.below(0x10000);
        if (random.below(3) == 0) node.system_guid = Guid{random() >> 1 | 1};
        node.enhanced_port0 = kind == NodeKind::switch_ && random.below(2) == 0;
        if (shape.chassis && random.below(4) == 0) {
            node.chassis = static_cast<std::uint16_t>(1 + random.below(3));
            if (kind == NodeKind::switch_) node.chassis_slot = "Spine " + std::to_string(random.below(9)) + " Chip 1";
        }
    }
    for (unsigned tries = 0; tries < 40; ++tries) {
        const NodeId a{random.below(nodes)}, b{random.below(nodes)};
        const PortNum pa{static_cast<std::uint8_t>(1 + random.below(fabric.node(a).ports))};
        const PortNum pb{static_cast<std::uint8_t>(1 + random.below(fabric.node(b).ports))};
        if (fabric.port(a, pa).connected() || fabric.port(b, pb).connected() || (a == b && pa == pb)) continue;
        fabric.connect(a, pa, b, pb, random_rate(random));
        if (shape.supported) {
            fabric.port(a, pa).supported = random_rate(random);
            fabric.port(b, pb).supported = random_rate(random);
        }
    }
    fabric.assign_lids(static_cast<std::uint8_t>(shape.lmc ? random.below(3) : 0));
    return fabric;
}

inline std::string written(const Fabric& fabric, Format format, const WriteOptions& options = {}) {
    std::ostringstream out;
    write_fabric(fabric, out, format, options);
    return out.str();
}

inline Reading round_trip(const Fabric& fabric, Format format, const WriteOptions& options = {}) {
    return parse_fabric(written(fabric, format, options), "test", format);
}

// Every field of every node and port, by position.
inline void expect_equal(const Fabric& a, const Fabric& b) {
    ASSERT_EQ(a.node_count(), b.node_count());
    ASSERT_EQ(a.port_count(), b.port_count());
    EXPECT_EQ(a.link_count(), b.link_count());
    EXPECT_EQ(a.title, b.title);
    for (std::uint32_t i = 0; i < a.node_count(); ++i) {
        const Node& x = a.node(NodeId{i});
        const Node& y = b.node(NodeId{i});
        EXPECT_EQ(std::tie(x.name, x.guid, x.system_guid, x.vendor, x.device, x.first_port, x.chassis, x.kind, x.ports,
                           x.enhanced_port0, x.chassis_slot),
                  std::tie(y.name, y.guid, y.system_guid, y.vendor, y.device, y.first_port, y.chassis, y.kind, y.ports,
                           y.enhanced_port0, y.chassis_slot));
    }
    for (std::uint32_t i = 0; i < a.port_count(); ++i) {
        const Port& x = a.port(PortIndex{i});
        const Port& y = b.port(PortIndex{i});
        EXPECT_EQ(std::tie(x.node, x.peer, x.guid, x.lid, x.lmc, x.number),
                  std::tie(y.node, y.peer, y.guid, y.lid, y.lmc, y.number))
            << "port " << i;
        EXPECT_TRUE(x.rate == y.rate && x.supported == y.supported)
            << "port " << i << ": " << to_string(x.rate) << " " << to_string(y.rate);
    }
}

// Cables by the names and numbers of their ends, each once, sorted; rates too when asked for.
enum class Rates { compare, ignore };
inline std::vector<std::string> cables(const Fabric& fabric, Rates rates = Rates::compare) {
    std::vector<std::string> result;
    for (const Port& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        const Port& peer = fabric.port(port.peer);
        const std::string a = describe(fabric, port.node, port.number), b = describe(fabric, peer.node, peer.number);
        if (a < b) result.push_back(a + " - " + b + (rates == Rates::compare ? " " + to_string(port.rate) : ""));
    }
    std::sort(result.begin(), result.end());
    return result;
}

// The line and the message of the ParseError that reading must end with.
struct Refusal {
    std::size_t line;
    std::string message;
};
inline Refusal refusal(std::string_view text, Format format) {
    try {
        (void)parse_fabric(text, "bad", format);
    } catch (const ParseError& error) {
        return {error.line(), error.what()};
    }
    return {9999, "accepted"};
}

}  // namespace loom::fabric::testing

#define EXPECT_REFUSED(text, format, at_line, words)                                   \
    do {                                                                               \
        const auto refused = ::loom::fabric::testing::refusal(text, format);           \
        EXPECT_EQ(refused.line, static_cast<std::size_t>(at_line)) << refused.message; \
        EXPECT_NE(refused.message.find(words), std::string::npos) << refused.message;  \
    } while (false)
