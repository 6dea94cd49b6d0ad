#include "cli/routed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/fabric_file.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/placement_doubts.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/lids.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::cli {
namespace {

fabric::Placement place(const fabric::Fabric& fabric, const RoutedOptions& options, std::vector<std::string>& remarks) {
    const auto doubt = [&](const std::vector<std::string>& doubts) {
        remarks.insert(remarks.end(), doubts.begin(), doubts.end());
    };
    if (!options.hosts.empty()) {
        fabric::Placement placement = fabric::place_on_hosts(fabric, options.hosts);
        doubt(fabric::host_list_doubts(fabric, options.hosts));
        return placement;
    }
    if (options.place.empty() || options.place == "order") return fabric::place_in_order(fabric);
    if (options.place == "keepers") return fabric::place_with_keepers(fabric);
    if (options.place == "random") return fabric::shuffled(fabric::place_in_order(fabric), options.seed);
    const std::string text = read_file(options.place);
    fabric::Placement placement = fabric::read_placement(fabric, text, options.place);
    doubt(fabric::placement_doubts(fabric, text));
    return placement;
}

congestion::RouteChoice choice_of(const RoutedOptions& options) {
    congestion::RouteChoice choice;
    choice.threads = options.threads;
    if (options.lid == "spread") {
        choice.lids = congestion::LidUse::spread;
        return choice;
    }
    const char* end = options.lid.data() + options.lid.size();
    if (const auto [stop, error] = std::from_chars(options.lid.data(), end, choice.offset);
        error != std::errc{} || stop != end || choice.offset > 127)
        throw UsageError(fmt::format("--lid: expected \"spread\" or a number from 0 to 127, got \"{}\"", options.lid));
    return choice;
}

// Throws UsageError when no rank's host has as many LIDs as --lid counts.
void check_offset(const RoutedFabric& routed) {
    if (routed.choice.lids == congestion::LidUse::spread) return;
    unsigned lmc = 0;
    for (const PortIndex host : routed.placement.hosts)
        if (host != no_port) lmc = std::max<unsigned>(lmc, routed.fabric.port(host).lmc);
    if (routed.choice.offset >> lmc == 0) return;
    throw UsageError(fmt::format("--lid {}: the hosts have {} each (LMC {}), expected {}", routed.choice.offset,
                                 counted(std::size_t{1} << lmc, "LID", "LIDs"), lmc,
                                 lmc == 0 ? "0" : fmt::format("0 to {}", (1u << lmc) - 1)));
}

}  // namespace

routing::Routing run_engine(const routing::Engine& engine, const routing::SwitchGraph& graph,
                            const routing::RouteOptions& options) {
    try {
        return engine.route(graph, options);
    } catch (const routing::ShapeError& error) {
        throw Error(fmt::format("{}; --engine dfsssp takes fabrics of any shape", error.what()));
    }
}

void RoutedOptions::add_to(CLI::App& app) {
    app.add_option("FABRIC", fabric, "Fabric to read, any known format; - is standard input");
    app.add_option("TABLES", tables, "Forwarding tables of it, any known format");
    app.add_option("--engine", engine, "Route the fabric now instead of reading TABLES")->type_name("NAME");
    app.add_option("--place", place,
                   "Where ranks sit: order (by leaf and port), keepers (the same, thin leaves filled up with place "
                   "keepers), random, or a file with a host a line")
        ->type_name("HOW|FILE")
        ->default_str("order")
        ->check(not_empty("a way to place ranks, or a file"));
    app.add_option("--hosts", hosts, "Ranks sit on these hosts, as Slurm writes them: node[001-018,020]")
        ->type_name("LIST")
        ->check(not_empty("a list of hosts"));
    app.add_option("--lid", lid,
                   "Which of a host's LIDs is used (LMC): its number, or spread over all by sender and receiver")
        ->type_name("N|spread")
        ->capture_default_str();
    app.add_option("--seed", seed, "Seed of everything random")->check(any_seed())->capture_default_str();
    app.add_option("-j,--threads", threads, "Threads, 0 for all cores; results do not depend on it")
        ->check(thread_count())
        ->capture_default_str();
}

std::unique_ptr<RoutedFabric> load_routed(const RoutedOptions& options, const Common& common) {
    if (options.fabric.empty()) throw UsageError("expected a FABRIC to look at");
    if (options.tables.empty() == options.engine.empty())
        throw UsageError("expected either a TABLES file or --engine NAME");
    if (!options.place.empty() && !options.hosts.empty())
        throw UsageError("--place and --hosts both say where ranks sit; expected one of them");
    check_inputs({{"FABRIC", options.fabric}, {"TABLES", options.tables}, {"--place", options.place}});
    auto result = std::make_unique<RoutedFabric>();
    result->choice = choice_of(options);
    const routing::Engine* engine = options.engine.empty() ? nullptr : &routing::find_engine(options.engine);
    fabric::Reading reading = load_fabric(options.fabric, "", common);
    result->fabric = std::move(reading.fabric);
    result->remarks = std::move(reading.remarks);

    std::optional<routing::TableFile> file;
    if (engine == nullptr) file = routing::read_tables(options.tables);
    if (file) routing::adopt_lids(result->fabric, *file);
    std::vector<std::string> remarks = routing::complete_lids(result->fabric);
    result->graph = std::make_unique<routing::SwitchGraph>(result->fabric);
    if (engine != nullptr) {
        Progress progress("routing", common.quiet ? Show::nothing : Show::automatic);
        routing::RouteOptions how;
        how.seed = options.seed;
        how.threads = options.threads;
        how.progress = progress.callback();
        routing::Routing made = run_engine(*engine, *result->graph, how);
        result->tables = std::move(made.tables);
        if (result->tables.engine.empty()) result->tables.engine = engine->name;
        remarks.insert(remarks.end(), made.remarks.begin(), made.remarks.end());
    } else {
        remarks.insert(remarks.end(), file->remarks.begin(), file->remarks.end());
        result->tables = routing::bind_tables(*file, *result->graph, &remarks);
    }
    result->placement = place(result->fabric, options, remarks);
    print_remarks(remarks, common);
    result->remarks.insert(result->remarks.end(), remarks.begin(), remarks.end());
    if (result->placement.ranks() == 0)
        throw Error(fmt::format("{}: no host is connected to a switch", options.fabric));
    check_offset(*result);
    return result;
}

}  // namespace loom::cli
