#include "loom/report/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "loom/base/error.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/fabric/summary.hpp"
#include "loom/routing/engine.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::report {

namespace {

using fabric::Fabric;
using routing::CheckReport;
using routing::Fault;
using routing::SwitchGraph;
using routing::Tables;

// Stages 0, step, 2 * step, ... of another pattern.
class EveryNth : public traffic::Pattern {
public:
    EveryNth(traffic::PatternPtr all, std::size_t step) : all_(std::move(all)), step_(step) {}
    [[nodiscard]] std::string name() const override { return all_->name(); }
    [[nodiscard]] std::size_t ranks() const override { return all_->ranks(); }
    [[nodiscard]] std::size_t stages() const override { return (all_->stages() + step_ - 1) / step_; }
    void stage(std::size_t index, std::vector<traffic::Pair>& out) const override { all_->stage(index * step_, out); }

private:
    traffic::PatternPtr all_;
    std::size_t step_;
};

void count_fabric(const Fabric& fabric, const fabric::Summary& summary, Findings& out) {
    out.switches = summary.switches;
    out.hosts = summary.hosts;
    out.routers = summary.routers;
    out.aggregation_nodes = summary.aggregation_nodes;
    out.cables = fabric.link_count();
    const fabric::Levels& levels = out.levels;
    out.level_lines.resize(std::size_t{levels.top} + 1);
    for (std::size_t level = 0; level <= levels.top; ++level) {
        LevelLine& line = out.level_lines[level];
        line.name = levels.top == 0       ? "switches"
                    : level == 0          ? "leaves"
                    : level == levels.top ? "roots"
                                          : fmt::format("level {}", level);
        if (level >= summary.levels.size()) continue;
        const fabric::LevelSummary& all = summary.levels[level];
        line.switches = all.switches;
        line.hosts = all.hosts;
        line.up = all.up;
        line.down = all.down;
        line.oversubscription = all.oversubscription;
    }
    for (const fabric::Port& port : fabric.all_ports()) {
        if (!port.connected()) continue;
        const NodeId other = fabric.port(port.peer).node;
        if (const std::uint8_t level = levels.level[port.node.value];
            level != fabric::no_level && level == levels.level[other.value])
            out.level_lines[level].inside += port.node.value < other.value;
    }
}

// A file that does not say what the ends of its cables support is no proof that they run at full speed.
Verdict speed_verdict(std::size_t slow, const fabric::Summary& summary, std::size_t cables) {
    using Kind = Verdict::Kind;
    if (slow != 0)
        return {Kind::note, "Full speed",
                fmt::format("{} below what both ends support.",
                            slow == 1 ? "One cable runs" : grouped(slow) + " cables run")};
    const std::size_t behind = summary.behind.size();
    const std::string others = behind == 0   ? "none is slower than most between the same levels"
                               : behind == 1 ? "one is slower than most between the same levels"
                                             : grouped(behind) + " are slower than most between the same levels";
    if (summary.support_unknown == cables)
        return {
            Kind::note, "Full speed",
            fmt::format("Not known from this file: it does not say what the ends of a cable support. Of its cables, "
                        "{}.",
                        others)};
    if (summary.support_unknown != 0)
        return {
            Kind::note, "Full speed",
            fmt::format("No cable is known to run below what both its ends support; of {} the file does not say, and "
                        "{}.",
                        counted(summary.support_unknown, "cable", "cables"), others)};
    return {Kind::good, "Full speed", "No cable runs below what both its ends support."};
}

void judge(const SwitchGraph& graph, const CheckReport& check, const fabric::Summary& summary, Findings& out) {
    using Kind = Verdict::Kind;
    const auto faults = [&](Fault fault) { return check.faults[static_cast<std::size_t>(fault)]; };
    const std::uint64_t lost = faults(Fault::no_entry) + faults(Fault::dead_end);
    const auto example = [&](bool loop) {
        for (const auto& bad : check.examples)
            if ((bad.fault == Fault::loop) == loop) return "; for example " + describe(graph, bad);
        return std::string();
    };
    out.valid = check.ok();
    if (lost == 0)
        out.verdicts.push_back(
            {Kind::good, "Reachable",
             fmt::format("All {} end-port and switch addresses are reached from every switch that cables join to them.",
                         grouped(check.lids))});
    else
        out.verdicts.push_back(
            {Kind::bad, "Reachable",
             fmt::format("{} of {} routes lead nowhere{}.", grouped(lost), grouped(check.routes), example(false))});
    if (check.pieces > 1)
        out.verdicts.push_back(
            {Kind::note, "Connected",
             fmt::format("The fabric falls into {}; {} of hosts share none.", counted(check.pieces, "piece", "pieces"),
                         counted(check.split_pairs, "pair", "pairs"))});
    if (faults(Fault::loop) == 0)
        out.verdicts.push_back({Kind::good, "Loop-free", "No route goes round in a circle."});
    else
        out.verdicts.push_back({Kind::bad, "Loop-free",
                                fmt::format("{} go round in a circle{}.",
                                            counted(faults(Fault::loop), "route", "routes"), example(true))});
    if (check.loops.empty())
        out.verdicts.push_back(
            {Kind::good, "Deadlock-free",
             check.lanes > 1
                 ? fmt::format("No channels wait for each other in a ring on any of {} virtual lanes.", check.lanes)
                 : "No channels wait for each other in a ring."});
    else
        out.verdicts.push_back(
            {Kind::bad, "Deadlock-free",
             fmt::format("{} wait for each other in a ring on lane {}, beginning with {}.",
                         counted(check.loops.front().channels.size(), "channel", "channels"), check.loops.front().lane,
                         describe(graph, check.loops.front().channels.front()))});
    std::uint64_t detours = 0;
    for (std::size_t i = 1; i < check.excess.size(); ++i) detours += check.excess[i];
    const std::size_t longest = check.hops.empty() ? 0 : check.hops.size() - 1;
    out.verdicts.push_back(
        detours == 0
            ? Verdict{Kind::good, "Short",
                      fmt::format(
                          "Every route takes the fewest hops there are; the longest crosses {} between switches.",
                          counted(longest, "cable", "cables"))}
            : Verdict{Kind::note, "Short",
                      fmt::format("{} of {} pairs of hosts take a detour, of {} at most.", grouped(detours),
                                  grouped(check.host_pairs), counted(check.excess.size() - 1, "hop", "hops"))});
    double worst = 1;
    const routing::LevelBalance* uneven = nullptr;
    for (const routing::LevelBalance& balance : check.balance)
        if (balance.mean > 0 && static_cast<double>(balance.most) / balance.mean > worst) {
            worst = static_cast<double>(balance.most) / balance.mean;
            uneven = &balance;
        }
    if (check.balance.empty()) {
        // no two levels, nothing to balance between
    } else if (uneven == nullptr || worst < 1.005)
        out.verdicts.push_back(
            {Kind::good, "Balanced", "Between any two levels all cables carry equally many routes."});
    else
        out.verdicts.push_back(
            {worst < 1.5 ? Kind::good : Kind::note, "Balanced",
             fmt::format("The most uneven cables are those {} level {}: {} to {} routes each, {:.0f} on average.",
                         uneven->direction == routing::Direction::up     ? "up from"
                         : uneven->direction == routing::Direction::down ? "down to"
                                                                         : "within",
                         uneven->level, grouped(uneven->least), grouped(uneven->most), uneven->mean)});
    out.slow_count = check.slow.size();
    out.verdicts.push_back(speed_verdict(check.slow.size(), summary, out.cables));
    const Fabric& fabric = graph.fabric();
    for (const routing::SlowLink& link : check.slow) {
        if (out.slow.size() == 1000) break;
        const fabric::Port& port = fabric.port(link.port);
        const fabric::Port& peer = fabric.port(port.peer);
        out.slow.push_back(
            {fmt::format("{} – {}", describe(fabric, port.node, port.number), describe(fabric, peer.node, peer.number)),
             to_string(link.rate), to_string(link.supported)});
    }
}

void analyse(const SwitchGraph& graph, const Tables& tables, const FindOptions& options, Findings& out) {
    const fabric::Placement placement = fabric::place_in_order(graph.fabric());
    out.ranks = placement.ranks();
    out.load.assign(graph.fabric().port_count(), 0.0);
    if (out.ranks < 2) return;
    const congestion::Routes routes(graph, tables, placement, {.threads = options.threads});

    traffic::PatternPtr pattern = traffic::make_pattern("shift", out.ranks);
    const std::size_t pairs = pattern->stages() * out.ranks;
    out.stage_step =
        std::max<std::size_t>(1, (pairs + options.most_pairs - 1) / std::max<std::size_t>(options.most_pairs, 1));
    if (out.stage_step > 1) pattern = std::make_unique<EveryNth>(std::move(pattern), out.stage_step);
    congestion::ContentionOptions counting;
    counting.threads = options.threads;
    if (options.progress) counting.progress = [&](double share) { options.progress(0.3 + 0.4 * share); };
    out.shift = congestion::contention(routes, *pattern, counting);

    for (routing::ChannelIndex channel = 0; channel < graph.channel_count(); ++channel) {
        const unsigned port = graph.port(channel);
        if (port == 0 || out.shift.peak[channel] == 0) continue;
        const NodeId node = graph.node(graph.owner(channel));
        out.load[graph.fabric().port_index(node, PortNum{static_cast<std::uint8_t>(port)}).value] =
            out.shift.peak[channel];
    }
    for (const congestion::HotLink& hot : congestion::hottest(routes, out.shift, 50, congestion::HostLinks::ignore))
        out.hottest.push_back({routes.describe(hot.link), hot.peak, hot.total});

    congestion::BisectionOptions halves;
    halves.seed = options.seed;
    halves.samples = options.bisection_samples;
    halves.threads = options.threads;
    if (options.progress) halves.progress = [&](double share) { options.progress(0.7 + 0.3 * share); };
    out.bisection = congestion::effective_bisection(routes, halves);
    out.has_bisection = true;
}

}  // namespace

Findings find(const SwitchGraph& graph, const Tables* tables, const FindOptions& options) {
    const Fabric& fabric = graph.fabric();
    if (graph.switch_count() == 0) throw Error("the fabric has no switch, so there is nothing to report");
    Findings out;
    out.title = fabric.title;
    out.levels = fabric::find_levels(fabric);
    const fabric::Summary summary = fabric::summarise(fabric, out.levels);
    out.deviations = summary.remarks;
    count_fabric(fabric, summary, out);

    routing::Routing made;
    if (tables == nullptr) {
        routing::RouteOptions route_options;
        route_options.seed = options.seed;
        route_options.threads = options.threads;
        const bool tree = out.levels.top > 0 && out.levels.inside_links == 0;
        out.engine = tree ? "ftree" : "sssp";
        made = routing::find_engine(out.engine).route(graph, route_options);
        out.routed_here = true;
        out.routing_remarks = made.remarks;
        tables = &made.tables;
    } else {
        out.engine = tables->engine;
    }
    if (options.progress) options.progress(0.1);

    const CheckReport check = routing::check(graph, *tables, {.threads = options.threads, .progress = {}});
    for (const std::string& remark : check.remarks) out.routing_remarks.push_back(remark);
    judge(graph, check, summary, out);
    if (options.progress) options.progress(0.3);
    analyse(graph, *tables, options, out);
    return out;
}

}  // namespace loom::report
