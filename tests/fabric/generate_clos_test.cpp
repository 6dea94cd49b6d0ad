#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "loom/base/error.hpp"
#include "loom/fabric/presets.hpp"

namespace loom::fabric {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

double per_port(std::size_t count, std::size_t ports) {
    return static_cast<double>(count) / static_cast<double>(ports);
}

// Printed by the paper with three digits after the point, cut off or rounded.
bool agrees(double printed, double ours) {
    return std::abs(printed - ours) < 0.001;
}

TEST(Clos, EveryNetworkOfFigureII24HasThePrintedSwitchesAndCables) {
    struct Printed {
        double tau, nu;
    };
    const Printed figure[4][3] = {{{1.125, 5.00}, {0.825, 3.80}, {0.625, 3.00}},
                                  {{0.562, 5.00}, {171 * 21 / 10032.0, 3.36}, {0.312, 3.00}},  // printed 0.375 for 5:11
                                  {{0.375, 5.00}, {0.250, 3.50}, {0.208, 3.00}},
                                  {{0.281, 5.00}, {0.191, 3.57}, {0.156, 3.00}}};
    const std::map<std::size_t, Printed> shallow = {
        {384, {0.083, 1.50}}, {432, {0.069, 1.33}}, {512, {0.093, 2.00}}, {672, {0.063, 1.52}}, {768, {0.052, 1.333}}};
    const Printed deep[3] = {{3.375, 14.0}, {2.475, 10.4}, {1.875, 8.00}};
    const std::vector<Clos> networks = hoefler_fat_trees();
    ASSERT_EQ(networks.size(), 48);

    for (std::size_t i = 0; i < networks.size(); ++i) {
        const Fabric fabric = clos(networks[i]);

        const Printed printed = networks[i].depth == 1   ? shallow.at(networks[i].ports)
                                : networks[i].depth == 3 ? deep[i % 3]
                                                         : figure[i / 12][i % 3];
        const std::size_t hosts = fabric.nodes_of(NodeKind::host).size();
        EXPECT_EQ(hosts, networks[i].ports) << fabric.title;
        EXPECT_TRUE(agrees(printed.tau, per_port(fabric.nodes_of(NodeKind::switch_).size(), hosts))) << fabric.title;
        EXPECT_NEAR(printed.nu, per_port(fabric.link_count(), hosts), 0.0051) << fabric.title;
    }
}

// Cables between switches, by the part of their names before `separator`.
std::map<std::pair<std::string, std::string>, int> bundles(const Fabric& fabric) {
    const auto part = [&](NodeId id) {
        const std::string& name = fabric.node(id).name;
        return name.substr(0, name.find('.'));
    };
    std::map<std::pair<std::string, std::string>, int> result;
    for (const Port& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        const NodeId peer = fabric.port(port.peer).node;
        if (fabric.node(port.node).kind == NodeKind::host || fabric.node(peer).kind == NodeKind::host) continue;
        if (part(port.node) < part(peer)) ++result[{part(port.node), part(peer)}];
    }
    return result;
}

TEST(Clos, UplinksAreDealtEvenlyToTheSpines) {
    for (Clos network : hoefler_fat_trees()) {
        if (network.ports > 4000) continue;
        network.uplinks = UplinkOrder::in_turn;
        const Fabric fabric = clos(network);

        int fewest = 1 << 30, most = 0;
        for (const auto& [ends, cables] : bundles(fabric)) {
            fewest = std::min(fewest, cables);
            most = std::max(most, cables);
        }

        EXPECT_LE(most - fewest, 1) << fabric.title;
        for (const NodeId id : fabric.nodes_of(NodeKind::switch_))
            for (const Port& port : fabric.ports(id))
                EXPECT_TRUE(port.connected()) << describe(fabric, id, port.number);
    }
}

TEST(Clos, UplinksMayBeginAtTheFirstSpineOnEveryLeaf) {
    // Three uplinks a leaf, two spines: the first spine gets two of them until it is full.
    const Fabric fabric =
        clos({.crossbar = 8, .up = 3, .down = 5, .ports = 25, .depth = 1, .uplinks = UplinkOrder::from_first});

    std::vector<int> to_first_spine;
    for (std::uint32_t leaf = 0; leaf < 5; ++leaf) {
        int cables = 0;
        for (const Port& port : fabric.ports(NodeId{leaf}))
            cables += port.connected() && fabric.port(port.peer).node == NodeId{5} ? 1 : 0;
        to_first_spine.push_back(cables);
    }

    EXPECT_EQ(to_first_spine, (std::vector<int>{2, 2, 2, 2, 0}));
}

std::vector<int> hosts_by_switch(const Fabric& fabric) {
    std::vector<int> counts(fabric.nodes_of(NodeKind::switch_).size(), 0);
    for (const NodeId host : fabric.nodes_of(NodeKind::host))
        ++counts[fabric.port(fabric.port(host, PortNum{1}).peer).node.value];
    std::erase(counts, 0);
    return counts;
}

TEST(Clos, OuterPortsSpreadHostsOverCrossbarsOrFillThem) {
    Clos network{.crossbar = 8, .ports = 512, .depth = 2};

    const auto spread = hosts_by_switch(clos(network));
    network.outer = OuterPorts::by_leaf;
    const auto filled = hosts_by_switch(clos(network));

    EXPECT_EQ(spread, std::vector<int>(256, 2));
    EXPECT_EQ(filled, std::vector<int>(128, 4));
}

TEST(Clos, HalvingANetworkHalvesItsSpines) {
    const Fabric fabric = clos({.crossbar = 8, .ports = 16});

    EXPECT_EQ(fabric.nodes_of(NodeKind::switch_).size(), 6);
    EXPECT_EQ(fabric.link_count(), 32);
}

TEST(Clos, RefusesWhatCannotBeBuilt) {
    const auto refuses = [](const Clos& p, const char* why) {
        EXPECT_THAT([&] { (void)clos(p); }, ThrowsMessage<UsageError>(HasSubstr(why)));
    };

    refuses({.crossbar = 0}, "ports of a crossbar must be from 1");
    refuses({.crossbar = 8, .up = 1, .down = 2}, "1:2 does not split the 8 ports");
    refuses({.crossbar = 8, .ports = 33}, "a multiple of 4 ports, at most 32; got 33");
    refuses({.crossbar = 8, .ports = 500, .depth = 2}, "a multiple of 16 ports, at most 512; got 500");
    refuses({.crossbar = 3, .up = 2, .down = 1, .depth = 2}, "cannot be halved");
    refuses({.crossbar = 64, .ports = 1000, .depth = 8}, "more than");
    refuses({.crossbar = 8, .depth = 9}, "depth of the network must be from 1 to 8, got 9");
}

}  // namespace
}  // namespace loom::fabric
