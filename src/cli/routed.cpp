#include "cli/routed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/fabric_file.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"

namespace loom::cli {
namespace {

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
void check_offset(const PlacedFabric& routed) {
    if (routed.choice.lids == congestion::LidUse::spread) return;
    unsigned lmc = 0;
    for (const PortIndex host : routed.placement.hosts)
        if (host != no_port) lmc = std::max<unsigned>(lmc, routed.fabric.port(host).lmc);
    if (routed.choice.offset >> lmc == 0) return;
    throw UsageError(fmt::format("--lid {}: the hosts have {} each (LMC {}), expected {}", routed.choice.offset,
                                 counted(std::size_t{1} << lmc, "LID", "LIDs"), lmc,
                                 lmc == 0 ? "0" : fmt::format("0 to {}", (1u << lmc) - 1)));
}

// Adds to the error of an engine that takes trees alone which one takes all.
template <class Work>
auto with_advice(Work&& work) try {
    return work();
} catch (const routing::ShapeError& error) {
    throw Error(fmt::format("{}; --engine dfsssp takes fabrics of any shape", error.what()));
}

}  // namespace

routing::Routing run_engine(const routing::Engine& engine, const routing::SwitchGraph& graph,
                            const routing::RouteOptions& options) {
    return with_advice([&] { return engine.route(graph, options); });
}

void load_routed(routing::RoutedFabric& routed, const std::string& fabric, const routing::Sources& sources,
                 const Common& common) {
    fabric::Reading reading = load_fabric(fabric, "", common);
    routed.fabric = std::move(reading.fabric);
    routed.remarks = std::move(reading.remarks);
    const auto said = static_cast<std::ptrdiff_t>(routed.remarks.size());
    with_advice([&] { routing::open(routed, sources); });
    print_remarks({routed.remarks.begin() + said, routed.remarks.end()}, common);
}

void RoutedOptions::add_to(CLI::App& app) {
    app.add_option("FABRIC", fabric, "Fabric to read, any known format; - is standard input");
    app.add_option("TABLES", tables, "Forwarding tables of it, any known format");
    add_places_to(app);
}

void RoutedOptions::add_named_to(CLI::App& app) {
    app.add_option("--fabric", fabric, "Fabric to play on, any known format; - is standard input")->type_name("FILE");
    app.add_option("--tables", tables, "Forwarding tables of it, any known format")->type_name("FILE");
    add_places_to(app);
}

void RoutedOptions::add_places_to(CLI::App& app) {
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

std::unique_ptr<PlacedFabric> load_placed(const RoutedOptions& options, const Common& common) {
    if (options.fabric.empty()) throw UsageError("expected a FABRIC to look at");
    if (options.tables.empty() == options.engine.empty())
        throw UsageError("expected either a TABLES file or --engine NAME");
    if (!options.place.empty() && !options.hosts.empty())
        throw UsageError("--place and --hosts both say where ranks sit; expected one of them");
    check_inputs({{"FABRIC", options.fabric}, {"TABLES", options.tables}, {"--place", options.place}});
    auto result = std::make_unique<PlacedFabric>();
    result->choice = choice_of(options);
    Progress progress("routing", common.quiet || options.engine.empty() ? Show::nothing : Show::automatic);
    routing::Sources sources;
    sources.tables = options.tables;
    if (!options.engine.empty()) sources.engine = &routing::find_engine(options.engine);
    sources.route.seed = options.seed;
    sources.route.threads = options.threads;
    sources.route.progress = progress.callback();
    load_routed(*result, options.fabric, sources, common);
    progress.finish();

    std::vector<std::string> doubts;
    result->placement = fabric::place_ranks(result->fabric, {options.place, options.hosts, options.seed, {}}, doubts);
    print_remarks(doubts, common);
    result->remarks.insert(result->remarks.end(), doubts.begin(), doubts.end());
    if (result->placement.ranks() == 0)
        throw Error(fmt::format("{}: no host is connected to a switch", options.fabric));
    check_offset(*result);
    return result;
}

}  // namespace loom::cli
