#include "twin/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "loom/base/error.hpp"
#include "loom/fabric/fabric.hpp"
#include "loom/routing/reroute.hpp"
#include "twin/endpoint.hpp"

namespace loom::twin {

namespace {

// The simulation stops up to this late, and a death is at its picosecond.
constexpr Time ahead = microseconds(1);

// As wide as the old ones: packets to hosts that are gone are still under way.
routing::Tables as_wide_as(const routing::Tables& old, const routing::Tables& made) {
    routing::Tables tables(old.switch_count(), old.top_lid());
    if (made.has_lanes()) tables.use_lanes();
    tables.engine = made.engine;
    for (routing::SwitchIndex s = 0; s < old.switch_count(); ++s)
        for (std::uint32_t lid = 0; lid <= old.top_lid().value; ++lid) {
            const Lid to{static_cast<std::uint16_t>(lid)};
            tables.set(s, to, made.port(s, to));
            if (made.has_lanes() && to <= made.top_lid()) tables.set_lane(s, to, made.lane(s, to));
        }
    return tables;
}

}  // namespace

void Faults::prepare(Options& options, std::uint32_t ranks) {
    if (options.repair <= Time{}) throw UsageError("tables are repaired after a fault: expected a time above 0");
    for (const sim::Fault& fault : options.faults) {
        if (fault.at < Time{}) throw UsageError("a fault before the beginning");
        if (fault.kind == sim::Fault::Kind::rank) {
            if (fault.rank.value >= ranks)
                throw UsageError(fmt::format("rank {} is to be killed, the job has {} ranks", fault.rank.value, ranks));
            continue;
        }
        if (options.level == sim::Level::message)
            throw UsageError("the message level has no cables or switches that could fail");
        if (!options.simulation.packet.retries) options.simulation.packet.retries.emplace();
    }
}

Faults::Faults(const Options& options, sim::LiveSimulation& simulation, std::function<bool(Rank)> has_ended)
    : options_(options), simulation_(simulation), has_ended_(std::move(has_ended)) {
    for (std::size_t i = 0; i < options.faults.size(); ++i) {
        const sim::Fault& fault = options.faults[i];
        const bool dies = fault.kind == sim::Fault::Kind::rank;
        due_.emplace(dies ? std::max(Time{}, fault.at - ahead) : fault.at, i);
    }
}

void Faults::play(Time now) {
    while (!due_.empty() && next() <= now) {
        const auto [when, what] = *due_.begin();
        due_.erase(due_.begin());
        if (what == repair)
            mend(when);
        else
            play(options_.faults[what]);
    }
}

void Faults::note(Time at, const std::string& text) {
    events_.push_back(fmt::format("{}: {}", to_string(at), text));
}

void Faults::play(const sim::Fault& fault) {
    if (fault.kind == sim::Fault::Kind::rank) return kill(fault.rank, fault.at, "is killed");
    if (!fabric_) fabric_ = options_.network.graph->fabric();
    std::vector<PortIndex> ports;
    if (fault.kind == sim::Fault::Kind::link) {
        ports.push_back(fault.port);
    } else {
        for (const fabric::Port& port : fabric_->ports(fault.node))
            ports.push_back(fabric_->port_index(fault.node, port.number));
    }
    if (fault.kind == sim::Fault::Kind::switch_) {
        note(fault.at, fabric::describe(*fabric_, fault.node) + " fails");
    } else {
        const fabric::Port& port = fabric_->port(fault.port);
        note(fault.at, fmt::format("the cable at {} fails", fabric::describe(*fabric_, port.node, port.number)));
    }
    cut(ports);
    due_.emplace(fault.at + options_.repair, repair);
}

void Faults::kill(Rank rank, Time at, const char* why) {
    if (has_ended_(rank)) return;
    simulation_.wake(rank, std::max(at, simulation_.now()), Endpoint::death);
    note(at, fmt::format("rank {} {}", rank.value, why));
}

void Faults::cut(std::span<const PortIndex> ports) {
    std::vector<PortIndex> both;
    for (const PortIndex index : ports) {
        const fabric::Port port = fabric_->port(index);
        if (!port.connected()) continue;
        both.push_back(index);
        both.push_back(port.peer);
        fabric_->disconnect(port.node, port.number);
    }
    simulation_.fail(both);
}

void Faults::mend(Time now) {
    const routing::SwitchGraph graph(*fabric_);
    const routing::Tables& old = tables_.empty() ? *options_.network.tables : *tables_.back();
    routing::RouteOptions how;
    how.seed = options_.simulation.seed;
    how.lanes = std::max(1u, old.lane_count());
    const routing::Rerouted made = routing::reroute(graph, old, how);
    tables_.push_back(std::make_unique<routing::Tables>(as_wide_as(old, made.tables)));
    simulation_.use_tables(*tables_.back());
    note(now, fmt::format("tables repaired, {} of {} entries changed on {} switches", made.changed, made.entries,
                          made.switches_changed));
    kill_cut_off_ranks(graph, now);
}

// Of the parts into which the fabric has fallen the one with the most ranks goes on; of equal ones that with the
// lowest.
void Faults::kill_cut_off_ranks(const routing::SwitchGraph& graph, Time now) {
    std::vector<std::uint32_t> part(graph.switch_count(), routing::none);
    std::vector<routing::SwitchIndex> queue;
    std::uint32_t parts = 0;
    for (routing::SwitchIndex first = 0; first < graph.switch_count(); ++first) {
        if (part[first] != routing::none) continue;
        queue.assign(1, first);
        part[first] = parts;
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (unsigned port = 1; port <= graph.port_count(queue[i]); ++port) {
                const routing::SwitchIndex next = graph.next(graph.channel(queue[i], port));
                if (next == routing::none || part[next] != routing::none) continue;
                part[next] = parts;
                queue.push_back(next);
            }
        ++parts;
    }
    const auto part_of = [&](std::uint32_t rank) {
        const fabric::Port& host = fabric_->port(options_.network.placement.hosts[rank]);
        return host.connected() ? part[graph.index(fabric_->port(host.peer).node)] : routing::none;
    };
    const std::size_t ranks = options_.network.placement.hosts.size();
    std::vector<std::size_t> members(parts, 0);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (part_of(rank) != routing::none) ++members[part_of(rank)];
    std::uint32_t most = routing::none;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (const std::uint32_t its = part_of(rank); its != routing::none)
            if (most == routing::none || members[its] > members[most]) most = its;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (part_of(rank) != most) kill(Rank{rank}, now, "is cut off");
}

}  // namespace loom::twin
