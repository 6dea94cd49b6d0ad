#include "loom/sim/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/table.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/placement_doubts.hpp"
#include "loom/routing/engine.hpp"
#include "loom/sim/unused.hpp"
#include "loom/traffic/catalogue.hpp"
#include "loom/traffic/goal.hpp"
#include "loom/traffic/matching.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::sim {
namespace {

std::filesystem::path resolve(const Scenario& scenario, const std::string& name) {
    return name == "-" ? std::filesystem::path(name) : scenario.folder / name;
}

[[noreturn]] void refuse(const Source& source, const std::string& message) {
    throw ParseError(source.file, source.line, message);
}

void append(std::vector<std::string>& all, std::vector<std::string> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void load_fabric(Scenario& scenario, Setup& setup) {
    if (scenario.fabric_file.empty()) {
        setup.fabric = std::move(scenario.fabric);
        fabric::mark_shared_names(setup.fabric);
    } else {
        fabric::Reading reading = fabric::read_fabric(resolve(scenario, scenario.fabric_file));
        setup.fabric = std::move(reading.fabric);
        setup.remarks = std::move(reading.remarks);
    }
    routing::Sources sources;
    sources.lmc = scenario.lmc;
    sources.expects_lids = !scenario.fabric_file.empty();
    if (scenario.tables_file.empty())
        sources.engine = &routing::find_engine(scenario.engine.empty() ? "minhop" : scenario.engine);
    else
        sources.tables = resolve(scenario, scenario.tables_file);
    sources.route.seed = scenario.options.seed;
    sources.route.threads = scenario.options.threads;
    routing::open(setup, sources);
}

// A pattern without the pairs that have a place keeper at an end.
class PlacedPattern final : public traffic::Pattern {
public:
    PlacedPattern(const traffic::Pattern& whole, const fabric::Placement& placement)
        : whole_(&whole), placement_(&placement) {}
    [[nodiscard]] std::string name() const override { return whole_->name(); }
    [[nodiscard]] std::size_t ranks() const override { return whole_->ranks(); }
    [[nodiscard]] std::size_t stages() const override { return whole_->stages(); }
    void stage(std::size_t index, std::vector<traffic::Pair>& out) const override {
        whole_->stage(index, out);
        const auto keeper = [&](Rank rank) { return placement_->hosts[rank.value] == no_port; };
        std::erase_if(out, [&](const traffic::Pair& pair) { return keeper(pair.from) || keeper(pair.to); });
    }

private:
    const traffic::Pattern* whole_;
    const fabric::Placement* placement_;
};

// How many bytes a flow can at most bring under way until the end.
std::uint64_t endless_bytes(const FlowPlan& flow, const Setup& setup, Time until, PortIndex host) {
    const auto span = static_cast<double>(std::max<std::int64_t>(0, (until - flow.start).ps));
    if (host == no_port) {
        const model::LogGops& p = setup.options.message.parameters;
        const double message =
            std::max(static_cast<double>(p.g.ps) + static_cast<double>(p.G) * static_cast<double>(flow.message),
                     static_cast<double>(p.o.ps));
        if (message <= 0)
            refuse(flow.source, "an endless flow of messages that cost nothing: expected g, G or o above 0");
        return static_cast<std::uint64_t>(span / message * static_cast<double>(flow.message)) + flow.message;
    }
    const std::uint32_t megabits = setup.fabric.port(host).rate.megabits();
    return static_cast<std::uint64_t>(span * 1e-12 * 125'000 * (megabits == 0 ? 32'000 : megabits)) + flow.message;
}

void add_flow(traffic::ScheduleBuilder& builder, const FlowPlan& flow, std::uint32_t index, std::uint64_t bytes) {
    const Rank from{2 * index}, to{2 * index + 1};
    constexpr std::uint32_t none = 0xffffffffu;
    const std::uint32_t wait = flow.start.ps == 0 ? none : builder.compute(from, flow.start);
    std::vector<std::uint32_t> sends;  // the last `window` of them, in turn
    for (std::uint64_t done = 0, number = 0; done < bytes || number == 0; ++number) {
        const std::uint64_t size = std::min(flow.message, bytes - done);
        traffic::Op op;
        op.kind = traffic::OpKind::send;
        op.amount = size;
        op.peer = to;
        op.sl = flow.sl;
        const std::uint32_t send = builder.add(from, op);
        builder.receive(to, from, size);
        if (number >= flow.window)
            builder.require(from, send, sends[number % flow.window]);
        else if (wait != none)
            builder.require(from, send, wait);
        if (number < flow.window)
            sends.push_back(send);
        else
            sends[number % flow.window] = send;
        done += size;
    }
}

// Two ranks for each flow. Hosts are named as placements name them: by name, its first word, GUID or LID. But two flows
// that name a host need not mean two hosts of that name, so that every name that fits several is doubtful.
fabric::Placement place_flows(const std::vector<FlowPlan>& flows, const fabric::Fabric& fabric,
                              std::vector<std::string>& remarks) {
    std::string names;
    for (const FlowPlan& flow : flows) names += flow.from + '\n' + flow.to + '\n';
    const auto refuse_host = [&](std::size_t rank) {
        const FlowPlan& flow = flows[rank / 2];
        refuse(flow.source, fmt::format("expected a host of the fabric that is connected to a switch, got {}",
                                        excerpt(rank % 2 == 0 ? flow.from : flow.to)));
    };
    fabric::Placement placement;
    try {
        placement = fabric::read_placement(fabric, names, "hosts");
    } catch (const ParseError& error) {
        refuse_host(error.line() - 1);
    }
    for (std::size_t rank = 0; rank < placement.ranks(); ++rank)
        if (placement.hosts[rank] == no_port) refuse_host(rank);
    if (placement.ranks() != 2 * flows.size())
        throw Error("a flow goes from one host to another; expected no lists of hosts");
    std::set<std::string_view> each;
    std::string once;
    for (const FlowPlan& flow : flows)
        for (const std::string* name : {&flow.from, &flow.to})
            if (each.insert(*name).second) once += *name + '\n';
    append(remarks, fabric::placement_doubts(fabric, once));
    return placement;
}

void make_flows(const Scenario& scenario, Setup& setup) {
    if (setup.graph != nullptr) setup.placement = place_flows(scenario.flows, setup.fabric, setup.remarks);
    std::uint64_t operations = 0;
    traffic::ScheduleBuilder builder(2 * scenario.flows.size());
    for (std::uint32_t i = 0; i < scenario.flows.size(); ++i) {
        const FlowPlan& flow = scenario.flows[i];
        const PortIndex host = setup.graph == nullptr ? no_port : setup.placement.hosts[2 * i];
        const std::uint64_t bytes = flow.endless ? endless_bytes(flow, setup, *scenario.until, host) : flow.bytes;
        operations += 2 * (bytes / flow.message + 1);
        if (operations > traffic::most_operations)
            refuse(flow.source, fmt::format("the flows have more than {} messages; expected larger ones",
                                            grouped(traffic::most_operations / 2)));
        add_flow(builder, flow, i, bytes);
        setup.flow_names.push_back(flow.name);
        setup.endless.push_back(flow.endless);
    }
    setup.schedule = builder.build();
    setup.traffic = scenario.flows.size() == 1 ? "1 flow" : grouped(scenario.flows.size()) + " flows";
}

void make_pattern(const Scenario& scenario, Setup& setup, std::size_t ranks) {
    constexpr std::string_view pairs = "pairs:";
    std::string spec = scenario.pattern;
    if (spec.starts_with(pairs)) spec = std::string(pairs) + resolve(scenario, spec.substr(pairs.size())).string();
    const auto pattern = traffic::make_pattern(spec, ranks, scenario.options.seed);
    setup.traffic = fmt::format("pattern {}, {} a message", pattern->name(), human_bytes(scenario.bytes));
    if (setup.graph == nullptr)
        setup.schedule = traffic::from_pattern(*pattern, scenario.bytes, scenario.parting);
    else
        setup.schedule =
            traffic::from_pattern(PlacedPattern(*pattern, setup.placement), scenario.bytes, scenario.parting);
}

void make_traffic(const Scenario& scenario, Setup& setup) {
    if (!scenario.flows.empty()) return make_flows(scenario, setup);
    if (setup.graph != nullptr)
        setup.placement = fabric::place_ranks(
            setup.fabric, {scenario.place, scenario.hosts, scenario.options.seed, scenario.folder}, setup.remarks);
    if (!scenario.goal_file.empty()) {
        const std::filesystem::path path = resolve(scenario, scenario.goal_file);
        const FileText file(path);
        setup.schedule = traffic::read_goal(file.text(), path.string());
        setup.traffic = "GOAL file " + path.filename().string();
        const traffic::Truncations odd = traffic::find_truncations(setup.schedule);
        if (odd.count != 0) setup.remarks.push_back(traffic::truncation_text(setup.schedule, odd));
        return;
    }
    const std::size_t places = setup.placement.ranks();
    if (setup.graph != nullptr && scenario.ranks > places)
        throw Error(fmt::format("{} ranks were asked for, the fabric has places for {}", scenario.ranks, places));
    const std::size_t ranks = scenario.ranks != 0 ? scenario.ranks : places;
    if (!scenario.pattern.empty()) return make_pattern(scenario, setup, ranks);
    setup.schedule =
        traffic::make_schedule(scenario.schedule, ranks, {scenario.bytes, scenario.work, scenario.options.seed});
    setup.traffic = fmt::format("schedule {}, {} a message", scenario.schedule, human_bytes(scenario.bytes));
}

// Ranks where the scenario says; flows beside them.
void make_room(const Scenario& scenario, Setup& setup) {
    setup.traffic = "programs";
    setup.ranks = scenario.ranks;
    fabric::Placement ends;  // of flows
    if (setup.graph != nullptr) {
        setup.placement = fabric::place_ranks(
            setup.fabric, {scenario.place, scenario.hosts, scenario.options.seed, scenario.folder}, setup.remarks);
        if (scenario.ranks > setup.placement.ranks())
            throw Error(fmt::format("{} ranks were asked for, the fabric has places for {}", scenario.ranks,
                                    setup.placement.ranks()));
        if (scenario.ranks != 0) setup.placement.hosts.resize(scenario.ranks);
        if (!scenario.flows.empty()) ends = place_flows(scenario.flows, setup.fabric, setup.remarks);
    }
    if (scenario.level == Level::message) {
        if (!scenario.flows.empty())
            setup.remarks.emplace_back(
                "level message has no links on which flows could disturb a program; not used: flow");
        return;
    }
    for (std::size_t i = 0; i < scenario.flows.size(); ++i) {
        setup.background.push_back({scenario.flows[i]});
        if (setup.graph == nullptr) continue;
        setup.background.back().from = ends.hosts[2 * i];
        setup.background.back().to = ends.hosts[2 * i + 1];
    }
}

// A host by the first word of its name, its GUID or LID, as flows and placements name it.
NodeId host_called(const std::string& name, const fabric::Fabric& fabric) try {
    const fabric::Placement place = fabric::read_placement(fabric, name, "hosts");
    return place.ranks() == 1 && place.hosts[0] != no_port ? fabric.port(place.hosts[0]).node : no_node;
} catch (const Error&) {
    return no_node;
}

NodeId node_called(const std::string& name, const Source& source, const fabric::Fabric& fabric) {
    NodeId found = no_node;
    for (std::uint32_t i = 0; i < fabric.node_count() && found == no_node; ++i)
        if (fabric.node(NodeId{i}).name == name) found = NodeId{i};
    if (found == no_node) found = host_called(name, fabric);
    if (found == no_node) refuse(source, fmt::format("expected a node of the fabric, got {}", excerpt(name)));
    return found;
}

PortIndex port_called(const PortName& name, const fabric::Fabric& fabric) {
    const NodeId node = node_called(name.node, name.source, fabric);
    if (name.port > fabric.node(node).ports)
        refuse(name.source, fmt::format("expected a port of {} from 1 to {}, got {}", name.node,
                                        fabric.node(node).ports, name.port));
    return fabric.port_index(node, PortNum{static_cast<std::uint8_t>(name.port)});
}

void find_faults(const Scenario& scenario, Setup& setup) {
    setup.repair = scenario.repair;
    for (const FaultPlan& plan : scenario.faults) {
        Fault fault{.kind = plan.kind, .at = plan.at, .rank = Rank{plan.rank}};
        if (plan.kind != Fault::Kind::rank && setup.graph == nullptr)
            refuse(plan.source, "expected a fabric, of which something may fail");
        if (plan.kind == Fault::Kind::link) {
            fault.port = port_called({plan.node, plan.port, plan.source}, setup.fabric);
            if (!setup.fabric.port(fault.port).connected())
                refuse(plan.source, fmt::format("{} port {} has no cable that may fail", plan.node, plan.port));
        } else if (plan.kind == Fault::Kind::switch_) {
            fault.node = node_called(plan.node, plan.source, setup.fabric);
            if (setup.fabric.node(fault.node).kind != fabric::NodeKind::switch_)
                refuse(plan.source, fmt::format("expected a switch, got {}", excerpt(plan.node)));
        }
        setup.faults.push_back(fault);
    }
}

}  // namespace

std::string Setup::flow_name(std::size_t index, const Flow& flow) const {
    if (index < flow_names.size()) return flow_names[index];
    if (const std::size_t mine = graph == nullptr ? ranks : placement.ranks();
        !background.empty() && flow.from.value >= mine)
        return background[(flow.from.value - mine) / 2].plan.name;
    std::string name = fmt::format("{} -> {}", flow.from.value, flow.to.value);
    if (graph == nullptr) return name;
    const auto host = [&](Rank rank) {
        const PortIndex port = placement.hosts[rank.value];
        return port == no_port ? std::string("-") : fabric::describe(fabric, fabric.port(port).node);
    };
    return fmt::format("{} ({} -> {})", name, host(flow.from), host(flow.to));
}

Network Setup::whole_network() const {
    Network all = network();
    for (const PlacedFlow& flow : background) {
        all.placement.hosts.push_back(flow.from);
        all.placement.hosts.push_back(flow.to);
    }
    return all;
}

std::unique_ptr<Setup> set_up(Scenario scenario, Traffic traffic) {
    auto setup = std::make_unique<Setup>();
    const std::vector<std::string> unused = describe(unused_lines(scenario, traffic));  // its fabric moves on
    setup->title = scenario.title;
    setup->level = scenario.level;
    setup->options = scenario.options;
    setup->options.message.flows = true;
    CongestionControl& control = setup->options.packet.congestion;
    if (control.switches.threshold != 0 && control.table.empty()) control.table = halving_table();
    setup->until = scenario.until;
    setup->sample = scenario.sample;
    setup->manager = scenario.manager;
    if (!scenario.fabric_file.empty() || scenario.fabric.node_count() != 0) load_fabric(scenario, *setup);
    if (traffic == Traffic::scenario)
        make_traffic(scenario, *setup);
    else
        make_room(scenario, *setup);
    if (traffic == Traffic::programs) find_faults(scenario, *setup);
    if (scenario.level != Level::message)
        for (const PortName& name : scenario.watch) setup->watch.push_back(port_called(name, setup->fabric));
    append(setup->remarks, unused);
    return setup;
}

}  // namespace loom::sim
