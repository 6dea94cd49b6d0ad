// loom congestion: static contention, stage by stage.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/routed.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/plot.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/congestion/bounds.hpp"
#include "loom/congestion/contention.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::cli {

using congestion::Bounds;
using congestion::Contention;
using congestion::HostLinks;
using congestion::HotLink;
using congestion::Routes;
using nlohmann::ordered_json;

namespace {

struct Options {
    Common common;
    RoutedOptions routed;
    std::string pattern = "shift";
    std::size_t hot = 10;
    bool fabric_only = false;
    std::size_t mappings = 0;
    std::optional<std::size_t> at_most;
    std::string csv;
    std::string svg;

    [[nodiscard]] HostLinks host_links() const { return fabric_only ? HostLinks::ignore : HostLinks::count; }
    [[nodiscard]] Show show() const { return common.quiet ? Show::nothing : Show::automatic; }
};

std::string rate_text(std::uint32_t megabits) {
    return megabits == 0 ? "?" : fmt::format("{:g} Gb/s", megabits / 1000.0);
}

ordered_json to_json(const Options& options, const PlacedFabric& routed, const Routes& routes, const Contention& c,
                     const std::vector<HotLink>& hot, const Bounds* bounds) {
    ordered_json stages = ordered_json::object();
    const auto histogram = c.histogram();
    for (std::size_t value = 0; value < histogram.size(); ++value)
        if (histogram[value] != 0) stages[std::to_string(value)] = histogram[value];
    ordered_json links = ordered_json::array();
    for (const HotLink& link : hot)
        links.push_back({{"link", routes.describe(link.link)},
                         {"peak", link.peak},
                         {"total", link.total},
                         {"megabits", routes.megabits(link.link)}});
    ordered_json object{{"fabric", options.routed.fabric},
                        {"engine", routed.tables.engine},
                        {"pattern", c.pattern},
                        {"ranks", c.ranks},
                        {"stages", c.per_stage.size()},
                        {"flows", c.flows},
                        {"skipped", c.skipped},
                        {"unrouted", c.unrouted},
                        {"worst", c.worst},
                        {"worst_stage", c.per_stage.empty() ? 0 : c.worst_stage + 1},
                        {"mean", c.mean},
                        {"weighted_worst", c.weighted_worst},
                        {"weighted_mean", c.weighted_mean},
                        {"stages_by_contention", stages},
                        {"per_stage", c.per_stage},
                        {"hottest", links}};
    if (bounds != nullptr)
        object["random_mappings"] = {{"mappings", bounds->sum_max.count()},
                                     {"sum_max", bounds->sum_max.mean()},
                                     {"sum_average", bounds->sum_average.mean()},
                                     {"lower_bandwidth", bounds->lower_bandwidth.mean()},
                                     {"upper_bandwidth", bounds->upper_bandwidth.mean()},
                                     {"lower_histogram", bounds->lower.counts()},
                                     {"upper_histogram", bounds->upper.counts()}};
    object["remarks"] = routed.remarks;
    return object;
}

void print_text(const Options& options, const PlacedFabric& routed, const Routes& routes, const Contention& c,
                const std::vector<HotLink>& hot, const Bounds* bounds) {
    fmt::print("{} over {} ranks on {}{}\n", c.pattern, grouped(c.ranks), options.routed.fabric,
               routed.tables.engine.empty() ? "" : ", routed by " + routed.tables.engine);
    fmt::print("  {} stages, {} flows", grouped(c.per_stage.size()), grouped(c.flows));
    if (c.skipped != 0) fmt::print(", {} pairs skipped (place keepers, or within a host)", grouped(c.skipped));
    fmt::print("\n");
    if (c.unrouted != 0)
        fmt::print("  {} pairs are lost: the tables do not lead them to their host\n", grouped(c.unrouted));
    fmt::print("  worst contention {} (first in stage {}), mean over stages {:.3f}\n", c.worst, c.worst_stage + 1,
               c.mean);
    if (c.weighted_worst != c.worst || c.weighted_mean != c.mean)
        fmt::print("  weighted by link rates: worst {:.3f}, mean {:.3f}\n", c.weighted_worst, c.weighted_mean);

    fmt::print("\n");
    Table stages({{"contention", Align::right}, {"stages", Align::right}, {"share", Align::right}});
    const auto histogram = c.histogram();
    for (std::size_t value = 0; value < histogram.size(); ++value)
        if (histogram[value] != 0)
            stages.row({std::to_string(value), grouped(histogram[value]),
                        fmt::format("{:.1f} %", 100.0 * static_cast<double>(histogram[value]) /
                                                    static_cast<double>(c.per_stage.size()))});
    stages.print();

    if (c.worst > 1 && !hot.empty()) {
        fmt::print("\n");
        Table links({{"flows at once", Align::right},
                     {"in all stages", Align::right},
                     {"rate", Align::right},
                     {"hottest links"}});
        for (const HotLink& link : hot)
            links.row({std::to_string(link.peak), grouped(link.total), rate_text(routes.megabits(link.link)),
                       routes.describe(link.link)});
        links.print();
    }
    if (bounds == nullptr) return;
    fmt::print("\n{} random mappings\n", grouped(static_cast<std::size_t>(bounds->sum_max.count())));
    fmt::print("  everybody waits each round: congestion {:.3f}, bandwidth {:.3f}\n", bounds->sum_max.mean(),
               bounds->lower_bandwidth.mean());
    fmt::print("  nobody waits:               congestion {:.3f}, bandwidth {:.3f}\n", bounds->sum_average.mean(),
               bounds->upper_bandwidth.mean());
}

std::string csv_of(const Contention& c) {
    std::string text = "stage,contention\n";
    for (std::size_t stage = 0; stage < c.per_stage.size(); ++stage)
        text += fmt::format("{},{}\n", stage + 1, c.per_stage[stage]);
    return text;
}

std::string svg_of(const Contention& c) {
    std::vector<Bar> bars;
    const auto histogram = c.histogram();
    for (std::size_t value = 1; value < histogram.size(); ++value)
        bars.push_back({std::to_string(value), static_cast<double>(histogram[value]), ""});
    return bar_plot(
               {.title = "Contention of " + c.pattern, .x_label = "flows on the most loaded link", .y_label = "stages"},
               bars)
        .document();
}

int run(const Options& options) {
    if (options.pattern == "help") {
        if (options.common.json) {
            ordered_json kinds = ordered_json::array();
            for (const auto& kind : traffic::pattern_kinds())
                kinds.push_back({{"name", kind.name}, {"argument", kind.argument}, {"summary", kind.summary}});
            print_json({{"patterns", kinds}});
        } else {
            fmt::print("{}", traffic::pattern_help());
        }
        return 0;
    }
    check_outputs({{"--csv", options.csv}, {"--histogram-svg", options.svg}}, options.common);
    check_ending({"--csv", options.csv}, "a table of numbers", {".csv"});
    check_ending({"--histogram-svg", options.svg}, "an SVG picture", {".svg"});
    const auto routed = load_placed(options.routed, options.common);
    const auto pattern = traffic::make_pattern(options.pattern, routed->placement.ranks(), options.routed.seed);
    if (options.mappings == 0 && congestion::has_few_pairs(*pattern, routed->fabric, routed->placement))
        routed->choice.memory = 0;
    const Routes routes = routed->routes();
    Contention result;
    {
        Progress progress("counting flows", options.show());
        result = contention(routes, *pattern, {options.host_links(), options.routed.threads, progress.callback()});
    }
    std::unique_ptr<Bounds> bounds;
    if (options.mappings != 0) {
        Progress progress("random mappings", options.show());
        bounds = std::make_unique<Bounds>(bandwidth_bounds(routes, *pattern,
                                                           {options.mappings, options.routed.seed, options.host_links(),
                                                            options.routed.threads, progress.callback()}));
    }
    if (!options.csv.empty()) write_file(options.csv, csv_of(result));
    if (!options.svg.empty()) write_file(options.svg, svg_of(result));
    const auto hot = hottest(routes, result, options.hot, options.host_links());
    if (options.common.json)
        print_json(to_json(options, *routed, routes, result, hot, bounds.get()));
    else if (options.csv != "-" && options.svg != "-")
        print_text(options, *routed, routes, result, hot, bounds.get());
    if (result.unrouted != 0)
        print_remarks({fmt::format("{} of {} pairs are lost, the figures are of the others: see loom check",
                                   grouped(result.unrouted), grouped(result.flows + result.unrouted))},
                      options.common);
    return result.unrouted != 0 || result.worst > options.at_most.value_or(result.worst) ? 1 : 0;
}

}  // namespace

void add_congestion(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("congestion", "How many flows share a link, stage by stage of a pattern");
    options->routed.add_to(*app);
    app->add_option("-p,--pattern", options->pattern, "Who sends to whom; help lists the patterns")
        ->type_name("NAME[:ARGUMENT]")
        ->capture_default_str();
    app->add_option("--hot", options->hot, "Hottest links to name")
        ->type_name("N")
        ->check(whole_number())
        ->capture_default_str();
    app->add_flag("--fabric-only", options->fabric_only, "Count links between switches only, not those to hosts");
    app->add_option("--mappings", options->mappings,
                    "Also try so many random mappings of ranks to hosts: bounds of the bandwidth")
        ->type_name("N")
        ->check(whole_number(0, 10'000'000));
    app->add_option("--at-most", options->at_most,
                    "Exit with 1 when the worst contention is above this, or a pair is lost")
        ->type_name("N")
        ->check(whole_number());
    app->add_option("--csv", options->csv, "Write the contention of each stage")->type_name("FILE");
    app->add_option("--histogram-svg", options->svg, "Draw how many stages have which contention")->type_name("FILE");
    add_common(*app, options->common);
    app->footer(
        "Contention of a stage is the largest number of flows on any directed link; 1 is what a crossbar has.\n"
        "Exit code 1 when the tables lose a pair, or --at-most is not met.\n\n"
        "Patterns:\n" +
        traffic::pattern_help() +
        "\n  loom congestion tree.json tree.lfts\n"
        "  loom congestion tree.json --engine ftree --pattern neighbor3d --place random");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
