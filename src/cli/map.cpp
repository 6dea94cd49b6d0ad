// loom map: which rank should sit on which of the job's hosts.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/routed.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/congestion/mapping.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::cli {

using congestion::Duplex;
using congestion::MapMetrics;
using congestion::Metric;
using congestion::Remapping;
using nlohmann::ordered_json;

namespace {

struct Options {
    Common common;
    RoutedOptions routed;
    std::string pattern;
    std::string metric = "2";
    std::string duplex = "full";
    std::uint64_t moves = 1'000'000;
    unsigned restarts = 0;
    double seconds = 0;
    std::string output;
    std::string order;

    [[nodiscard]] Metric wanted() const {
        if (metric == "1" || metric == "maxima") return Metric::sum_of_maxima;
        if (metric == "3" || metric == "traversals") return Metric::link_traversals;
        return Metric::sum_of_routes;
    }
    [[nodiscard]] Duplex directions() const { return duplex == "half" ? Duplex::half : Duplex::full; }
};

ordered_json to_json(const MapMetrics& metrics) {
    return {{"sum_of_maxima", metrics.sum_of_maxima},
            {"sum_of_routes", metrics.sum_of_routes},
            {"link_traversals", metrics.link_traversals}};
}

void print_text(const Options& options, const traffic::Pattern& pattern, const Remapping& result) {
    fmt::print("{} over {} ranks in {} rounds, {} swaps tried\n\n", pattern.name(), grouped(pattern.ranks()),
               grouped(pattern.stages()), grouped(result.moves));
    Table table({{"metric"}, {"before", Align::right}, {"after", Align::right}, {""}});
    const auto row = [&](const char* name, Metric metric) {
        table.row({name, grouped(value_of(result.before, metric)), grouped(value_of(result.after, metric)),
                   options.wanted() == metric ? "searched for" : ""});
    };
    row("1 sum over rounds of the most congested route", Metric::sum_of_maxima);
    row("2 sum over rounds of the congestion of all routes", Metric::sum_of_routes);
    row("3 links crossed, host links included", Metric::link_traversals);
    table.print();
    if (!options.output.empty() && options.output != "-")
        fmt::print("\nhosts in rank order written to {}\n", options.output);
}

int run(const Options& options) {
    check_outputs({{"-o", options.output}, {"--order", options.order}}, options.common);
    check_ending({"-o", options.output}, "a list of hosts", {".csv"});
    const auto routed = load_placed(options.routed, options.common);
    const auto pattern = traffic::make_pattern(options.pattern, routed->placement.ranks(), options.routed.seed);
    const congestion::Routes routes = routed->routes();
    Remapping result;
    {
        Progress progress("searching", options.common.quiet ? Show::nothing : Show::automatic);
        result = optimise_mapping(routes, *pattern,
                                  {options.wanted(), options.directions(), options.routed.seed, options.moves,
                                   options.restarts, options.seconds, progress.callback()});
    }
    if (!options.output.empty())
        write_file(options.output, to_text(routed->fabric, congestion::remapped(routed->placement, result.mapping)));
    if (!options.order.empty()) {
        std::string text = "# rank i is the process that was rank ...\n";
        for (const std::uint32_t rank : result.mapping) text += fmt::format("{}\n", rank);
        write_file(options.order, text);
    }
    if (options.common.json)
        print_json({{"fabric", options.routed.fabric},
                    {"engine", routed->tables.engine},
                    {"pattern", pattern->name()},
                    {"ranks", pattern->ranks()},
                    {"metric", static_cast<int>(options.wanted())},
                    {"duplex", options.duplex},
                    {"moves", result.moves},
                    {"before", to_json(result.before)},
                    {"after", to_json(result.after)},
                    {"mapping", result.mapping},
                    {"remarks", routed->remarks}});
    else if (options.output != "-" && options.order != "-")
        print_text(options, *pattern, result);
    return 0;
}

}  // namespace

void add_map(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app =
        program.add_subcommand("map", "Find an order of ranks on hosts that suits a pattern and the tables");
    options->routed.add_to(*app);
    app->add_option("-p,--pattern", options->pattern, "Who sends to whom")->required()->type_name("NAME[:ARGUMENT]");
    app->add_option("--metric", options->metric, "What to make small: 1 or maxima, 2 or routes, 3 or traversals")
        ->type_name("METRIC")
        ->check(one_of({"1", "2", "3", "maxima", "routes", "traversals"}))
        ->capture_default_str();
    app->add_option("--duplex", options->duplex,
                    "Whether the two directions of a cable are apart (full) or added up (half)")
        ->type_name("full|half")
        ->check(one_of({"full", "half"}))
        ->capture_default_str();
    app->add_option("--moves", options->moves, "Swaps of two ranks to try")
        ->type_name("N")
        ->check(any_seed())
        ->capture_default_str();
    app->add_option("--restarts", options->restarts, "Annealing runs to share them between; 0: as many as are worth it")
        ->type_name("N")
        ->check(whole_number())
        ->capture_default_str();
    app->add_option("--seconds", options->seconds, "Stop after this long (the result then depends on the machine)")
        ->type_name("S")
        ->check(real_number(0));
    app->add_option("-o,--output", options->output,
                    "Write the hosts in rank order, for --place and for launchers; - is standard output")
        ->type_name("FILE");
    app->add_option("--order", options->order,
                    "Write the old rank of each new one, for LOOM_RANK_ORDER of running programs; - is standard output")
        ->type_name("FILE");
    add_common(*app, options->common);
    app->footer(
        "Ranks are only exchanged among the hosts they sit on. The search never ends worse than it began.\n\n"
        "Patterns:\n" +
        traffic::pattern_help() +
        "\n  loom map tree.json tree.lfts --pattern bruck -o hosts.txt\n"
        "  loom congestion tree.json tree.lfts --pattern bruck --place hosts.txt");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
