#include "sim/paths.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/base/error.hpp"

namespace loom::sim {

using fabric::NodeKind;

Lid destination_lid(const fabric::Port& host, LidChoice choice, Rank from, Rank to) {
    if (choice == LidChoice::first) return host.lid;
    const unsigned offset = (from.value + to.value) & ((1u << host.lmc) - 1);
    return Lid{static_cast<std::uint16_t>(host.lid.value + offset)};
}

Walk walk(const Network& network, PortIndex from, PortIndex to, Lid lid, std::vector<PortIndex>& out) {
    const routing::SwitchGraph& graph = *network.graph;
    const fabric::Fabric& fabric = graph.fabric();
    out.assign(1, from);
    if (!fabric.port(from).connected()) return Walk::open_port;
    routing::SwitchIndex at = graph.index(fabric.port(fabric.port(from).peer).node);
    if (at == routing::none) return fabric.port(from).peer == to ? Walk::arrives : Walk::wrong_host;
    for (std::uint32_t hop = 0; hop < graph.switch_count(); ++hop) {
        const std::uint8_t port = network.tables->port(at, lid);
        if (port == routing::no_route || port == 0) return Walk::no_entry;
        const PortIndex leaving = fabric.port_index(graph.node(at), PortNum{port});
        out.push_back(leaving);
        const routing::SwitchIndex next = graph.next(graph.channel(at, port));
        if (next != routing::none) {
            at = next;
            continue;
        }
        const PortIndex peer = fabric.port(leaving).peer;
        return peer == to ? Walk::arrives : peer == no_port ? Walk::open_port : Walk::wrong_host;
    }
    return Walk::circle;
}

namespace {

void check_tables(const Network& network, std::size_t ranks) {
    if (network.graph == nullptr || network.tables == nullptr) throw Error("expected a fabric with forwarding tables");
    const routing::SwitchGraph& graph = *network.graph;
    const routing::Tables& tables = *network.tables;
    if (tables.switch_count() != graph.switch_count())
        throw Error(fmt::format("the tables are of {} switches, the fabric has {}", tables.switch_count(),
                                graph.switch_count()));
    for (routing::SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const std::uint8_t port : tables.row(s))
            if (port != routing::no_route && port > graph.port_count(s))
                throw Error(fmt::format("the tables lead to port {} of {}, which has {}", port,
                                        fabric::describe(graph.fabric(), graph.node(s)), graph.port_count(s)));
    const std::size_t placed = network.placement.hosts.size();
    if (placed < ranks)
        throw Error(fmt::format("the schedule has {} ranks, {} have a place on the fabric", ranks, placed));
}

void check_place(const Network& network, Rank rank) {
    const fabric::Fabric& fabric = network.graph->fabric();
    const PortIndex host = network.placement.hosts[rank.value];
    if (host == no_port)
        throw Error(fmt::format("rank {} sends or is sent to, and has no place on the fabric", rank.value));
    const fabric::Port& port = fabric.port(host);
    if (fabric.node(port.node).kind == NodeKind::switch_)
        throw Error(
            fmt::format("rank {} sits on {}, which is no host", rank.value, fabric::describe(fabric, port.node)));
    if (port.lid == no_lid) throw Error(fmt::format("{} has no LID", fabric::describe(fabric, port.node, port.number)));
}

std::string pair_text(const fabric::Fabric& fabric, const Network& network, Rank from, Rank to) {
    const auto host = [&](Rank rank) {
        return fabric::describe(fabric, fabric.port(network.placement.hosts[rank.value]).node);
    };
    return fmt::format("rank {} on {} to rank {} on {}", from.value, host(from), to.value, host(to));
}

std::string reason(const fabric::Fabric& fabric, Walk result, PortIndex last) {
    const fabric::Port& port = fabric.port(last);
    const std::string where = fabric::describe(fabric, port.node, port.number);
    switch (result) {
        case Walk::arrives:
            break;
        case Walk::no_entry:
            return "no entry behind " + where;
        case Walk::open_port:
            return where + " has no cable";
        case Walk::wrong_host:
            return where + " leads to another host";
        case Walk::circle:
            return "in a circle through " + where;
    }
    return {};
}

}  // namespace

namespace {

void check_way(const Network& network, Rank from, Rank to, LidChoice lids, std::vector<PortIndex>& path) {
    const fabric::Fabric& fabric = network.graph->fabric();
    const PortIndex start = network.placement.hosts[from.value], end = network.placement.hosts[to.value];
    const Walk result = walk(network, start, end, destination_lid(fabric.port(end), lids, from, to), path);
    if (result != Walk::arrives)
        throw Error(fmt::format("the tables do not lead from {}: {}", pair_text(fabric, network, from, to),
                                reason(fabric, result, path.back())));
}

void check_pair(const Network& network, Rank from, Rank to, LidChoice lids, Answers answers,
                std::vector<PortIndex>& path) {
    if (network.placement.hosts[from.value] == network.placement.hosts[to.value]) return;
    check_way(network, from, to, lids, path);
    if (answers == Answers::back) check_way(network, to, from, lids, path);
}

}  // namespace

void check_pair(const Network& network, Rank from, Rank to, LidChoice lids, Answers answers) {
    std::vector<PortIndex> path;
    check_pair(network, from, to, lids, answers, path);
}

void check_network(const Network& network, const traffic::Schedule& schedule, LidChoice lids, Answers answers) {
    check_tables(network, schedule.ranks());
    std::vector<PortIndex> path;
    std::vector<std::uint32_t> peers;
    for (std::uint32_t r = 0; r < schedule.ranks(); ++r) {
        const Rank from{r};
        peers.clear();
        for (const traffic::Op& op : schedule.ops(from))
            if (op.kind == traffic::OpKind::send) peers.push_back(op.peer.value);
        std::sort(peers.begin(), peers.end());
        peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
        if (!peers.empty()) check_place(network, from);
        for (const std::uint32_t peer : peers) {
            check_place(network, Rank{peer});
            check_pair(network, from, Rank{peer}, lids, answers, path);
        }
    }
}

void check_network(const Network& network, std::uint32_t ranks) {
    check_tables(network, ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) check_place(network, Rank{r});
}

}  // namespace loom::sim
