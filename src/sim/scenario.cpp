#include "loom/sim/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "loom/base/file.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/link.hpp"
#include "sim/scenario_words.hpp"

namespace loom::sim {
namespace {

using fabric::NodeKind;

NodeId find_node(const fabric::Fabric& fabric, std::string_view name) {
    for (std::uint32_t i = 0; i < fabric.node_count(); ++i)
        if (fabric.node(NodeId{i}).name == name) return NodeId{i};
    return no_node;
}

void add_node(Scenario& scenario, NodeKind kind, Words& words) {
    if (!scenario.fabric_file.empty()) words.refuse("a fabric file was named above; expected no nodes beside it");
    const std::string name = words.text(kind == NodeKind::host ? "a name for the host" : "a name for the switch");
    if (find_node(scenario.fabric, name) != no_node)
        words.refuse(fmt::format("there is a node {} already; expected another name", excerpt(name)));
    std::uint64_t ports = 1;
    if (kind == NodeKind::switch_)
        ports = words.number("the number of the switch's ports", 1, 254);
    else if (!words.done())
        ports = words.number("the number of the host's ports", 1, 254);
    words.end();
    scenario.fabric.add_node(kind, static_cast<std::uint8_t>(ports), name);
}

// The node and port of a link's end; the first free port where none is given.
std::pair<NodeId, PortNum> link_end(const fabric::Fabric& fabric, Words& words) {
    const PortEnd end = take_end(words, "NODE:PORT");
    const NodeId node = find_node(fabric, end.node);
    if (node == no_node) words.refuse(fmt::format("expected a node declared above, got {}", excerpt(end.node)));
    if (end.port != 0) {
        if (end.port > fabric.node(node).ports)
            words.refuse(
                fmt::format("expected a port of {} from 1 to {}, got {}", end.node, fabric.node(node).ports, end.port));
        return {node, PortNum{static_cast<std::uint8_t>(end.port)}};
    }
    for (const fabric::Port& port : fabric.ports(node))
        if (!port.connected()) return {node, port.number};
    words.refuse(fmt::format("{} has no free port left", end.node));
}

void add_link(Scenario& scenario, Words& words) {
    const auto a = link_end(scenario.fabric, words);
    const auto b = link_end(scenario.fabric, words);
    fabric::LinkRate rate{fabric::Width::x4, fabric::Speed::qdr};
    if (!words.done()) {
        const std::string text = words.text("a rate such as 4xQDR");
        const auto parsed = fabric::parse_rate(text);
        if (!parsed || parsed->megabits() == 0)
            words.refuse(fmt::format("expected a rate such as 4xQDR, got {}", excerpt(text)));
        rate = *parsed;
    }
    words.end();
    try {
        scenario.fabric.connect(a.first, a.second, b.first, b.second, rate);
    } catch (const Error& error) {
        words.refuse(error.what());
    }
}

std::string host_name(const Scenario& scenario, Words& words, std::string_view what) {
    std::string name = words.text(what);
    if (scenario.fabric.node_count() == 0) return name;
    const NodeId node = find_node(scenario.fabric, name);
    if (node == no_node || scenario.fabric.node(node).kind != NodeKind::host)
        words.refuse(fmt::format("expected a host declared above, got {}", excerpt(name)));
    return name;
}

void add_flow(Scenario& scenario, Words& words) {
    FlowPlan flow;
    flow.source = words.source();
    flow.name = words.text("a name for the flow");
    if (std::ranges::find(scenario.flows, flow.name, &FlowPlan::name) != scenario.flows.end())
        words.refuse(fmt::format("there is a flow {} already; expected another name", excerpt(flow.name)));
    bool sized = false;
    while (!words.done()) {
        if (words.take("from")) {
            flow.from = host_name(scenario, words, "a host to send from");
        } else if (words.take("to")) {
            flow.to = host_name(scenario, words, "a host to send to");
        } else if (words.take("bytes")) {
            flow.bytes = words.bytes("a number of bytes");
            sized = true;
        } else if (words.take("endless")) {
            flow.endless = sized = true;
        } else if (words.take("message")) {
            flow.message = words.bytes("the bytes of a message", 1);
        } else if (words.take("start")) {
            flow.start = words.time("a time to start at");
        } else if (words.take("window")) {
            flow.window = static_cast<std::uint32_t>(words.number("a number of sends under way", 1, 1u << 20));
        } else if (words.take("sl")) {
            flow.sl = static_cast<std::uint8_t>(words.number("a service level", 0, service_levels - 1));
        } else {
            words.expected("from, to, bytes, endless, message, start, window or sl");
        }
    }
    if (flow.from.empty() || flow.to.empty() || !sized)
        words.refuse("expected a flow such as X-Y from X to Y bytes 3GB (or endless)");
    if (flow.from == flow.to) words.refuse(fmt::format("expected two hosts, got {} twice", excerpt(flow.from)));
    if (flow.endless && flow.bytes != 0) words.refuse("expected bytes or endless, got both");
    scenario.flows.push_back(std::move(flow));
}

void add_watch(Scenario& scenario, Words& words) {
    const PortEnd end = take_end(words, "NODE:PORT");
    if (end.port == 0) words.refuse(fmt::format("expected NODE:PORT, got {}", excerpt(end.node)));
    if (scenario.fabric.node_count() != 0) {
        const NodeId node = find_node(scenario.fabric, end.node);
        if (node == no_node) words.refuse(fmt::format("expected a node declared above, got {}", excerpt(end.node)));
        if (end.port > scenario.fabric.node(node).ports)
            words.refuse(fmt::format("expected a port of {} from 1 to {}, got {}", end.node,
                                     scenario.fabric.node(node).ports, end.port));
    }
    words.end();
    scenario.watch.push_back({end.node, end.port, words.source()});
}

void add_fault(Scenario& scenario, Words& words) {
    static constexpr std::array<std::string_view, 2> kinds{"link", "switch"};
    FaultPlan fault;
    fault.source = words.source();
    fault.at = words.time("the time of the fault");
    if (words.one_of(kinds) == 0) {
        const PortEnd end = take_end(words, "NODE:PORT");
        if (end.port == 0) words.refuse(fmt::format("expected NODE:PORT, got {}", excerpt(end.node)));
        fault.kind = Fault::Kind::link;
        fault.node = end.node;
        fault.port = end.port;
    } else {
        fault.kind = Fault::Kind::switch_;
        fault.node = words.text("a switch");
    }
    words.end();
    scenario.faults.push_back(std::move(fault));
}

void add_death(Scenario& scenario, Words& words) {
    FaultPlan fault;
    fault.source = words.source();
    fault.at = words.time("the time of the death");
    if (!words.take("rank")) words.expected("rank");
    fault.rank = static_cast<std::uint32_t>(words.number("a rank", 0, 1u << 24));
    words.end();
    scenario.faults.push_back(std::move(fault));
}

void set_text(std::string& value, Words& words, std::string_view what) {
    value = words.text(what);
    words.end();
}

void set_time(Time& value, Words& words, std::string_view what) {
    value = words.time(what);
    if (value.ps == 0) words.refuse(fmt::format("expected {} above 0", what));
    words.end();
}

// Which traffic, what is shown. False: no such word.
bool take_traffic(Scenario& scenario, std::string_view word, Words& words) {
    if (word == "flow") {
        add_flow(scenario, words);
    } else if (word == "pattern") {
        set_text(scenario.pattern, words, "a pattern's name");
    } else if (word == "schedule") {
        set_text(scenario.schedule, words, "a schedule's name");
    } else if (word == "goal") {
        set_text(scenario.goal_file, words, "a GOAL file");
    } else if (word == "bytes") {
        scenario.bytes = words.bytes("the bytes of a message");
    } else if (word == "work") {
        scenario.work = words.time("the time of a computation");
    } else if (word == "stages") {
        static constexpr std::array<std::string_view, 3> partings{"together", "own", "barrier"};
        scenario.parting = static_cast<traffic::Parting>(words.one_of(partings));
    } else if (word == "place") {
        set_text(scenario.place, words, "order, keepers, random or a file");
    } else if (word == "hosts") {
        set_text(scenario.hosts, words, "a list of hosts");
    } else if (word == "ranks") {
        scenario.ranks = words.number("a number of ranks", 1, 1u << 24);
    } else if (word == "until") {
        scenario.until.emplace();
        set_time(*scenario.until, words, "a time to end at");
    } else if (word == "sample") {
        set_time(scenario.sample.emplace(), words, "a time between samples");
    } else if (word == "watch") {
        add_watch(scenario, words);
    } else if (word == "fail") {
        add_fault(scenario, words);
    } else if (word == "kill") {
        add_death(scenario, words);
    } else if (word == "repair") {
        set_time(scenario.repair.emplace(), words, "a time until tables are repaired");
    } else if (word == "retry") {
        Retries& retries = scenario.options.packet.retries.emplace();
        retries.after = words.time("a time after which lost messages are sent again");
        if (!words.done()) retries.most = static_cast<unsigned>(words.number("how often", 0, 255));
    } else if (word == "manager") {
        std::string key = words.text("the name of a setting");
        std::string value = words.rest("a value of it");
        scenario.manager.push_back({std::move(key), std::move(value), words.source()});
    } else {
        return false;
    }
    return true;
}

bool take_fabric(Scenario& scenario, std::string_view word, Words& words) {
    if (word == "fabric") {
        if (scenario.fabric.node_count() != 0) words.refuse("nodes were declared above; expected no file beside them");
        set_text(scenario.fabric_file, words, "a fabric file");
    } else if (word == "switch") {
        add_node(scenario, NodeKind::switch_, words);
    } else if (word == "host") {
        add_node(scenario, NodeKind::host, words);
    } else if (word == "link") {
        add_link(scenario, words);
    } else if (word == "engine") {
        set_text(scenario.engine, words, "a routing engine's name");
    } else if (word == "tables") {
        set_text(scenario.tables_file, words, "a file of forwarding tables");
    } else if (word == "lmc") {
        scenario.lmc = static_cast<unsigned>(words.number("an LMC", 0, 7));
    } else {
        return false;
    }
    return true;
}

bool take_run(Scenario& scenario, std::string_view word, Words& words) {
    static constexpr std::array<std::string_view, 3> levels{"packet", "flow", "message"};
    if (word == "title") {
        scenario.title = words.rest("a title");
    } else if (word == "level") {
        scenario.level = static_cast<Level>(words.one_of(levels));
    } else if (word == "seed") {
        scenario.options.seed = words.number("a seed", 0, UINT64_MAX);
    } else if (word == "threads") {
        scenario.options.threads = static_cast<unsigned>(words.number("a number of threads", 0, 4096));
    } else {
        return false;
    }
    return true;
}

// Flows and what fabrics are made of may be many, and are of use at every level.
void note(Scenario& scenario, const std::string& word, std::string_view line, const Source& source) {
    for (const char* always : {"flow", "switch", "host", "link", "title", "manager"})
        if (word == always) return;
    SaidLine said{word, source};
    if (word == "congestion" || word == "paths") {
        Words words(line, source);
        (void)words.text("a keyword");
        if (!words.done()) said.keyword += ' ' + words.text("a setting");
    }
    scenario.said.push_back(std::move(said));
}

}  // namespace

void take_line(Scenario& scenario, std::string_view line, const Source& source) {
    Words words(line, source);
    if (words.done()) return;
    const std::string word = words.text("a keyword");
    note(scenario, word, line, source);
    if (!take_fabric(scenario, word, words) && !take_traffic(scenario, word, words) &&
        !take_run(scenario, word, words) && !take_setting(scenario, word, words))
        words.refuse(
            fmt::format("expected a keyword such as fabric, link, flow, pattern, level, until or congestion, got {}",
                        excerpt(word)));
    words.end();
}

void check_complete(const Scenario& scenario, const Source& source, Traffic traffic) {
    const auto refuse = [&](const std::string& message) { throw ParseError(source.file, 0, message); };
    const int kinds =
        !scenario.flows.empty() + !scenario.pattern.empty() + !scenario.schedule.empty() + !scenario.goal_file.empty();
    const bool plays = traffic == Traffic::scenario;  // what the scenario says itself
    if (plays && kinds == 0) refuse("expected traffic: flow, pattern, schedule or goal");
    if (plays && kinds > 1) refuse("expected one kind of traffic of flow, pattern, schedule and goal");
    if (!scenario.place.empty() && !scenario.hosts.empty())
        refuse("place and hosts both say where ranks sit; expected one of them");
    if (!scenario.tables_file.empty() && !scenario.engine.empty())
        refuse("tables and engine both say which way packets go; expected one of them");
    const bool has_fabric = !scenario.fabric_file.empty() || scenario.fabric.node_count() != 0;
    if (!has_fabric && scenario.level != Level::message)
        refuse(fmt::format("level {} needs a fabric: expected one, or level message, which needs none",
                           to_string(scenario.level)));
    if (plays && !scenario.goal_file.empty() && scenario.ranks != 0)
        refuse("a GOAL file says itself how many ranks there are");
    if (!has_fabric && scenario.ranks == 0 && (!plays || (scenario.goal_file.empty() && scenario.flows.empty())))
        refuse("without a fabric: expected ranks N");
    for (const FlowPlan& flow : scenario.flows)
        if (plays && flow.endless && !scenario.until)
            throw ParseError(flow.source.file, flow.source.line, "an endless flow needs an end: expected until TIME");
}

void take_text(Scenario& scenario, std::string_view text, const std::string& file_name) {
    Lines lines(text);
    for (std::string_view line; lines.next(line);) take_line(scenario, line, {file_name, lines.number()});
}

Scenario parse_scenario(std::string_view text, const std::string& file_name, Traffic traffic) {
    Scenario scenario;
    take_text(scenario, text, file_name);
    check_complete(scenario, {file_name, 0}, traffic);
    return scenario;
}

Scenario read_scenario(const std::filesystem::path& path, Traffic traffic) {
    Scenario scenario = parse_scenario(read_file(path), path.string(), traffic);
    if (path != "-") scenario.folder = path.parent_path();
    return scenario;
}

}  // namespace loom::sim
