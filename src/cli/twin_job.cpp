#include "cli/twin_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/routed.hpp"
#include "cli/scenario_file.hpp"
#include "loom/base/error.hpp"
#include "loom/base/text.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/manager/dcms.hpp"
#include "loom/report/managed.hpp"
#include "loom/sim/unused.hpp"
#include "loom/twin/scenario.hpp"

namespace loom::cli {

namespace {

Time time_option(const char* option, const std::string& text) {
    const auto time = parse_time(text);
    if (!time) throw UsageError(fmt::format("{} {}: expected a time with a unit, as 50ns", option, excerpt(text)));
    return *time;
}

sim::Level level_of(const TwinSources& sources) {
    if (sources.level.empty()) return sources.fabric.empty() ? sim::Level::message : sim::Level::packet;
    for (const sim::Level level : {sim::Level::packet, sim::Level::flow, sim::Level::message})
        if (sources.level == sim::to_string(level)) return level;
    throw UsageError("--level " + sources.level + ": expected packet, flow or message");
}

// In blocks: so many neighbours on each host.
std::vector<PortIndex> in_blocks(const std::vector<PortIndex>& hosts, std::uint32_t ranks, std::uint32_t per_host) {
    const auto places = static_cast<std::uint32_t>(hosts.size());
    const std::uint32_t each = per_host != 0 ? per_host : (ranks + places - 1) / places;
    if (std::uint64_t{each} * places < ranks)
        throw UsageError(fmt::format("{} ranks with {} on each of {} hosts: there is room for {}", ranks, each, places,
                                     std::uint64_t{each} * places));
    std::vector<PortIndex> result;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) result.push_back(hosts[rank / each]);
    return result;
}

void place(TwinJob& job, const TwinSources& sources, const Common& common) {
    routing::Sources tables{.tables = sources.tables};
    if (sources.tables.empty())
        tables.engine = &routing::find_engine(sources.engine.empty() ? "ftree" : sources.engine);
    if (!sources.tables.empty() && !sources.engine.empty())
        throw UsageError("--tables and --engine: the fabric is routed already, or now");
    load_routed(job.routed, sources.fabric, tables, common);
    std::vector<std::string> odd;
    fabric::Placement all = fabric::place_ranks(
        job.routed.fabric, {.how = sources.place, .hosts = sources.hosts, .seed = sources.seed}, odd);
    print_remarks(odd, common);
    std::erase(all.hosts, no_port);
    if (all.hosts.empty()) throw Error("the fabric has no host for a rank");
    job.run.network.placement.hosts = in_blocks(all.hosts, job.run.ranks, sources.per_host);
    job.run.network.graph = job.routed.graph.get();
    job.run.network.tables = &job.routed.tables;
}

void set_up_without_scenario(TwinJob& job, const TwinSources& sources, const Common& common) {
    if (!sources.lines.empty()) throw UsageError("--set is a line of a scenario: expected --scenario");
    if (sources.manage) throw UsageError("--manage: expected --scenario, which says what is to be managed");
    twin::Options& run = job.run;
    run.ranks = std::max(1u, sources.ranks);
    run.level = level_of(sources);
    run.simulation.seed = sources.seed;
    if (run.level != sim::Level::message) {
        if (sources.fabric.empty()) throw UsageError("--level " + sources.level + " needs --fabric");
        place(job, sources, common);
    } else if (sources.per_host > 1) {
        for (std::uint32_t rank = 0; rank < run.ranks; ++rank) run.hosts.push_back(rank / sources.per_host);
    }
}

void refuse_beside_scenario(const TwinSources& sources) {
    for (const auto& [option, keyword, value] :
         {std::tuple("--engine", "engine", &sources.engine), std::tuple("--place", "place", &sources.place),
          std::tuple("--hosts", "hosts", &sources.hosts), std::tuple("--level", "level", &sources.level)})
        if (!value->empty())
            throw UsageError(fmt::format("{} and --scenario: expected --set '{} {}'", option, keyword, *value));
}

void take_scenario(TwinJob& job, const TwinSources& sources, const Common& common) {
    refuse_beside_scenario(sources);
    sim::Scenario scenario = load_scenario(sources.scenario);
    use_fabric(scenario, sources.fabric, sources.tables);
    for (const std::string& line : sources.lines) sim::take_line(scenario, line, {"--set", 0});
    sim::check_complete(scenario, {sources.scenario, 0}, sim::Traffic::programs);
    job.setup = sim::set_up(std::move(scenario), sim::Traffic::programs);
    print_remarks(job.setup->remarks, common);
    twin::Options& run = job.run;
    run = twin::options_of(*job.setup);
    const std::uint32_t places = run.ranks;
    if (places == 0 && sources.ranks == 0) throw UsageError("the scenario does not say how many ranks: expected -n N");
    run.ranks = sources.ranks != 0 ? sources.ranks : places * std::max(1u, sources.per_host);
    if (run.network.graph != nullptr)
        run.network.placement.hosts = in_blocks(run.network.placement.hosts, run.ranks, sources.per_host);
    if (!run.hosts.empty()) {
        const std::vector<std::uint32_t> hosts = std::exchange(run.hosts, {});
        for (const PortIndex host : run.network.placement.hosts) run.hosts.push_back(host.value);
    }
}

void manage(TwinJob& job) {
    if (job.run.level != sim::Level::packet)
        throw UsageError("--manage: only the packet level has congestion control; the scenario is at level " +
                         std::string(sim::to_string(job.run.level)));
    if (job.setup->options.packet.congestion.switches.threshold == 0)
        throw UsageError(
            "--manage: congestion control is off; expected a threshold, as --set 'congestion threshold 15'");
    job.settings = report::scenario_settings(*job.setup);
    job.run.control = [&job](fabric::CounterSource& counters, fabric::CongestionParameters& parameters,
                             fabric::Clock& clock) {
        job.decisions.clear();
        const fabric::Fabric& fabric = job.setup->fabric;
        (void)manager::run_manager(fabric, counters, parameters, clock, *job.settings,
                                   [&](const manager::Decision& decision) {
                                       job.decisions.push_back(describe(decision, fabric, *job.settings));
                                   });
    };
}

}  // namespace

void set_up(TwinJob& job, const TwinSources& sources, const Common& common) {
    check_inputs({{"--fabric", sources.fabric}, {"--tables", sources.tables}, {"--scenario", sources.scenario}});
    if (sources.scenario.empty())
        set_up_without_scenario(job, sources, common);
    else
        take_scenario(job, sources, common);
    if (sources.manage) manage(job);
    job.run.look = time_option("--look", sources.look);
    job.run.disturb = sources.disturb;
    if (!sources.longest_delay.empty()) job.run.longest_delay = time_option("--longest-delay", sources.longest_delay);
}

void add_twin_sources(CLI::App& app, TwinSources& sources) {
    const char* const where = "Where it runs";
    app.add_option("-n,--ranks", sources.ranks, "How many (default: as many as the scenario has places for, else one)")
        ->check(whole_number(1, 1 << 20))
        ->type_name("N");
    app.add_option("--fabric", sources.fabric,
                   "The fabric they run on, any known format; without one messages take what LogGOPS says")
        ->type_name("FILE")
        ->group(where);
    app.add_option("--tables", sources.tables, "Its forwarding tables, any known format")
        ->type_name("FILE")
        ->group(where);
    app.add_option("--engine", sources.engine, "Route it now instead (default ftree)")->type_name("NAME")->group(where);
    app.add_option("--level", sources.level, "packet (default with a fabric), flow, or message (default without)")
        ->type_name("LEVEL")
        ->group(where);
    app.add_option("--place", sources.place, "Where ranks sit: order, keepers, random, or a file with a host a line")
        ->type_name("HOW|FILE")
        ->group(where);
    app.add_option("--hosts", sources.hosts, "Only on these hosts, as Slurm lists them: node[01-16]")
        ->type_name("LIST")
        ->group(where);
    app.add_option("--per-host", sources.per_host, "Ranks on each host, neighbours together (default: as few as fit)")
        ->check(whole_number(1))
        ->type_name("N")
        ->group(where);
    app.add_option("-s,--scenario", sources.scenario,
                   "All of that from a scenario of loom sim, with other traffic beside the ranks, faults and limits")
        ->type_name("FILE")
        ->group(where);
    app.add_option("--set", sources.lines, "Any line of a scenario, on top of the file: 'fail switch S3 at 2ms'")
        ->type_name("LINE")
        ->group(where);
    app.add_flag("--manage", sources.manage, "With the congestion manager, as the scenario's manager lines set it")
        ->group(where);
    app.add_option("--seed", sources.seed, "Of random placement")
        ->check(any_seed())
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--look", sources.look, "What a look that finds nothing, or reading the clock, takes")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_option("--disturb", sources.disturb,
                   "A seed that decides what is left open, as which of two messages comes first; see --explore")
        ->type_name("SEED");
    app.add_option("--longest-delay", sources.longest_delay, "Of a message that such a seed delays (default 1ms)")
        ->type_name("TIME");
}

}  // namespace loom::cli
