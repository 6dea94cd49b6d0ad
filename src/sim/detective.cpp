#include "sim/detective.hpp"

#include <algorithm>
#include <set>

#include "sim/paths.hpp"

namespace loom::sim {

namespace {

constexpr double waits_enough = 0.1;  // of a flow's time, or a port's
constexpr double full_enough = 0.9;   // of a link

Time lifetime(const Flow& flow, Time now) {
    if (flow.begun == never) return Time{};
    return (flow.ended == never ? now : flow.ended) - flow.begun;
}

}  // namespace

Detective::Detective(const fabric::Fabric& fabric, const Network& network, const PacketOptions& options,
                     const Simulation& simulation, const std::vector<Flow>& flows, Measure measure)
    : fabric_(fabric),
      options_(options),
      simulation_(simulation),
      flows_(flows),
      measure_(measure),
      paths_(flows.size()) {
    for (std::size_t f = 0; f < flows.size(); ++f) {
        const PortIndex from = network.placement.hosts[flows[f].from.value],
                        to = network.placement.hosts[flows[f].to.value];
        if (from == to) continue;
        const Lid lid = destination_lid(fabric.port(to), options.lids, flows[f].from, flows[f].to);
        if (walk(network, from, to, lid, paths_[f]) != Walk::arrives) paths_[f].clear();
        for (std::size_t hop = 0; hop < paths_[f].size(); ++hop) users_[paths_[f][hop].value].push_back({f, hop});
    }
}

Detective::Finding Detective::explain(std::size_t flow) const {
    Finding finding;
    const std::vector<PortIndex>& path = paths_[flow];
    if (options_.paths == PathChoice::adaptive || path.empty()) return finding;
    const Time span = lifetime(flows_[flow], simulation_.now());
    std::size_t last = path.size();
    for (std::size_t hop = 0; hop + 1 < path.size(); ++hop)
        if (waited(path[hop], span) >= waits_enough) last = hop;
    if (last == path.size()) {
        if (options_.congestion.switches.threshold != 0) finding.cause = Cause::throttled;
        return finding;
    }
    finding.waits_at = path[last];
    finding.waited = waited(path[last], span);
    // Whoever shares that link may have filled the buffer behind it; the fullest way on is suspected.
    Use suspect{flow, last};
    double most = suspicion(path[last + 1], span);
    for (const Use& use : users_.at(path[last].value)) {
        const std::vector<PortIndex>& other = paths_[use.flow];
        if (use.hop + 1 >= other.size() || other[use.hop + 1] == path[last + 1]) continue;
        const double its = suspicion(other[use.hop + 1], span);
        if (its <= most) continue;
        most = its;
        suspect = use;
    }
    if (most == 0) return finding;
    const std::vector<PortIndex>& way = paths_[suspect.flow];
    std::size_t hop = suspect.hop + 1;
    while (hop + 1 < way.size() && waited(way[hop], span) >= waits_enough) ++hop;
    finding.full = way[hop];
    finding.cause = suspect.flow != flow                                ? Cause::behind
                    : notified(path[0]) && busy(way[hop]) < full_enough ? Cause::throttled
                                                                        : Cause::turns;
    return finding;
}

std::vector<std::size_t> Detective::through(PortIndex first, PortIndex then) const {
    std::vector<std::size_t> result;
    const auto users = users_.find(first.value);
    if (users == users_.end()) return result;
    for (const Use& use : users->second) {
        const std::vector<PortIndex>& path = paths_[use.flow];
        if (std::find(path.begin() + static_cast<std::ptrdiff_t>(use.hop), path.end(), then) != path.end())
            result.push_back(use.flow);
    }
    return result;
}

Time Detective::waited(PortIndex port) const {
    return options_.counter_tick * static_cast<std::int64_t>(simulation_.counters(port).xmit_wait);
}

double Detective::waited(PortIndex port, Time span) const {
    if (span.ps <= 0) return 0;
    const double all =
        measure_ == Measure::lifetime ? span.seconds() : waited(port).seconds() + seconds_of_sending(port);
    return all == 0 ? 0 : std::min(1.0, waited(port).seconds() / all);
}

// Share of the link that was used while the flows that cross it lasted.
double Detective::busy(PortIndex port) const {
    Time begun = never, ended;
    for (const Use& use : users_.at(port.value)) {
        const Flow& flow = flows_[use.flow];
        if (flow.begun == never) continue;
        begun = std::min(begun, flow.begun);
        ended = std::max(ended, flow.ended == never ? simulation_.now() : flow.ended);
    }
    return begun >= ended ? 0 : seconds_of_sending(port) / (ended - begun).seconds();
}

// Whether the hosts that send through a port can send more than it can.
bool Detective::can_fill(PortIndex port) const {
    std::set<std::uint32_t> hosts;
    double sum = 0;
    for (const Use& use : users_.at(port.value)) {
        const PortIndex host = paths_[use.flow].front();
        if (hosts.insert(host.value).second) sum += megabits(host);
    }
    return sum > megabits(port);
}

// How likely packets for this port stand in the way of others.
double Detective::suspicion(PortIndex port, Time span) const {
    const double held_up = waited(port, span);
    return held_up >= waits_enough || can_fill(port) ? held_up + busy(port) : 0;
}

double Detective::megabits(PortIndex port) const {
    const double known = fabric_.port(port).rate.megabits();
    return known == 0 ? 32'000 : known;
}

double Detective::seconds_of_sending(PortIndex port) const {
    return static_cast<double>(simulation_.counters(port).xmit_data) * 32 / (megabits(port) * 1e6);
}

}  // namespace loom::sim
