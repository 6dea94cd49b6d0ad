// loom route: forwarding tables for a fabric.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/routed.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/guid_file.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/reroute.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::cli {

using nlohmann::ordered_json;

namespace {

struct Options {
    Common common;
    std::string fabric;
    std::string engine;
    std::string output;
    std::string format;
    std::string keep;
    std::string roots;
    std::string compute;
    unsigned lmc = 0;
    std::uint64_t seed = 1;
    unsigned threads = 0;
    unsigned lanes = 8;
    bool place_keepers = false;
    bool force = false;
};

struct Outcome {
    routing::Tables tables;
    std::vector<std::string> remarks;
    double seconds = 0;
    std::optional<routing::Rerouted> kept;  // when old tables were to be kept
};

// With --keep the tables of `routed` are those from before.
Outcome route(const Options& options, const routing::RoutedFabric& routed, const routing::Engine& engine) {
    const routing::SwitchGraph& graph = *routed.graph;
    Progress progress("routing", options.common.quiet ? Show::nothing : Show::automatic);
    routing::RouteOptions how;
    how.seed = options.seed;
    how.threads = options.threads;
    how.lanes = options.lanes;
    how.place_keepers = options.place_keepers;
    if (!options.roots.empty()) how.roots = fabric::read_guids(options.roots);
    if (!options.compute.empty()) how.compute = fabric::read_guids(options.compute);
    how.progress = progress.callback();

    Outcome result;
    const auto start = std::chrono::steady_clock::now();
    if (!options.keep.empty()) {
        result.kept = routing::reroute(graph, routed.tables, how);
        result.tables = std::move(result.kept->tables);
        result.remarks = result.kept->remarks;
    } else {
        routing::Routing made = run_engine(engine, graph, how);
        result.tables = std::move(made.tables);
        result.remarks = std::move(made.remarks);
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

void report(const Options& options, const routing::SwitchGraph& graph, const Outcome& outcome,
            const std::vector<std::string>& earlier_remarks) {
    const std::size_t hosts = graph.host_destinations().size();
    if (options.common.json) {
        ordered_json remarks = earlier_remarks;
        for (const std::string& remark : outcome.remarks) remarks.push_back(remark);
        ordered_json object{{"engine", outcome.tables.engine},  {"end_ports", hosts},
                            {"switches", graph.switch_count()}, {"seconds", outcome.seconds},
                            {"bytes", outcome.tables.bytes()},  {"lanes", outcome.tables.lane_count()},
                            {"output", options.output}};
        if (outcome.kept)
            object["kept"] = {{"entries", outcome.kept->entries},
                              {"changed", outcome.kept->changed},
                              {"added", outcome.kept->added},
                              {"unavoidable", outcome.kept->unavoidable},
                              {"switches_changed", outcome.kept->switches_changed}};
        object["remarks"] = std::move(remarks);
        print_json(object);
        return;
    }
    // Tables on standard output leave standard error for the summary.
    std::FILE* out = options.output == "-" ? stderr : stdout;
    const std::string who = outcome.tables.engine.empty() ? "kept" : outcome.tables.engine;
    std::string text =
        fmt::format("{}: {} end ports on {} switches in {}, tables of {}", who, grouped(hosts),
                    grouped(graph.switch_count()), human_seconds(outcome.seconds), human_bytes(outcome.tables.bytes()));
    if (const unsigned lanes = outcome.tables.lane_count(); lanes > 1) text += fmt::format(", {} virtual lanes", lanes);
    text += '\n';
    if (outcome.kept)
        text += fmt::format("{} of {} entries changed on {} switches ({} had to), {} added\n",
                            grouped(outcome.kept->changed), grouped(outcome.kept->entries),
                            grouped(outcome.kept->switches_changed), grouped(outcome.kept->unavoidable),
                            grouped(outcome.kept->added));
    std::fputs(text.c_str(), out);
}

void run(const Options& options) {
    check_inputs({{"FABRIC", options.fabric}, {"--keep", options.keep}});
    check_outputs({{"-o", options.output}}, options.common);
    if (options.format.empty()) check_ending({"-o", options.output}, "forwarding tables", {".lft", ".lfts", ".fdbs"});
    if (!options.keep.empty() && !options.engine.empty())
        throw UsageError("--keep changes old tables as little as can be; it takes no --engine");
    const routing::Engine& engine = routing::find_engine(options.engine.empty() ? "ftree" : options.engine);
    const routing::TableFormat format = options.format.empty() ? routing::table_format_for(options.output)
                                                               : routing::parse_table_format(options.format);

    routing::RoutedFabric routed;
    routing::Sources sources;
    sources.tables = options.keep;
    sources.fit = routing::Fit::changed;
    sources.lmc = options.lmc;
    load_routed(routed, options.fabric, sources, options.common);
    const routing::SwitchGraph& graph = *routed.graph;
    if (graph.switch_count() == 0)
        throw Error(fmt::format("{}: there is no switch, so there is nothing to route", options.fabric));
    const Outcome outcome = route(options, routed, engine);
    print_remarks(outcome.remarks, options.common);
    routing::WriteOptions write;
    write.force = options.force;
    write_file(options.output,
               [&](std::ostream& out) { routing::write_tables(outcome.tables, graph, out, format, write); });
    report(options, graph, outcome, routed.remarks);
}

std::string engine_list() {
    std::string text = "Engines:\n";
    for (const routing::Engine& engine : routing::engines())
        text += fmt::format("  {:<8} {}\n", engine.name, engine.summary);
    return text;
}

}  // namespace

void add_route(CLI::App& program, int& exit_code) {
    auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("route", "Compute forwarding tables for a fabric");
    app->add_option("FABRIC", options->fabric, "Fabric to read, any known format; - is standard input")->required();
    app->add_option("--engine", options->engine, "How to route, see below")->type_name("NAME")->default_str("ftree");
    app->add_option("-o,--output", options->output, "File to write; - is standard output")
        ->required()
        ->type_name("FILE");
    app->add_option("--format,--to", options->format,
                    "opensm, dump_lfts, fdbs or json (default: by the file's name, else opensm)")
        ->type_name("NAME");
    app->add_option("--keep", options->keep, "Tables from before a change: keep all of them that still works")
        ->type_name("OLD");
    app->add_option("--roots", options->roots,
                    "File with the GUIDs of the top switches, one a line: a hint, never needed")
        ->type_name("FILE");
    app->add_option("--compute", options->compute,
                    "File with the GUIDs of the hosts that compute, one a line: a hint, never needed")
        ->type_name("FILE");
    app->add_option("--lmc", options->lmc, "2^LMC LIDs for each host that has none yet")
        ->check(whole_number(0, 7))
        ->capture_default_str();
    app->add_option("--lanes", options->lanes, "Virtual lanes that dfsssp may use")
        ->check(whole_number(1, 15))
        ->capture_default_str();
    app->add_option("--seed", options->seed, "Seed of engines that choose at random")
        ->check(any_seed())
        ->capture_default_str();
    app->add_option("-j,--threads", options->threads, "Threads, 0 for all cores; the tables do not depend on it")
        ->check(thread_count())
        ->capture_default_str();
    app->add_flag("--place-keepers", options->place_keepers,
                  "ftree: route as if hosts missing from a leaf were there, so that one host more or less\n"
                  "leaves the routes to all others alone");
    app->add_flag("--force", options->force,
                  "Write tables that need several virtual lanes in a form that cannot say so");
    add_common(*app, options->common);
    app->footer(
        engine_list() +
        "\n"
        "With --keep OLD the tables from before a fault or an extension are changed as little as can be: routes\n"
        "that still work stay, up/down routes of a tree stay up/down, and no credit loop arises.");
    app->callback([options, &exit_code] {
        run(*options);
        exit_code = 0;
    });
}

}  // namespace loom::cli
