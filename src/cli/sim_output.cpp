#include "cli/sim_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/costs.hpp"
#include "cli/output.hpp"
#include "loom/base/table.hpp"

namespace loom::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t few_flows = 20;      // all of them are shown
constexpr std::size_t most_json = 10'000;  // and in JSON

std::string time_text(Time time) {
    return time == never ? "-" : to_string(time);
}

std::string port_name(const sim::Setup& setup, PortIndex port) {
    const fabric::Port& p = setup.fabric.port(port);
    return fabric::describe(setup.fabric, p.node, p.number);
}

std::uint64_t delivered(const sim::Recording& recording) {
    std::uint64_t sum = 0;
    for (const sim::Flow& flow : recording.flows) sum += flow.delivered;
    return recording.flows.empty() ? recording.work.bytes : sum;
}

void print_flows(const SimResult& result) {
    const sim::Recording& r = result.recording;
    if (r.flows.empty()) return;
    std::vector<std::size_t> shown = result.slowest;
    const bool all = r.flows.size() <= few_flows;
    if (all) {
        shown.resize(r.flows.size());
        std::iota(shown.begin(), shown.end(), std::size_t{0});
    }
    if (shown.empty()) return;
    fmt::print("\n");
    Table table({{all ? "flow" : "slowest flows"},
                 {"delivered", Align::right},
                 {"of", Align::right},
                 {"begun", Align::right},
                 {"ended", Align::right},
                 {"Gbit/s", Align::right}});
    for (const std::size_t i : shown) {
        const sim::Flow& flow = r.flows[i];
        table.row({result.setup.flow_name(i, flow), human_bytes(flow.delivered),
                   result.setup.is_endless(i) ? "endless" : human_bytes(flow.bytes), time_text(flow.begun),
                   time_text(flow.ended), fmt::format("{:.3f}", sim::gigabits(flow, r.end))});
    }
    table.print();
}

void print_ports(const SimResult& result) {
    if (result.hottest.empty()) return;
    fmt::print("\n");
    const bool marks =
        std::ranges::any_of(result.hottest, [](const sim::PortLoad& load) { return load.counters.marked_fecn != 0; });
    std::vector<Column> columns{{"hottest ports"},      {"rate", Align::right},   {"sent", Align::right},
                                {"used", Align::right}, {"waited", Align::right}, {"packets", Align::right}};
    if (marks) columns.push_back({"marked", Align::right});
    Table table(columns);
    for (const sim::PortLoad& load : result.hottest) {
        std::vector<Cell> row{
            port_name(result.setup, load.port),         to_string(result.setup.fabric.port(load.port).rate),
            human_bytes(load.counters.xmit_data * 4),   fmt::format("{:.1f} %", 100 * load.used),
            fmt::format("{:.1f} %", 100 * load.waited), grouped(load.counters.xmit_pkts)};
        if (marks) row.emplace_back(grouped(load.counters.marked_fecn));
        table.row(row);
    }
    table.print();
}

void print_sufferers(const SimResult& result) {
    constexpr std::size_t most = 10;
    const std::vector<sim::Sufferer>& all = result.sufferers;
    if (all.empty()) return;
    fmt::print("\nbelow 0.8 of a fair share:\n");
    for (std::size_t i = 0; i < std::min(all.size(), most); ++i)
        fmt::print("  {}\n", describe(all[i], result.setup, result.recording));
    if (all.size() > most) fmt::print("  and {} more\n", grouped(all.size() - most));
}

ordered_json to_json(const SimResult& result, const sim::Sufferer& one) {
    const auto name = [&](PortIndex port) {
        return port == no_port ? ordered_json() : ordered_json(port_name(result.setup, port));
    };
    return {{"flow", result.setup.flow_name(one.flow, result.recording.flows[one.flow])},
            {"gbit_per_s", one.got},
            {"fair_gbit_per_s", one.fair},
            {"cause", to_string(one.cause)},
            {"waits_at", name(one.waits_at)},
            {"waited", one.waited},
            {"full_port", name(one.full)}};
}

bool uses_tables(const sim::Setup& setup) {
    return setup.graph != nullptr && setup.level != sim::Level::message;
}

// Where a rank sits, or null where there is no fabric or no place for it.
ordered_json host_of(const sim::Setup& setup, Rank rank) {
    if (setup.graph == nullptr || setup.placement.hosts[rank.value] == no_port) return {};
    return fabric::describe(setup.fabric, setup.fabric.port(setup.placement.hosts[rank.value]).node);
}

ordered_json seconds_or_null(Time time) {
    return time == never ? ordered_json() : ordered_json(time.seconds());
}

ordered_json to_json(const fabric::PortCounters& c) {
    return {{"xmit_data", c.xmit_data},     {"rcv_data", c.rcv_data},   {"xmit_pkts", c.xmit_pkts},
            {"rcv_pkts", c.rcv_pkts},       {"xmit_wait", c.xmit_wait}, {"xmit_cong_time", c.xmit_cong_time},
            {"marked_fecn", c.marked_fecn}, {"rcv_fecn", c.rcv_fecn},   {"rcv_becn", c.rcv_becn}};
}

ordered_json samples_json(const SimResult& result) {
    const sim::Recording& r = result.recording;
    ordered_json out{{"times_s", ordered_json::array()}, {"delivered_bytes", r.total}};
    for (const Time time : r.times) out["times_s"].push_back(time.seconds());
    out["flows"] = ordered_json::array();
    for (std::size_t f = 0; f < r.delivered.size(); ++f)
        out["flows"].push_back({{"flow", result.setup.flow_name(f, r.flows[f])}, {"delivered_bytes", r.delivered[f]}});
    out["ports"] = ordered_json::array();
    for (std::size_t p = 0; p < r.ports.size(); ++p) {
        ordered_json counters = ordered_json::array();
        for (const fabric::PortCounters& c : r.counters[p]) counters.push_back(to_json(c));
        out["ports"].push_back({{"port", port_name(result.setup, r.ports[p])}, {"counters", std::move(counters)}});
    }
    return out;
}

std::string_view origin_of(const model::LocalCosts& local) {
    return local == model::assumed_local() ? "assumed" : "from the scenario";
}

}  // namespace

std::string sim_speed(const sim::Recording& r) {
    const double seconds = std::max(r.wall_seconds, 1e-9);
    std::string text = counted(r.work.events, "event", "events");
    if (r.work.packets != 0) text += " and " + counted(r.work.packets, "packet", "packets");
    text += fmt::format(" in {}", human_seconds(seconds));
    if (r.work.packets != 0)
        return text + fmt::format(", {} packets a second",
                                  grouped(static_cast<std::size_t>(static_cast<double>(r.work.packets) / seconds)));
    return text + fmt::format(", {} events a second",
                              grouped(static_cast<std::size_t>(static_cast<double>(r.work.events) / seconds)));
}

void print_sim(const SimResult& result) {
    const sim::Recording& r = result.recording;
    const sim::Setup& setup = result.setup;
    if (!setup.title.empty()) fmt::print("{}\n", setup.title);
    fmt::print("level {}: {}, {}", to_string(r.level), setup.traffic, counted(setup.schedule.ranks(), "rank", "ranks"));
    if (uses_tables(setup)) fmt::print(", tables of {}", setup.tables.engine.empty() ? "a file" : setup.tables.engine);
    fmt::print("\n");
    if (r.level == sim::Level::message) {
        const model::LogGops& p = setup.options.message.parameters;
        fmt::print("LogGOPS with L {}, o {}, g {}, G {} ps/B, O {} ps/B, S {}, whatever the fabric\n", to_string(p.L),
                   to_string(p.o), to_string(p.g), p.G, p.O, counted(p.S, "byte", "bytes"));
    }
    fmt::print("{}\n", model::costs_line(setup.options.local, origin_of(setup.options.local)));
    switch (r.state) {
        case sim::State::finished:
            fmt::print("finished after {}", to_string(r.finish()));
            break;
        case sim::State::running:
            fmt::print("stopped at {}, not finished", to_string(r.end));
            break;
        case sim::State::deadlocked:
        case sim::State::stuck:
            fmt::print("{} after {}", to_string(r.state), to_string(r.end));
            break;
    }
    fmt::print(": {} delivered", human_bytes(delivered(r)));
    if (r.work.packets != 0) fmt::print(" in {}", counted(r.work.packets, "packet", "packets"));
    fmt::print("\n");
    for (const std::string& line : r.trouble) fmt::print("  {}\n", line);
    print_flows(result);
    print_sufferers(result);
    print_ports(result);
}

ordered_json sim_json(const SimResult& result) {
    const sim::Recording& r = result.recording;
    const sim::Setup& setup = result.setup;
    ordered_json out{{"title", setup.title},
                     {"level", to_string(r.level)},
                     {"state", to_string(r.state)},
                     {"traffic", setup.traffic},
                     {"ranks", setup.schedule.ranks()},
                     {"operations", setup.schedule.size()},
                     {"engine", uses_tables(setup) ? ordered_json(setup.tables.engine) : ordered_json()},
                     {"end_s", r.end.seconds()},
                     {"finish_s", seconds_or_null(r.finish())},
                     {"delivered_bytes", delivered(r)},
                     {"packets", r.work.packets},
                     {"events", r.work.events},
                     {"wall_s", r.wall_seconds},
                     {"rank_ends_s", ordered_json::array()},
                     {"flow_count", r.flows.size()}};
    if (r.level == sim::Level::message) {
        const model::LogGops& p = setup.options.message.parameters;
        out["loggops"] = {{"L_ps", p.L.ps}, {"o_ps", p.o.ps}, {"g_ps", p.g.ps},
                          {"G_ps", p.G},    {"O_ps", p.O},    {"S", p.S}};
    }
    out["costs"] = costs_json(setup.options.local, origin_of(setup.options.local));
    for (const Time end : r.rank_ends) out["rank_ends_s"].push_back(seconds_or_null(end));
    std::vector<std::size_t> shown = result.slowest;
    if (r.flows.size() <= most_json) {
        shown.resize(r.flows.size());
        std::iota(shown.begin(), shown.end(), std::size_t{0});
    }
    out["flows"] = ordered_json::array();
    for (const std::size_t i : shown) {
        const sim::Flow& flow = r.flows[i];
        out["flows"].push_back({{"flow", setup.flow_name(i, flow)},
                                {"from", flow.from.value},
                                {"to", flow.to.value},
                                {"from_host", host_of(setup, flow.from)},
                                {"to_host", host_of(setup, flow.to)},
                                {"bytes", setup.is_endless(i) ? ordered_json() : ordered_json(flow.bytes)},
                                {"delivered_bytes", flow.delivered},
                                {"begun_s", seconds_or_null(flow.begun)},
                                {"ended_s", seconds_or_null(flow.ended)},
                                {"gbit_per_s", sim::gigabits(flow, r.end)}});
    }
    out["slowest"] = ordered_json::array();
    for (const std::size_t i : result.slowest) out["slowest"].push_back(setup.flow_name(i, r.flows[i]));
    out["suffering"] = ordered_json::array();
    for (const sim::Sufferer& one : result.sufferers) out["suffering"].push_back(to_json(result, one));
    out["hottest_ports"] = ordered_json::array();
    for (const sim::PortLoad& load : result.hottest)
        out["hottest_ports"].push_back({{"port", port_name(setup, load.port)},
                                        {"rate", to_string(setup.fabric.port(load.port).rate)},
                                        {"used", load.used},
                                        {"waited", load.waited},
                                        {"counters", to_json(load.counters)}});
    if (!r.times.empty()) out["samples"] = samples_json(result);
    out["trouble"] = r.trouble;
    out["remarks"] = setup.remarks;
    return out;
}

}  // namespace loom::cli
