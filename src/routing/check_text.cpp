#include <fmt/format.h>

#include <algorithm>

#include "loom/routing/check.hpp"

namespace loom::routing {
namespace {

constexpr std::size_t most_lines = 8;  // of a kind, in the text

std::string at(const SwitchGraph& graph, SwitchIndex s) {
    return fabric::describe(graph.fabric(), graph.node(s));
}

std::string loop_line(const SwitchGraph& graph, const CreditLoop& loop) {
    return fmt::format("credit loop of {} channels on lane {} through {}", loop.channels.size(), loop.lane,
                       describe(graph, loop.channels.front()));
}

void append_loop(const SwitchGraph& graph, const CreditLoop& loop, std::string& text) {
    for (const ChannelIndex c : loop.channels) text += fmt::format("    {}\n", describe(graph, c));
}

const char* why_dead(const SwitchGraph& graph, const BadRoute& bad) {
    const NodeId node = graph.node(bad.at);
    if (bad.port > graph.fabric().node(node).ports) return "which it does not have";
    if (bad.port != 0 && !graph.fabric().port(node, PortNum{bad.port}).connected()) return "which has no cable";
    return "where the LID is not";
}

}  // namespace

std::string describe(const SwitchGraph& graph, ChannelIndex channel) {
    const SwitchIndex from = graph.owner(channel);
    const fabric::Fabric& fabric = graph.fabric();
    const fabric::Port& port = fabric.port(graph.node(from), PortNum{static_cast<std::uint8_t>(graph.port(channel))});
    std::string text = fabric::describe(fabric, port.node, port.number);
    if (port.connected()) {
        const fabric::Port& peer = fabric.port(port.peer);
        text += " -> " + fabric::describe(fabric, peer.node, peer.number);
    }
    return text;
}

std::string describe(const SwitchGraph& graph, const BadRoute& bad) {
    const std::string route = fmt::format("from {} to LID {}", at(graph, bad.from), bad.lid.value);
    switch (bad.fault) {
        case Fault::no_entry:
            return fmt::format("{}: {} has no entry", route, at(graph, bad.at));
        case Fault::dead_end:
            return fmt::format("{}: {} sends it to port {}, {}", route, at(graph, bad.at), bad.port,
                               why_dead(graph, bad));
        case Fault::loop:
            return fmt::format("{}: it comes back to {} for ever", route, at(graph, bad.at));
    }
    return route;
}

bool CheckReport::ok() const {
    return std::all_of(faults.begin(), faults.end(), [](std::uint64_t n) { return n == 0; }) && split_pairs == 0 &&
           loops.empty();
}

std::string CheckReport::reason(const SwitchGraph& graph) const {
    if (ok()) return {};
    if (!examples.empty()) {
        std::uint64_t all = 0;
        for (const std::uint64_t n : faults) all += n;
        return fmt::format("{} of {} routes do not arrive; {}", all, routes, describe(graph, examples.front()));
    }
    if (split_pairs != 0)
        return fmt::format("{} pairs of hosts are in pieces of the fabric that no cable joins", split_pairs);
    return loop_line(graph, loops.front());
}

std::string to_text(const SwitchGraph& graph, const CheckReport& report) {
    std::string text = fmt::format("{} switches, {} host ports, {} LIDs\n", report.switches, report.hosts, report.lids);

    const auto fault = [&](Fault f) { return report.faults[static_cast<std::size_t>(f)]; };
    if (report.examples.empty()) {
        text += fmt::format("reachable: all {} routes from switches to LIDs arrive, none loops\n", report.routes);
    } else {
        text += fmt::format("NOT reachable: of {} routes {} find no entry, {} a dead end, {} a loop\n", report.routes,
                            fault(Fault::no_entry), fault(Fault::dead_end), fault(Fault::loop));
        for (std::size_t i = 0; i < std::min(report.examples.size(), most_lines); ++i)
            text += "    " + describe(graph, report.examples[i]) + "\n";
    }
    for (const std::string& remark : report.remarks) text += "note: " + remark + "\n";

    if (report.host_pairs != 0) {
        text += fmt::format("hops between switches, over {} pairs of host and LID:\n", report.host_pairs);
        for (std::size_t h = 0; h < report.hops.size(); ++h)
            if (report.hops[h] != 0) text += fmt::format("    {:>3}  {:>14}\n", h, report.hops[h]);
        if (report.excess.size() <= 1) {
            text += "shortest: every pair takes the fewest hops there are\n";
        } else {
            text += "detours, by hops beyond the fewest there are:\n";
            for (std::size_t e = 0; e < report.excess.size(); ++e)
                if (report.excess[e] != 0) text += fmt::format("    +{:<3} {:>14}\n", e, report.excess[e]);
        }
    }

    if (report.loops.empty()) {
        text += report.lanes == 1
                    ? std::string("deadlock-free: the channel dependencies have no cycle\n")
                    : fmt::format("deadlock-free: the channel dependencies of {} lanes have no cycle\n", report.lanes);
    }
    for (const CreditLoop& loop : report.loops) {
        text += "NOT deadlock-free: " + loop_line(graph, loop) + "\n";
        append_loop(graph, loop, text);
    }
    if (!report.management.channels.empty()) {
        text +=
            "note: management packets from hosts to switches can close a " + loop_line(graph, report.management) + "\n";
        append_loop(graph, report.management, text);
    }

    if (!report.balance.empty()) text += "host routes on the channels of a level, least / mean / most:\n";
    for (const LevelBalance& b : report.balance) {
        const char* way = b.direction == Direction::up     ? "up from"
                          : b.direction == Direction::down ? "down to"
                                                           : "inside";
        text += fmt::format("    {:<7} {:>2}  {:>7} channels  {:>9} / {:>11.1f} / {:>9}\n", way, b.level, b.channels,
                            b.least, b.mean, b.most);
    }

    if (report.slow.empty() && graph.fabric().link_count() != 0 &&
        std::ranges::none_of(graph.fabric().all_ports(),
                             [](const fabric::Port& port) { return port.supported.megabits() != 0; }))
        text += "slow: not known, the fabric's file does not say what the ends of a cable support (.db_csv would)\n";
    if (!report.slow.empty())
        text += fmt::format("slow: {} links run below what both ends can do\n", report.slow.size());
    for (std::size_t i = 0; i < std::min(report.slow.size(), most_lines); ++i) {
        const SlowLink& link = report.slow[i];
        const fabric::Port& port = graph.fabric().port(link.port);
        const fabric::Port& peer = graph.fabric().port(port.peer);
        text += fmt::format("    {} - {}: {} of {}\n", fabric::describe(graph.fabric(), port.node, port.number),
                            fabric::describe(graph.fabric(), peer.node, peer.number), fabric::to_string(link.rate),
                            fabric::to_string(link.supported));
    }
    if (report.slow.size() > most_lines) text += fmt::format("    ... and {} more\n", report.slow.size() - most_lines);
    text += report.ok() ? "ok\n" : "FAILED: " + report.reason(graph) + "\n";
    return text;
}

}  // namespace loom::routing
