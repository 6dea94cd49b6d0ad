#include "loom/sim/suffering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "sim/paths.hpp"

namespace loom::sim {
namespace {

constexpr double noticeable = 0.8;    // of the fair share
constexpr double waits_enough = 0.1;  // of a flow's time
constexpr double full_enough = 0.9;   // of a link

Time lifetime(const Flow& flow, Time now) {
    if (flow.begun == never) return Time{};
    return (flow.ended == never ? now : flow.ended) - flow.begun;
}

class Detective {
public:
    Detective(const Setup& setup, const Simulation& simulation, const std::vector<Flow>& flows)
        : setup_(setup), simulation_(simulation), flows_(flows), network_(setup.network()), paths_(flows.size()) {
        for (std::size_t f = 0; f < flows.size(); ++f) {
            const PortIndex from = network_.placement.hosts[flows[f].from.value],
                            to = network_.placement.hosts[flows[f].to.value];
            const Lid lid =
                destination_lid(setup.fabric.port(to), setup.options.packet.lids, flows[f].from, flows[f].to);
            if (walk(network_, from, to, lid, paths_[f]) != Walk::arrives) paths_[f].clear();
            for (std::size_t hop = 0; hop < paths_[f].size(); ++hop) users_[paths_[f][hop].value].push_back({f, hop});
        }
    }

    void explain(Sufferer& sufferer) const {
        const std::vector<PortIndex>& path = paths_[sufferer.flow];
        if (setup_.options.packet.paths == PathChoice::adaptive || path.empty()) return;
        const Time span = lifetime(flows_[sufferer.flow], simulation_.now());
        std::size_t last = path.size();
        for (std::size_t hop = 0; hop + 1 < path.size(); ++hop)
            if (waited(path[hop], span) >= waits_enough) last = hop;
        if (last == path.size()) {
            if (setup_.options.packet.congestion.switches.threshold != 0) sufferer.cause = Cause::throttled;
            return;
        }
        sufferer.waits_at = path[last];
        sufferer.waited = waited(path[last], span);
        // Whoever shares that link may have filled the buffer behind it; the fullest way on is suspected.
        Use suspect{sufferer.flow, last};
        double most = suspicion(path[last + 1], span);
        for (const Use& use : users_.at(path[last].value)) {
            const std::vector<PortIndex>& other = paths_[use.flow];
            if (use.hop + 1 >= other.size() || other[use.hop + 1] == path[last + 1]) continue;
            const double its = suspicion(other[use.hop + 1], span);
            if (its <= most) continue;
            most = its;
            suspect = use;
        }
        if (most == 0) return;
        const std::vector<PortIndex>& way = paths_[suspect.flow];
        std::size_t hop = suspect.hop + 1;
        while (hop + 1 < way.size() && waited(way[hop], span) >= waits_enough) ++hop;
        sufferer.full = way[hop];
        sufferer.cause = suspect.flow != sufferer.flow                       ? Cause::behind
                         : notified(path[0]) && busy(way[hop]) < full_enough ? Cause::throttled
                                                                             : Cause::turns;
    }

private:
    struct Use {
        std::size_t flow;
        std::size_t hop;
    };

    [[nodiscard]] double waited(PortIndex port, Time span) const {
        if (span.ps <= 0) return 0;
        const auto ticks = static_cast<double>(simulation_.counters(port).xmit_wait);
        return std::min(
            1.0, ticks * static_cast<double>(setup_.options.packet.counter_tick.ps) / static_cast<double>(span.ps));
    }
    // Share of the link that was used while the flows that cross it lasted.
    [[nodiscard]] double busy(PortIndex port) const {
        Time begun = never, ended;
        for (const Use& use : users_.at(port.value)) {
            const Flow& flow = flows_[use.flow];
            if (flow.begun == never) continue;
            begun = std::min(begun, flow.begun);
            ended = std::max(ended, flow.ended == never ? simulation_.now() : flow.ended);
        }
        if (begun >= ended) return 0;
        const double sent = static_cast<double>(simulation_.counters(port).xmit_data) * 32;
        return sent / (megabits(port) * 1e6 * (ended - begun).seconds());
    }
    // Whether the hosts that send through a port can send more than it can.
    [[nodiscard]] bool can_fill(PortIndex port) const {
        std::set<std::uint32_t> hosts;
        double sum = 0;
        for (const Use& use : users_.at(port.value)) {
            const PortIndex host = paths_[use.flow].front();
            if (hosts.insert(host.value).second) sum += megabits(host);
        }
        return sum > megabits(port);
    }
    // How likely packets for this port stand in the way of others.
    [[nodiscard]] double suspicion(PortIndex port, Time span) const {
        const double held_up = waited(port, span);
        return held_up >= waits_enough || can_fill(port) ? held_up + busy(port) : 0;
    }
    [[nodiscard]] bool notified(PortIndex host) const { return simulation_.counters(host).rcv_becn != 0; }
    [[nodiscard]] double megabits(PortIndex port) const {
        const double known = setup_.fabric.port(port).rate.megabits();
        return known == 0 ? 32'000 : known;
    }

    const Setup& setup_;
    const Simulation& simulation_;
    const std::vector<Flow>& flows_;
    Network network_;
    std::vector<std::vector<PortIndex>> paths_;                  // by flow
    std::unordered_map<std::uint32_t, std::vector<Use>> users_;  // by port
};

}  // namespace

std::string_view to_string(Cause cause) {
    switch (cause) {
        case Cause::behind:
            return "behind";
        case Cause::turns:
            return "turns";
        case Cause::throttled:
            return "throttled";
        case Cause::unclear:
            return "unclear";
    }
    return "?";
}

std::vector<Sufferer> find_sufferers(const Setup& setup, const Simulation& simulation, const Recording& recording) {
    std::vector<Sufferer> result;
    if (recording.level != Level::packet || setup.flow_names.empty() || recording.end.ps <= 0) return result;
    if (recording.state == State::deadlocked || recording.state == State::stuck) return result;
    const auto ideal = make_simulation(Level::flow, setup.network(), setup.schedule, setup.options);
    (void)ideal->advance(setup.until.value_or(never));
    const std::vector<Flow> fair = ideal->flows();
    for (std::size_t f = 0; f < recording.flows.size(); ++f) {
        if (recording.flows[f].begun == never || recording.flows[f].bytes == 0) continue;
        const double got = gigabits(recording.flows[f], recording.end), share = gigabits(fair[f], ideal->now());
        if (got < noticeable * share) result.push_back({.flow = f, .got = got, .fair = share});
    }
    if (result.empty()) return result;
    const Detective detective(setup, simulation, recording.flows);
    for (Sufferer& sufferer : result) detective.explain(sufferer);
    std::stable_sort(result.begin(), result.end(),
                     [](const Sufferer& a, const Sufferer& b) { return a.got * b.fair < b.got * a.fair; });
    return result;
}

std::string describe(const Sufferer& s, const Setup& setup, const Recording& recording) {
    const auto name = [&](PortIndex port) {
        const fabric::Port& p = setup.fabric.port(port);
        return fabric::describe(setup.fabric, p.node, p.number);
    };
    std::string text = fmt::format("{}: {:.2f} Gbit/s where a fair share is {:.2f}",
                                   setup.flow_name(s.flow, recording.flows[s.flow]), s.got, s.fair);
    switch (s.cause) {
        case Cause::behind:
            return text + fmt::format("; it waits at {} ({:.0f} % of its time) behind packets for {}", name(s.waits_at),
                                      100 * s.waited, name(s.full));
        case Cause::turns:
            return text + fmt::format(
                              "; it waits at {} ({:.0f} % of its time): {} serves its inputs in turn, whatever "
                              "they carry",
                              name(s.waits_at), 100 * s.waited, name(s.full));
        case Cause::throttled:
            return text + "; congestion control holds it back";
        case Cause::unclear:
            return text;
    }
    return text;
}

}  // namespace loom::sim
