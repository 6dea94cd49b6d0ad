#include "loom/fabric/damage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "loom/base/error.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/oddities.hpp"

namespace loom::fabric {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Fabric tree() {
    Fabric fabric = pgft(kary_tree(4, 3));
    fabric.assign_lids();
    return fabric;
}

// A cable by what does not depend on the order of nodes: GUIDs (and ports).
using Ends = std::pair<std::pair<std::uint64_t, unsigned>, std::pair<std::uint64_t, unsigned>>;
std::multiset<Ends> cables(const Fabric& fabric, bool with_ports) {
    std::multiset<Ends> result;
    for (const Port& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        const Port& peer = fabric.port(port.peer);
        EXPECT_EQ(fabric.port(peer.peer).number, port.number);
        result.insert({{fabric.node(port.node).guid.value, with_ports ? port.number.value : 0u},
                       {fabric.node(peer.node).guid.value, with_ports ? peer.number.value : 0u}});
    }
    return result;
}

std::map<std::uint64_t, std::uint16_t> lids(const Fabric& fabric) {
    std::map<std::uint64_t, std::uint16_t> result;
    for (const Port& port : fabric.all_ports())
        if (port.lid != no_lid) result[port.guid.value] = port.lid.value;
    return result;
}

TEST(Damage, TakesExactlyWhatIsAskedAndKeepsIdentities) {
    const Fabric whole = tree();

    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Damaged result = damage(whole, {.seed = seed, .switches = {2}, .hosts = {5}, .links = {.share = 0.05}});

        EXPECT_EQ(result.switches.size(), 2);
        EXPECT_EQ(result.hosts.size(), 5);
        EXPECT_EQ(result.links.size(), 10);  // 5% of 192, to the nearest
        EXPECT_EQ(result.fabric.node_count(), whole.node_count() - 7);
        const auto before = cables(whole, true), after = cables(result.fabric, true);
        EXPECT_TRUE(std::ranges::includes(before, after));
        EXPECT_EQ(after.size(), 2 * result.fabric.link_count());
        const auto old_lids = lids(whole);
        for (const auto& [guid, lid] : lids(result.fabric)) EXPECT_EQ(old_lids.at(guid), lid);
        for (const NodeId id : result.fabric.nodes_of(NodeKind::host))
            EXPECT_TRUE(result.fabric.port(id, PortNum{1}).connected());
    }
}

TEST(Damage, SameSeedSameDamage) {
    const Fabric whole = tree();
    const Damage what{.seed = 9, .switches = {1}, .links = {6}, .slow_links = {3}};

    const Damaged first = damage(whole, what), second = damage(whole, what);
    Damage other = what;
    other.seed = 10;

    EXPECT_EQ(first.links, second.links);
    EXPECT_EQ(first.switches, second.switches);
    EXPECT_EQ(first.slow, second.slow);
    EXPECT_EQ(cables(first.fabric, true), cables(second.fabric, true));
    EXPECT_NE(damage(whole, other).links, first.links);
}

TEST(Damage, AHostKeepsItsLastCableUnlessAskedOtherwise) {
    const Fabric whole = pgft(kary_tree(2, 2));  // 4 host cables, 4 between switches

    const Damaged all = damage(whole, {.links = {.share = 1}, .last_cable = LastCable::take});

    EXPECT_THAT([&] { (void)damage(whole, {.links = {5}}); },
                ThrowsMessage<UsageError>(HasSubstr("only 4 can go while every host keeps a cable")));
    EXPECT_THAT([&] { (void)damage(whole, {.switches = {3}}); },
                ThrowsMessage<UsageError>(HasSubstr("cannot take 3 switches: only 2")));
    EXPECT_EQ(all.fabric.node_count(), 0);
    EXPECT_EQ(all.links.size(), 8);
    EXPECT_EQ(all.hosts.size(), 4);
    EXPECT_EQ(all.switches.size(), 4);
}

TEST(Damage, ALeafTakesItsHostsAlong) {
    const Damaged result = damage(tree(), {.nodes = {"L0-03"}});

    EXPECT_EQ(result.switches, std::vector<std::string>{"L0-03"});
    EXPECT_THAT(result.hosts, testing::ElementsAre("host12", "host13", "host14", "host15"));
    EXPECT_TRUE(result.links.empty());
}

TEST(Damage, NamedCablesAndGuidsAreFound) {
    const Fabric whole = tree();
    const std::string guid = to_string(whole.node(NodeId{20}).guid);

    const Damaged result = damage(whole, {.nodes = {guid}, .cables = {{"L0-00", PortNum{5}}}});

    EXPECT_EQ(result.switches, std::vector<std::string>{whole.node(NodeId{20}).name});
    EXPECT_EQ(result.links, std::vector<std::string>{"L0-00 port 5 - L1-00 port 1"});
    EXPECT_THAT([&] { (void)damage(whole, {.nodes = {"nobody"}}); },
                ThrowsMessage<UsageError>(HasSubstr("no node called \"nobody\"")));
    EXPECT_THAT(
        [&] {
            (void)damage(whole, {.nodes = {}, .cables = {{"L0-00", PortNum{9}}}});
        },
        ThrowsMessage<UsageError>(HasSubstr("no cable is plugged into L0-00 port 9")));
}

TEST(Damage, SlowLinksRememberWhatTheySupport) {
    const Damaged result = damage(tree(), {.slow_links = {7}});

    std::size_t slow = 0;
    for (const Port& port : result.fabric.all_ports())
        if (port.supported != LinkRate{}) {
            ++slow;
            EXPECT_EQ(to_string(port.rate), "1xQDR");
            EXPECT_EQ(to_string(port.supported), "4xQDR");
        }
    EXPECT_EQ(slow, 14);
    EXPECT_EQ(result.slow.size(), 7);
}

TEST(Damage, SlowLinksDoNotForgetWhatWasKnownOfThem) {
    Fabric fast = tree();
    for (std::uint32_t i = 0; i < fast.port_count(); ++i)
        if (Port& port = fast.port(PortIndex{i}); port.connected()) port.supported = {Width::x4, Speed::hdr};

    const Damaged result = damage(fast, {.slow_links = {7}});

    std::size_t known = 0;
    for (const Port& port : result.fabric.all_ports())
        known += port.connected() && port.supported == LinkRate{Width::x4, Speed::hdr};
    EXPECT_EQ(known, 2 * result.fabric.link_count());
}

TEST(Damage, SharesBeyondAllAreRefused) {
    EXPECT_THAT([] { (void)damage(tree(), {.links = {.share = 1.5}}); },
                ThrowsMessage<UsageError>(HasSubstr("0% to 100%, got 150%")));
    EXPECT_EQ((Amount{.share = 0.5}).of(3), 2);
    EXPECT_EQ((Amount{.count = 4, .share = 0.5}).of(3), 4);
}

TEST(Oddities, ShuffledFabricIsTheSameFabric) {
    const Fabric whole = tree();

    const Fabric nodes = shuffled(whole, 3, Shuffle::nodes);
    const Fabric ports = shuffled(whole, 3);

    EXPECT_EQ(cables(nodes, true), cables(whole, true));
    EXPECT_EQ(cables(ports, false), cables(whole, false));
    EXPECT_NE(cables(ports, true), cables(whole, true));
    EXPECT_EQ(lids(ports), lids(whole));
    EXPECT_NE(nodes.node(NodeId{0}).name + nodes.node(NodeId{1}).name,
              whole.node(NodeId{0}).name + whole.node(NodeId{1}).name);
}

TEST(Oddities, EverySwitchGetsAnAggregationNodeOnOnePortMore) {
    const Fabric whole = tree();

    const Fabric fabric = with_aggregation_nodes(whole);

    EXPECT_EQ(fabric.node_count(), whole.node_count() + 48);
    EXPECT_EQ(fabric.link_count(), whole.link_count() + 48);
    for (const NodeId id : fabric.nodes_of(NodeKind::switch_)) {
        EXPECT_EQ(fabric.node(id).ports, whole.node(id).ports + 1);
        const Port& last = fabric.port(id, PortNum{fabric.node(id).ports});
        EXPECT_EQ(fabric.node(fabric.port(last.peer).node).name, "Mellanox Technologies Aggregation Node");
    }
}

TEST(Oddities, ManagementHostsGoToTheTopSwitchesInTurn) {
    Pgft parameters = kary_tree(2, 2);
    parameters.radix = 4;
    Fabric fabric = pgft(parameters);

    add_management_hosts(fabric, 3);

    std::vector<std::string> where;
    for (const NodeId id : fabric.nodes_of(NodeKind::host))
        if (fabric.node(id).name.starts_with("mgmt")) {
            const Port& port = fabric.port(fabric.port(id, PortNum{1}).peer);
            where.push_back(describe(fabric, port.node, port.number));
        }
    EXPECT_THAT(where, testing::ElementsAre("L1-0 port 4", "L1-1 port 4", "L1-0 port 3"));
    EXPECT_THAT([&] { add_management_hosts(fabric, 20); },
                ThrowsMessage<UsageError>(HasSubstr("hosts only, not for 20")));
}

TEST(Oddities, SwappedCablesKeepTheirOtherEnds) {
    Fabric fabric = tree();
    const Port first = fabric.port(NodeId{0}, PortNum{5}), second = fabric.port(NodeId{0}, PortNum{7});

    swap_cables(fabric, NodeId{0}, PortNum{5}, PortNum{7});

    EXPECT_EQ(fabric.port(NodeId{0}, PortNum{7}).peer, first.peer);
    EXPECT_EQ(fabric.port(NodeId{0}, PortNum{5}).peer, second.peer);
    EXPECT_EQ(fabric.link_count(), tree().link_count());
}

TEST(Damage, FindsANodeByItsGuidInAnyForm) {
    Fabric whole = tree();
    const Guid guid{0x5442b100004900};
    whole.add_node(NodeKind::switch_, 4, "odd one", guid);
    const char* forms[] = {"0x005442b100004900", "0x5442b100004900",   "5442b100004900",
                           "0X5442B100004900",   "S-005442b100004900", "odd one"};

    for (const char* form : forms) {
        const Damaged result = damage(whole, {.nodes = {form}});

        EXPECT_THAT(result.switches, testing::ElementsAre("odd one")) << form;
    }
    EXPECT_THAT([&] { (void)damage(whole, {.nodes = {"0x5442b1000049zz"}}); },
                ThrowsMessage<UsageError>(HasSubstr("there is no node called")));
}

TEST(Damage, AsksForAGuidWhenANameIsNotUnique) {
    Fabric whole = tree();
    whole.add_node(NodeKind::host, 1, "twin", Guid{0x10});
    whole.add_node(NodeKind::host, 1, "twin", Guid{0x20});

    EXPECT_THAT(
        [&] { (void)damage(whole, {.nodes = {"twin"}}); },
        ThrowsMessage<UsageError>(HasSubstr("2 nodes are called \"twin\"; give a GUID, such as 0x0000000000000010")));
    EXPECT_EQ(damage(whole, {.nodes = {"0x20"}}).hosts.front(), "twin");
}

}  // namespace
}  // namespace loom::fabric
