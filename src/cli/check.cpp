// loom check: are these tables any good?
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/routed.hpp"
#include "loom/base/progress.hpp"
#include "loom/routing/check.hpp"

namespace loom::cli {

using nlohmann::ordered_json;
using routing::CheckReport;
using routing::SwitchGraph;

namespace {

struct Options {
    Common common;
    std::string fabric;
    std::string tables;
    unsigned threads = 0;
};

ordered_json loop_json(const SwitchGraph& graph, const routing::CreditLoop& loop) {
    ordered_json channels = ordered_json::array();
    for (const auto channel : loop.channels) channels.push_back(describe(graph, channel));
    return {{"lane", loop.lane}, {"channels", std::move(channels)}};
}

ordered_json to_json(const SwitchGraph& graph, const CheckReport& report, const std::vector<std::string>& remarks) {
    const auto histogram = [](const std::vector<std::uint64_t>& counts) {
        ordered_json object = ordered_json::object();
        for (std::size_t i = 0; i < counts.size(); ++i)
            if (counts[i] != 0) object[std::to_string(i)] = counts[i];
        return object;
    };
    const auto fault = [&](routing::Fault f) { return report.faults[static_cast<std::size_t>(f)]; };
    ordered_json examples = ordered_json::array(), loops = ordered_json::array(), balance = ordered_json::array(),
                 slow = ordered_json::array();
    for (const auto& bad : report.examples) examples.push_back(describe(graph, bad));
    for (const auto& loop : report.loops) loops.push_back(loop_json(graph, loop));
    for (const auto& b : report.balance) {
        const char* direction = b.direction == routing::Direction::up     ? "up"
                                : b.direction == routing::Direction::down ? "down"
                                                                          : "inside";
        balance.push_back({{"level", b.level},
                           {"direction", direction},
                           {"channels", b.channels},
                           {"least", b.least},
                           {"mean", b.mean},
                           {"most", b.most}});
    }
    for (const auto& link : report.slow) {
        const fabric::Port& port = graph.fabric().port(link.port);
        slow.push_back({{"port", fabric::describe(graph.fabric(), port.node, port.number)},
                        {"rate", fabric::to_string(link.rate)},
                        {"supported", fabric::to_string(link.supported)}});
    }
    ordered_json object{{"ok", report.ok()},
                        {"reason", report.reason(graph)},
                        {"switches", report.switches},
                        {"hosts", report.hosts},
                        {"lids", report.lids},
                        {"routes", report.routes},
                        {"no_entry", fault(routing::Fault::no_entry)},
                        {"dead_end", fault(routing::Fault::dead_end)},
                        {"loop", fault(routing::Fault::loop)},
                        {"lost", std::move(examples)},
                        {"host_pairs", report.host_pairs},
                        {"hops", histogram(report.hops)},
                        {"detours", histogram(report.excess)},
                        {"pieces", report.pieces},
                        {"split_pairs", report.split_pairs},
                        {"lanes", report.lanes},
                        {"credit_loops", std::move(loops)},
                        {"balance", std::move(balance)},
                        {"slow_links", std::move(slow)}};
    if (!report.management.channels.empty()) object["management_loop"] = loop_json(graph, report.management);
    ordered_json all = remarks;
    for (const std::string& remark : report.remarks) all.push_back(remark);
    object["remarks"] = std::move(all);
    return object;
}

void run(const Options& options, int& exit_code) {
    check_inputs({{"FABRIC", options.fabric}, {"TABLES", options.tables}});
    routing::RoutedFabric routed;
    routing::Sources sources;
    sources.tables = options.tables;
    load_routed(routed, options.fabric, sources, options.common);
    const SwitchGraph& graph = *routed.graph;

    Progress progress("checking", options.common.quiet ? Show::nothing : Show::automatic);
    routing::CheckOptions how;
    how.threads = options.threads;
    how.progress = progress.callback();
    const CheckReport report = routing::check(graph, routed.tables, how);
    progress.finish();

    if (options.common.json) {
        print_json(to_json(graph, report, routed.remarks));
    } else {
        std::fputs(to_text(graph, report).c_str(), stdout);
    }
    exit_code = report.ok() ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& program, int& exit_code) {
    auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("check", "Are tables reachable, loop-free, deadlock-free, balanced?");
    app->add_option("FABRIC", options->fabric, "Fabric to read, any known format; - is standard input")->required();
    app->add_option("TABLES", options->tables, "Forwarding tables of it, any known format")->required();
    app->add_option("-j,--threads", options->threads, "Threads, 0 for all cores; the answer does not depend on it")
        ->check(thread_count())
        ->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "Follows every route from every switch to every LID. The answer is yes when all arrive that cables\n"
        "join, none loops, every two hosts share a piece of the fabric (rails are fine), and the channels\n"
        "that packets between hosts wait for have no cycle on any virtual lane. Detours, balance by level and\n"
        "links below their width or speed are reported and do not fail. Exit code 1 when the answer is no.");
    app->callback([options, &exit_code] { run(*options, exit_code); });
}

}  // namespace loom::cli
