// loom twin: programs with ranks on a simulated fabric, in virtual time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/routed.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"
#include "loom/base/text.hpp"
#include "loom/twin/processes.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    twin::Processes processes;
    std::uint32_t ranks = 1;
    std::string fabric, tables, engine, place, hosts, level, look = "50ns";
    std::uint64_t seed = 1;
    std::uint32_t per_host = 0;
    bool tag = false;
    double timeout = 0;
};

sim::Level level_of(const Options& options) {
    if (options.level.empty()) return options.fabric.empty() ? sim::Level::message : sim::Level::packet;
    for (const sim::Level level : {sim::Level::packet, sim::Level::flow, sim::Level::message})
        if (options.level == sim::to_string(level)) return level;
    throw UsageError("--level " + options.level + ": expected packet, flow or message");
}

// In blocks: so many neighbours on each host.
void place(const Options& options, routing::RoutedFabric& routed, twin::Options& run) {
    routing::Sources sources{.tables = options.tables};
    if (options.tables.empty())
        sources.engine = &routing::find_engine(options.engine.empty() ? "ftree" : options.engine);
    if (!options.tables.empty() && !options.engine.empty())
        throw UsageError("--tables and --engine: the fabric is routed already, or now");
    load_routed(routed, options.fabric, sources, options.common);
    std::vector<std::string> odd;
    fabric::Placement all =
        fabric::place_ranks(routed.fabric, {.how = options.place, .hosts = options.hosts, .seed = options.seed}, odd);
    print_remarks(odd, options.common);
    std::erase(all.hosts, no_port);
    if (all.hosts.empty()) throw Error("the fabric has no host for a rank");
    const auto hosts = static_cast<std::uint32_t>(all.hosts.size());
    const std::uint32_t each = options.per_host != 0 ? options.per_host : (options.ranks + hosts - 1) / hosts;
    if (std::uint64_t{each} * hosts < options.ranks)
        throw UsageError(fmt::format("{} ranks with {} on each of {} hosts: there is room for {}", options.ranks, each,
                                     hosts, std::uint64_t{each} * hosts));
    for (std::uint32_t rank = 0; rank < options.ranks; ++rank)
        run.network.placement.hosts.push_back(all.hosts[rank / each]);
    run.network.graph = routed.graph.get();
    run.network.tables = &routed.tables;
}

nlohmann::ordered_json to_json(const twin::ProcessResult& run, const Options& options, sim::Level level) {
    const twin::Result& result = run.result;
    const auto picoseconds = [](Time time) -> nlohmann::ordered_json {
        if (time == never) return nullptr;
        return time.ps;
    };
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
        const twin::RankTimes& times = result.ranks[rank];
        ranks.push_back({{"rank", rank},
                         {"end_ps", picoseconds(times.end)},
                         {"computing_ps", times.computing.ps},
                         {"waiting_ps", times.waiting.ps},
                         {"messages", times.messages},
                         {"bytes", times.bytes},
                         {"exit_code", rank < run.outcome.ranks.size() ? run.outcome.ranks[rank].exit_code : 0}});
    }
    return {{"program", options.processes.launch.program},
            {"level", sim::to_string(level)},
            {"state", sim::to_string(result.state)},
            {"finish_ps", picoseconds(result.finish)},
            {"exit_code", run.outcome.exit_code()},
            {"computation", options.processes.processor > 0 ? "measured" : "declared"},
            {"seconds", run.outcome.seconds},
            {"events", result.work.events},
            {"packets", result.work.packets},
            {"ranks", ranks},
            {"trouble", result.trouble}};
}

// To standard error: standard output is the program's.
void print(const twin::ProcessResult& run, const Options& options, sim::Level level) {
    const twin::Result& result = run.result;
    for (const std::string& line : result.trouble) fmt::print(stderr, "loom: {}\n", line);
    if (result.finish == never || options.common.quiet) return;
    Time computing{}, waiting{};
    for (const twin::RankTimes& times : result.ranks) {
        computing += times.computing;
        waiting += times.waiting;
    }
    const auto share = [&](Time part) {
        const double whole = static_cast<double>(result.finish.ps) * static_cast<double>(result.ranks.size());
        return whole == 0 ? 0.0 : 100 * static_cast<double>(part.ps) / whole;
    };
    fmt::print(stderr,
               "loom: {} at the {} level: {} of virtual time; computing {:.0f} %, waiting {:.0f} % of it; computation "
               "{}; {:.1f} s\n",
               counted(result.ranks.size(), "rank", "ranks"), sim::to_string(level), to_string(result.finish),
               share(computing), share(waiting), options.processes.processor > 0 ? "measured" : "declared",
               run.outcome.seconds);
}

int run(Options& options) {
    if (options.tag && options.common.json)
        throw UsageError("--tag-output and --json: the ranks' output goes to standard error, as it is");
    twin::Options run;
    run.ranks = options.ranks;
    run.level = level_of(options);
    const auto look = parse_time(options.look);
    if (!look) throw UsageError("--look " + options.look + ": expected a time with a unit, as 50ns");
    run.look = *look;
    run.simulation.seed = options.seed;
    routing::RoutedFabric routed;
    if (run.level != sim::Level::message) {
        if (options.fabric.empty()) throw UsageError("--level " + options.level + " needs --fabric");
        place(options, routed, run);
    } else if (options.per_host > 1) {
        for (std::uint32_t rank = 0; rank < options.ranks; ++rank) run.hosts.push_back(rank / options.per_host);
    }
    transport::Launch& job = options.processes.launch;
    job.bind = transport::Binding::never;
    if (options.tag) job.output = transport::RankOutput::tagged;
    if (options.common.json) job.output = transport::RankOutput::on_error;
    if (options.timeout > 0) job.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000));
    if (!options.common.quiet)
        job.remark = [](const std::string& text) { fprintf(stderr, "loom: %s\n", text.c_str()); };
    const twin::ProcessResult result = twin::run(run, options.processes);
    if (options.common.json)
        print_json(to_json(result, options, run.level));
    else
        print(result, options, run.level);
    if (const int code = result.outcome.exit_code(); code != 0) return code;
    return result.result.state == sim::State::finished ? 0 : 1;
}

void add_options(CLI::App& app, Options& options) {
    transport::Launch& job = options.processes.launch;
    app.add_option("PROGRAM", job.program, "The program and its arguments, which are its own from here on")->required();
    app.add_option("-n,--ranks", options.ranks, "How many")
        ->check(whole_number(1, transport::Launch::most_ranks))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--fabric", options.fabric,
                   "The fabric they run on, any known format; without one messages take what LogGOPS says")
        ->type_name("FILE");
    app.add_option("--tables", options.tables, "Its forwarding tables, any known format")->type_name("FILE");
    app.add_option("--engine", options.engine, "Route it now instead (default ftree)")->type_name("NAME");
    app.add_option("--level", options.level, "packet (default with a fabric), flow, or message (default without)")
        ->type_name("LEVEL");
    app.add_option("--place", options.place, "Where ranks sit: order, keepers, random, or a file with a host a line")
        ->type_name("HOW|FILE");
    app.add_option("--hosts", options.hosts, "Only on these hosts, as Slurm lists them: node[01-16]")
        ->type_name("LIST");
    app.add_option("--per-host", options.per_host, "Ranks on each host, neighbours together (default: as few as fit)")
        ->check(whole_number(1))
        ->type_name("N");
    app.add_option("--seed", options.seed, "Of random placement")
        ->check(any_seed())
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--look", options.look, "What a look that finds nothing, or reading the clock, takes")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_option("--processor", options.processes.processor,
                   "Processor time counts as computation, times this factor; without it declared computation alone")
        ->check(real_number(0))
        ->type_name("FACTOR");
    app.add_flag("-l,--tag-output", options.tag, "Whole lines of output only, each behind \"[RANK] \"");
    app.add_option("--timeout", options.timeout, "Stop everything after so many seconds of the machine; exit code 124")
        ->check(real_number(0.001, 1e6))
        ->type_name("S");
    add_common(app, options.common);
}

}  // namespace

void add_twin(CLI::App& program, int& exit_code) {
    CLI::App* const twin = program.add_subcommand("twin", "Programs with ranks on a simulated fabric, in virtual time");
    twin->require_subcommand(1);
    const auto options = std::make_shared<Options>();
    CLI::App* const app = twin->add_subcommand(
        "run",
        "Start a program as N ranks whose messages travel on a simulated fabric: loom twin run -n N PROGRAM ...");
    add_options(*app, *options);
    app->footer(
        "The program is one that runs under `loom run`, unchanged: it opens its world, and its messages take as long "
        "as\n"
        "the simulation says. Its clock is virtual, and so are its sleeps; one process runs at a time. Computation\n"
        "takes time where the program declares it (loom::compute), or all of it with --processor. What the job took\n"
        "goes to standard error, or to standard output as one object with --json. A job that comes to no end is\n"
        "stopped, and who waits for whom is said; exit code 1.\n"
        "\n"
        "  loom twin run -n 4 ./allreduce\n"
        "  loom fabric new kary 4 3 -o tree.json\n"
        "  loom twin run -n 64 --fabric tree.json --engine ftree --place random ./allreduce");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
