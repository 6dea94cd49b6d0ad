#include "loom/sim/suffering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/detective.hpp"

namespace loom::sim {
namespace {

constexpr double noticeable = 0.8;  // of the fair share
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
    Recording fair;
    fair.flows = ideal->flows();
    fair.end = ideal->now();
    return find_sufferers(setup, simulation, recording, fair);
}

std::vector<Sufferer> find_sufferers(const Setup& setup, const Simulation& simulation, const Recording& recording,
                                     const Recording& fair) {
    std::vector<Sufferer> result;
    // Both in (from, to) order.
    auto other = fair.flows.begin();
    for (std::size_t f = 0; f < recording.flows.size(); ++f) {
        const Flow& flow = recording.flows[f];
        const auto pair = [](const Flow& each) { return std::pair(each.from, each.to); };
        while (other != fair.flows.end() && pair(*other) < pair(flow)) ++other;
        if (other == fair.flows.end() || pair(*other) != pair(flow)) continue;
        if (flow.begun == never || flow.bytes == 0) continue;
        const double got = gigabits(flow, recording.end), share = gigabits(*other, fair.end);
        if (got < noticeable * share) result.push_back({.flow = f, .got = got, .fair = share});
    }
    if (result.empty()) return result;
    const Network network = setup.whole_network();
    const Detective detective(setup.fabric, network, setup.options.packet, simulation, recording.flows,
                              Detective::Measure::lifetime);
    for (Sufferer& sufferer : result) {
        const Detective::Finding found = detective.explain(sufferer.flow);
        sufferer.cause = found.cause;
        sufferer.waits_at = found.waits_at;
        sufferer.waited = found.waited;
        sufferer.full = found.full;
    }
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
