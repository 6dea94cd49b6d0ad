// loom bisection: effective bisection bandwidth and edge forwarding index.
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
#include "loom/congestion/bisection.hpp"
#include "loom/congestion/forwarding.hpp"

namespace loom::cli {

using congestion::Bisection;
using congestion::ForwardingIndex;
using nlohmann::ordered_json;

namespace {

struct Options {
    Common common;
    RoutedOptions routed;
    std::size_t samples = 5000;
    double precision = 0.001;
    double confidence = 0.95;
    std::optional<double> at_least;
    std::string csv;
    std::string svg;
};

// Whether the mean is known as well as was asked for.
bool reached(const Options& options, const Bisection& b) {
    return options.precision == 0 || (b.bandwidth.count() >= 2 && b.half_width <= options.precision);
}

ordered_json to_json(const Options& options, const PlacedFabric& routed, std::size_t hosts, const Bisection& b,
                     const ForwardingIndex& f) {
    ordered_json pairs = ordered_json::object();
    for (std::size_t c = 0; c < b.by_congestion.size(); ++c)
        if (b.by_congestion[c] != 0) pairs[std::to_string(c)] = b.by_congestion[c];
    const auto or_null = [&](double value) { return f.along.count() > 0 ? ordered_json(value) : ordered_json(); };
    return {{"fabric", options.routed.fabric},
            {"engine", routed.tables.engine},
            {"hosts", hosts},
            {"patterns", b.bandwidth.count()},
            {"effective_bisection_bandwidth", b.bandwidth.mean()},
            {"half_width", b.bandwidth.count() < 2 ? ordered_json() : ordered_json(b.half_width)},
            {"confidence", options.confidence},
            {"precision_reached", reached(options, b)},
            {"lowest_pattern", b.bandwidth.min()},
            {"highest_pattern", b.bandwidth.max()},
            {"pairs_by_congestion", pairs},
            {"forwarding_index",
             {{"routes", f.routes},
              {"unrouted", f.unrouted},
              {"mean", or_null(f.along.mean())},
              {"deviation", or_null(f.along.deviation())},
              {"min", or_null(f.along.min())},
              {"max", or_null(f.along.max())}}},
            {"remarks", routed.remarks}};
}

void print_text(const Options& options, const PlacedFabric& routed, std::size_t hosts, const Bisection& b,
                const ForwardingIndex& f) {
    fmt::print("{} hosts of {}{}\n", grouped(hosts), options.routed.fabric,
               routed.tables.engine.empty() ? "" : ", routed by " + routed.tables.engine);
    fmt::print("  effective bisection bandwidth {:.4f}", b.bandwidth.mean());
    if (b.bandwidth.count() >= 2) fmt::print(" +- {:.4f} ({:g} % confidence)", b.half_width, 100 * options.confidence);
    fmt::print(", {} random bisects from {:.4f} to {:.4f}\n", grouped(static_cast<std::size_t>(b.bandwidth.count())),
               b.bandwidth.min(), b.bandwidth.max());
    if (!reached(options, b))
        fmt::print("  stopped at the {} bisects of --samples before the mean was known to +- {:g} (--precision)\n",
                   grouped(options.samples), options.precision);
    if (f.along.count() > 0)
        fmt::print(
            "  edge forwarding index of {} routes between switches: E {:.1f}, sigma {:.1f}, min {:.0f}, max {:.0f}\n",
            grouped(static_cast<std::size_t>(f.along.count())), f.along.mean(), f.along.deviation(), f.along.min(),
            f.along.max());
    if (f.unrouted != 0)
        fmt::print("  {} routes are lost: the tables do not lead them to their host\n", grouped(f.unrouted));
    fmt::print("\n");
    std::uint64_t all = 0;
    for (const std::uint64_t pairs : b.by_congestion) all += pairs;
    Table table({{"congestion", Align::right}, {"pairs", Align::right}, {"share", Align::right}});
    for (std::size_t c = 0; c < b.by_congestion.size(); ++c)
        if (b.by_congestion[c] != 0)
            table.row(
                {c == 0 ? std::string("lost") : std::to_string(c), grouped(b.by_congestion[c]),
                 fmt::format("{:.2f} %", 100.0 * static_cast<double>(b.by_congestion[c]) / static_cast<double>(all))});
    table.print();
}

std::string csv_of(const Bisection& b) {
    std::string text = "congestion,pairs\n";
    for (std::size_t c = 0; c < b.by_congestion.size(); ++c) text += fmt::format("{},{}\n", c, b.by_congestion[c]);
    return text;
}

std::string svg_of(const Bisection& b) {
    std::vector<Bar> bars;
    for (std::size_t bin = 0; bin < b.histogram.counts().size(); ++bin)
        bars.push_back(
            {fmt::format("{:.2f}", b.histogram.edge(bin)), static_cast<double>(b.histogram.counts()[bin]), ""});
    return bar_plot(
               {.title = "Random bisects", .x_label = "mean bandwidth of a pattern's pairs", .y_label = "patterns"},
               bars)
        .document();
}

int run(const Options& options) {
    check_outputs({{"--csv", options.csv}, {"--histogram-svg", options.svg}}, options.common);
    check_ending({"--csv", options.csv}, "a table of numbers", {".csv"});
    check_ending({"--histogram-svg", options.svg}, "an SVG picture", {".svg"});
    const auto routed = load_placed(options.routed, options.common);
    const congestion::Routes routes = routed->routes();
    const ForwardingIndex index = forwarding_index(routes, options.routed.threads);
    Bisection result;
    {
        Progress progress("random bisects", options.common.quiet ? Show::nothing : Show::automatic);
        result = effective_bisection(routes, {options.routed.seed, options.samples, options.precision,
                                              options.confidence, options.routed.threads, progress.callback()});
    }
    if (!options.csv.empty()) write_file(options.csv, csv_of(result));
    if (!options.svg.empty()) write_file(options.svg, svg_of(result));
    const std::size_t hosts = routes.live_ranks().size();
    if (options.common.json)
        print_json(to_json(options, *routed, hosts, result, index));
    else if (options.csv != "-" && options.svg != "-")
        print_text(options, *routed, hosts, result, index);
    if (index.unrouted != 0)
        print_remarks({fmt::format("{} of {} routes are lost and count as no bandwidth: see loom check",
                                   grouped(index.unrouted), grouped(index.routes + index.unrouted))},
                      options.common);
    return index.unrouted != 0 || result.bandwidth.mean() < options.at_least.value_or(0) ? 1 : 0;
}

}  // namespace

void add_bisection(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app =
        program.add_subcommand("bisection", "Effective bisection bandwidth, and how evenly routes use links");
    options->routed.add_to(*app);
    app->add_option("--samples", options->samples, "Random bisects at most")
        ->type_name("N")
        ->check(whole_number(1))
        ->capture_default_str();
    app->add_option("--precision", options->precision, "Stop when the mean is known to this much; 0: use all samples")
        ->type_name("X")
        ->check(real_number(0))
        ->capture_default_str();
    app->add_option("--confidence", options->confidence, "Probability that the interval is right")
        ->type_name("P")
        ->check(real_number(0.5, 0.9999))
        ->capture_default_str();
    app->add_option("--at-least", options->at_least, "Exit with 1 when the bandwidth is below this, or a route is lost")
        ->type_name("X")
        ->check(real_number(0));
    app->add_option("--csv", options->csv, "Write how many pairs have which congestion")->type_name("FILE");
    app->add_option("--histogram-svg", options->svg, "Draw the bandwidths of the patterns")->type_name("FILE");
    add_common(*app, options->common);
    app->footer(
        "A random bisect sends from one random half of the hosts to the other. A pair gets 1/c of the bandwidth when\n"
        "c flows share the most loaded link between switches on its way; 1 is what a crossbar gives everybody.\n"
        "The edge forwarding index of a route is the number of all routes on the fullest link it crosses.\n"
        "Exit code 1 when the tables lose a route, or --at-least is not met.\n\n"
        "  loom bisection tree.json tree.lfts --precision 0.0005\n"
        "  loom bisection tree.json --engine dfsssp");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
