#include "loom/fabric/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "loom/fabric/lid_use.hpp"

namespace loom::fabric {

namespace {

class Summariser {
public:
    Summariser(const Fabric& fabric, const Levels& levels) : fabric_(fabric), levels_(levels) {}

    Summary run() {
        count_nodes();
        count_links();
        count_levels();
        find_laggards();
        find_subnets();
        write_remarks();
        return std::move(result_);
    }

private:
    [[nodiscard]] bool is_switch(NodeId id) const { return fabric_.node(id).kind == NodeKind::switch_; }
    [[nodiscard]] NodeId peer_of(const Port& port) const { return fabric_.port(port.peer).node; }

    [[nodiscard]] std::string cable(const Port& port) const {
        const Port& peer = fabric_.port(port.peer);
        return describe(fabric_, port.node, port.number) + " - " + describe(fabric_, peer.node, peer.number);
    }

    void count_nodes() {
        for (const Node& node : fabric_.nodes()) {
            switch (node.kind) {
                case NodeKind::switch_:
                    ++result_.switches;
                    ++result_.radix[node.ports];
                    break;
                case NodeKind::router:
                    ++result_.routers;
                    break;
                case NodeKind::host:
                    ++(is_aggregation_node(node) ? result_.aggregation_nodes : result_.hosts);
                    break;
            }
        }
        for (const Port& port : fabric_.all_ports()) {
            if (port.lid == no_lid) continue;
            result_.lids += std::size_t{1} << port.lmc;
            result_.lmc = std::max<unsigned>(result_.lmc, port.lmc);
        }
    }

    void count_links() {
        for (std::uint32_t i = 0; i < fabric_.port_count(); ++i) {
            const Port& port = fabric_.port(PortIndex{i});
            if (!port.connected() || port.peer < PortIndex{i}) continue;
            ++(is_switch(port.node) && is_switch(peer_of(port)) ? result_.switch_links : result_.host_links);
            host_on_switch_ |= is_switch(port.node) != is_switch(peer_of(port));
            ++result_.rates[to_string(port.rate)];
            const LinkRate best = port.supported;
            if (best.megabits() > port.rate.megabits() && port.rate.megabits() != 0)
                result_.slow.push_back({cable(port), port.rate, best});
            result_.support_unknown += best.megabits() == 0;
            loops_ += port.node == peer_of(port);
        }
        rates_known_ = std::ranges::none_of(result_.rates,
                                            [](const auto& rate) { return rate.first.find('?') != std::string::npos; });
    }

    void count_levels() {
        std::size_t levels = 0;
        for (const std::uint8_t level : levels_.level)
            if (level != no_level) levels = std::max<std::size_t>(levels, level + 1u);
        result_.levels.resize(levels);
        std::vector<double> below(levels, 0), above(levels, 0);
        for (std::uint32_t i = 0; i < fabric_.node_count(); ++i) {
            const std::uint8_t level = levels_.level[i];
            if (level == no_level) continue;
            LevelSummary& all = result_.levels[level];
            std::size_t hosts = 0, up = 0;
            for (const Port& port : fabric_.ports(NodeId{i})) {
                if (!port.connected()) {
                    ++all.open_ports;
                    continue;
                }
                const NodeId peer = peer_of(port);
                if (is_aggregation_node(fabric_.node(peer))) continue;
                const double capacity = rates_known_ ? port.rate.megabits() : 1;
                if (!is_switch(peer) || levels_.level[peer.value] < level) {
                    hosts += !is_switch(peer);
                    ++all.down;
                    below[level] += capacity;
                } else if (levels_.level[peer.value] != no_level && levels_.level[peer.value] > level) {
                    ++up;
                    above[level] += capacity;
                }
            }
            all.hosts += hosts;
            all.up += up;
            widen(all.hosts_each, hosts, all.switches == 0);
            if (level + 1u < levels && (all.switches == 0 || up < all.up_each.least))
                fewest_up_.emplace_back(level, NodeId{i});
            widen(all.up_each, up, all.switches == 0);
            ++all.switches;
        }
        for (std::size_t level = 0; level < levels; ++level)
            if (above[level] > 0) result_.levels[level].oversubscription = below[level] / above[level];
    }

    // Where the source does not say what a cable could do, those between the same two levels tell: a 1x among
    // many 4x is a bad cable. More than half of them must agree.
    void find_laggards() {
        const auto place = [&](NodeId id) { return is_switch(id) ? levels_.level[id.value] + 1u : 0u; };
        using Between = std::pair<unsigned, unsigned>;
        std::map<Between, std::map<std::uint32_t, std::pair<std::size_t, LinkRate>>> rates;
        const auto each_cable = [&](auto&& visit) {
            for (std::uint32_t i = 0; i < fabric_.port_count(); ++i)
                if (const Port& port = fabric_.port(PortIndex{i});
                    port.connected() && i < port.peer.value && port.rate.megabits() != 0 &&
                    !is_aggregation_node(fabric_.node(port.node)) && !is_aggregation_node(fabric_.node(peer_of(port))))
                    visit(port, Between(std::minmax(place(port.node), place(peer_of(port)))));
        };
        each_cable([&](const Port& port, Between between) {
            auto& [count, rate] = rates[between][port.rate.megabits()];
            ++count;
            rate = port.rate;
        });
        std::map<Between, LinkRate> usual;
        for (const auto& [between, counts] : rates) {
            std::size_t all = 0;
            for (const auto& [megabits, entry] : counts) all += entry.first;
            for (const auto& [megabits, entry] : counts)
                if (2 * entry.first > all) usual[between] = entry.second;
        }
        each_cable([&](const Port& port, Between between) {
            if (port.supported.megabits() != 0) return;
            if (const auto found = usual.find(between);
                found != usual.end() && port.rate.megabits() < found->second.megabits())
                result_.behind.push_back({cable(port), port.rate, found->second});
        });
    }

    static void widen(Range& range, std::size_t value, bool first) {
        range.least = first ? value : std::min(range.least, value);
        range.most = std::max(range.most, value);
    }

    void find_subnets() {
        std::vector<std::uint32_t> part(fabric_.node_count(), none);
        std::vector<NodeId> rest;
        for (std::uint32_t start = 0; start < fabric_.node_count(); ++start) {
            if (part[start] != none) continue;
            const auto number = static_cast<std::uint32_t>(result_.subnets.size());
            Subnet subnet;
            std::size_t ends = 0;
            part[start] = number;
            rest.emplace_back(start);
            while (!rest.empty()) {
                const NodeId id = rest.back();
                rest.pop_back();
                ++(is_switch(id) ? subnet.switches : subnet.hosts);
                for (const Port& port : fabric_.ports(id)) {
                    if (!port.connected()) continue;
                    ++ends;
                    if (const NodeId peer = peer_of(port); part[peer.value] == none) {
                        part[peer.value] = number;
                        rest.push_back(peer);
                    }
                }
            }
            subnet.links = ends / 2;
            result_.subnets.push_back(subnet);
        }
        count_servers_on_several(part);
        std::ranges::stable_sort(result_.subnets, [](const Subnet& a, const Subnet& b) {
            return a.switches + a.hosts > b.switches + b.hosts;
        });
    }

    void count_servers_on_several(const std::vector<std::uint32_t>& part) {
        if (result_.subnets.size() < 2) return;
        constexpr std::uint32_t several = none - 1;
        std::unordered_map<std::string, std::uint32_t> server;
        for (std::uint32_t i = 0; i < fabric_.node_count(); ++i) {
            const Node& node = fabric_.node(NodeId{i});
            if (node.kind != NodeKind::host || node.name.empty() || is_aggregation_node(node)) continue;
            const auto [entry, is_new] = server.try_emplace(node.name.substr(0, node.name.find(' ')), part[i]);
            if (is_new || entry->second == part[i] || entry->second == several) continue;
            entry->second = several;
            ++result_.servers_on_several_subnets;
        }
    }

    void write_remarks() {
        result_.remarks = levels_.remarks;
        const std::vector<std::string> lids = lid_faults(fabric_);
        result_.remarks.insert(result_.remarks.end(), lids.begin(), lids.end());
        const auto say = [&](std::string sentence) { result_.remarks.push_back(std::move(sentence)); };
        if (!host_on_switch_ && fabric_.node_count() != 0)
            say(result_.switches == 0 ? "there is no switch, so there is nothing to route"
                                      : "no host is connected to a switch");
        if (result_.subnets.size() > 1) {
            const auto lone = std::ranges::count_if(result_.subnets, [](const Subnet& s) { return s.links == 0; });
            const std::size_t parts = result_.subnets.size() - static_cast<std::size_t>(lone);
            if (parts > 1)
                say(fmt::format("there are {} separate subnets{}", parts,
                                result_.servers_on_several_subnets == 0
                                    ? std::string()
                                    : fmt::format("; {} servers are on more than one (rails)",
                                                  result_.servers_on_several_subnets)));
            if (lone != 0) say(fmt::format("{} {} no cable at all", lone, lone == 1 ? "node has" : "nodes have"));
        }
        if (!result_.levels.empty()) {
            const Range hosts = result_.levels[0].hosts_each;
            if (hosts.least != hosts.most)
                say(fmt::format("leaves carry from {} to {} hosts", hosts.least, hosts.most));
        }
        for (std::size_t level = 0; level + 1 < result_.levels.size(); ++level) {
            const Range up = result_.levels[level].up_each;
            if (up.least == up.most) continue;
            NodeId example = no_node;  // the last one noted is the first with the fewest
            for (const auto& [at, id] : fewest_up_)
                if (at == level) example = id;
            say(fmt::format("switches of level {} have from {} to {} cables up; {} has {}", level, up.least, up.most,
                            describe(fabric_, example), up.least));
        }
        if (!result_.slow.empty())
            say(fmt::format("{} {} below what both ends support; the first is {} at {} instead of {}",
                            result_.slow.size(), result_.slow.size() == 1 ? "cable runs" : "cables run",
                            result_.slow[0].cable, to_string(result_.slow[0].rate),
                            to_string(result_.slow[0].supported)));
        if (!result_.behind.empty())
            say(fmt::format("{} slower than most between the same levels; the first is {} at {} where most run at {}",
                            result_.behind.size() == 1 ? std::string("1 cable is")
                                                       : fmt::format("{} cables are", result_.behind.size()),
                            result_.behind[0].cable, to_string(result_.behind[0].rate),
                            to_string(result_.behind[0].supported)));
        if (loops_ != 0)
            say(fmt::format("{} from a node to itself",
                            loops_ == 1 ? std::string("1 cable leads") : fmt::format("{} cables lead", loops_)));
    }

    static constexpr std::uint32_t none = 0xffffffffu;

    const Fabric& fabric_;
    const Levels& levels_;
    bool rates_known_ = false;
    bool host_on_switch_ = false;
    std::size_t loops_ = 0;                                  // cables from a node to itself
    std::vector<std::pair<std::size_t, NodeId>> fewest_up_;  // level, and a switch with fewer cables up than any before
    Summary result_;
};

}  // namespace

Summary summarise(const Fabric& fabric, const Levels& levels) {
    return Summariser(fabric, levels).run();
}

}  // namespace loom::fabric
