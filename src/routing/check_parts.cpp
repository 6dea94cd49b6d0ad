#include "routing/check_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "loom/fabric/levels.hpp"
#include "routing/hops.hpp"

namespace loom::routing {
namespace {

// Adapters of one machine are nodes of their own. Their descriptions give it away ("node7 mlx5_0", "node7
// HCA-2"), unless several adapters bear the very same one ("localhost HCA-1"): then, or when it says nothing,
// the system GUID that the ports of one adapter share.
std::string machine(const fabric::Node& node, const std::map<std::string_view, std::size_t>& bearers) {
    const std::string_view name = node.name;
    const auto space = name.find(' ');
    if (space != std::string_view::npos && space != 0 && bearers.at(name) == 1) {
        const auto device = name.substr(space + 1);
        const bool one_word = device.find(' ') == std::string_view::npos;
        const auto mark = device.find_first_of("_-");
        if (one_word && mark != std::string_view::npos &&
            device.find_first_of("0123456789", mark) != std::string_view::npos)
            return std::string(name.substr(0, space));
    }
    return fabric::to_string(node.system_guid != no_guid ? node.system_guid : node.guid);
}

}  // namespace

void judge_pieces(const SwitchGraph& graph, CheckReport& report) {
    const Pieces pieces = find_pieces(graph);
    report.pieces = pieces.count;
    std::size_t without_switch = 0, without_lid = 0;
    for (const fabric::Port& port : graph.fabric().all_ports()) {
        if (!port.connected() || graph.index(port.node) != none) continue;
        without_switch += graph.index(graph.fabric().port(port.peer).node) == none ? 1 : 0;
        without_lid += port.lid == no_lid ? 1 : 0;
    }
    for (SwitchIndex s = 0; s < graph.switch_count(); ++s)
        without_lid += graph.fabric().port(graph.node(s), PortNum{0}).lid == no_lid ? 1 : 0;
    if (without_switch != 0)
        report.remarks.push_back(fmt::format("{} host ports are cabled to no switch and take no part", without_switch));
    if (without_lid != 0)
        report.remarks.push_back(
            fmt::format("{} connected end ports have no LID and cannot be routed to", without_lid));
    if (pieces.count < 2) return;

    std::map<std::string_view, std::size_t> bearers;  // of each host's description
    for (const fabric::Node& node : graph.fabric().nodes())
        if (node.kind != fabric::NodeKind::switch_) ++bearers[node.name];
    std::map<std::string, std::set<std::uint32_t>> where;  // machine -> pieces
    std::vector<std::size_t> ports(pieces.count, 0);
    for (const Destination& d : graph.host_destinations()) {
        ++ports[pieces.of[d.sw]];
        where[machine(graph.fabric().node(graph.fabric().port(d.end).node), bearers)].insert(pieces.of[d.sw]);
    }
    std::map<std::set<std::uint32_t>, std::uint64_t> groups;  // pieces -> machines in exactly these
    for (const auto& [name, set] : where) ++groups[set];
    for (auto a = groups.begin(); a != groups.end(); ++a)
        for (auto b = std::next(a); b != groups.end(); ++b) {
            const bool shared =
                std::any_of(a->first.begin(), a->first.end(), [&](std::uint32_t p) { return b->first.contains(p); });
            if (!shared) report.split_pairs += a->second * b->second;
        }
    const auto empty = static_cast<std::size_t>(std::count(ports.begin(), ports.end(), std::size_t{0}));
    const std::size_t inhabited = pieces.count - empty;
    if (empty != 0)
        report.remarks.push_back(fmt::format("{} {} no host and {} cut off from the rest", empty,
                                             empty == 1 ? "piece of the fabric has" : "pieces of the fabric have",
                                             empty == 1 ? "is" : "are"));
    if (inhabited < 2) return;
    std::sort(ports.rbegin(), ports.rend());
    std::string sizes;
    for (std::size_t i = 0; i < std::min<std::size_t>(inhabited, 8); ++i)
        sizes += fmt::format("{}{}", i == 0 ? "" : ", ", ports[i]);
    if (inhabited > 8) sizes += ", ...";
    if (report.split_pairs == 0)
        report.remarks.push_back(
            fmt::format("the fabric is {} rails ({} host ports) that no cable joins; every two hosts "
                        "share one",
                        inhabited, sizes));
    else
        report.remarks.push_back(
            fmt::format("the fabric is in {} pieces ({} host ports) that no cable joins; {} pairs of "
                        "hosts cannot reach each other",
                        inhabited, sizes, report.split_pairs));
}

void measure_balance(const SwitchGraph& graph, CheckReport& report) {
    const fabric::Levels levels = fabric::find_levels(graph.fabric());
    std::map<std::pair<std::uint8_t, Direction>, LevelBalance> found;
    std::map<std::pair<std::uint8_t, Direction>, std::uint64_t> sum;
    for (ChannelIndex c = 0; c < graph.channel_count(); ++c) {
        const SwitchIndex to = graph.next(c);
        if (to == none || to == graph.owner(c)) continue;
        const std::uint8_t here = levels.level[graph.node(graph.owner(c)).value];
        const std::uint8_t there = levels.level[graph.node(to).value];
        if (here == fabric::no_level || there == fabric::no_level) continue;
        const auto direction = here == there ? Direction::inside : here < there ? Direction::up : Direction::down;
        const std::pair key(std::min(here, there), direction);
        const std::uint64_t routes = report.load[c];
        auto& entry = found.try_emplace(key, LevelBalance{key.first, direction, 0, routes, 0, routes}).first->second;
        ++entry.channels;
        entry.least = std::min(entry.least, routes);
        entry.most = std::max(entry.most, routes);
        sum[key] += routes;
    }
    for (auto& [key, entry] : found) {
        entry.mean = static_cast<double>(sum[key]) / static_cast<double>(entry.channels);
        report.balance.push_back(entry);
    }
}

void find_slow_links(const fabric::Fabric& fabric, CheckReport& report) {
    for (std::uint32_t i = 0; i < fabric.port_count(); ++i) {
        const fabric::Port& port = fabric.port(PortIndex{i});
        if (!port.connected()) continue;
        const fabric::Port& peer = fabric.port(port.peer);
        const auto slow = [](const fabric::Port& p) {
            return p.supported.megabits() != 0 && p.rate.megabits() != 0 && p.rate.megabits() < p.supported.megabits();
        };
        // Each cable once, from the end that noticed.
        if (slow(port) && (i < port.peer.value || !slow(peer)))
            report.slow.push_back({PortIndex{i}, port.rate, port.supported});
    }
}

}  // namespace loom::routing
