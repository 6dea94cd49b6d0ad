// loom report: everything about a fabric and its tables on one page.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.hpp"
#include "cli/fabric_file.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/report/page.hpp"
#include "loom/report/picture.hpp"
#include "loom/routing/lids.hpp"
#include "loom/routing/table_io.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    std::string fabric;
    std::string tables;
    std::string output;
    std::string picture;
    std::string title;
    report::FindOptions find;
};

nlohmann::ordered_json to_json(const report::Findings& f) {
    using Kind = report::Verdict::Kind;
    nlohmann::ordered_json out{{"title", f.title},
                               {"hosts", f.hosts},
                               {"switches", f.switches},
                               {"routers", f.routers},
                               {"aggregation_nodes", f.aggregation_nodes},
                               {"cables", f.cables},
                               {"ranks", f.ranks}};
    for (const report::LevelLine& line : f.level_lines)
        out["levels"].push_back({{"name", line.name},
                                 {"switches", line.switches},
                                 {"hosts", line.hosts},
                                 {"up", line.up},
                                 {"down", line.down},
                                 {"inside", line.inside},
                                 {"oversubscription", line.up == 0 ? nlohmann::ordered_json()
                                                                   : nlohmann::ordered_json(line.oversubscription)}});
    out["deviations"] = f.deviations;
    out["engine"] = f.engine;
    out["routed_here"] = f.routed_here;
    out["valid"] = f.valid;
    for (const report::Verdict& verdict : f.verdicts)
        out["checks"].push_back({{"question", verdict.question},
                                 {"verdict", verdict.kind == Kind::good   ? "good"
                                             : verdict.kind == Kind::note ? "note"
                                                                          : "bad"},
                                 {"answer", verdict.answer}});
    out["remarks"] = f.routing_remarks;
    out["slow_links"] = f.slow_count;
    out["shift"] = {{"stages", f.shift.per_stage.size()},
                    {"stage_step", f.stage_step},
                    {"flows", f.shift.flows},
                    {"unrouted", f.shift.unrouted},
                    {"worst", f.shift.worst},
                    {"mean", f.shift.mean},
                    {"weighted_worst", f.shift.weighted_worst},
                    {"weighted_mean", f.shift.weighted_mean}};
    out["hottest"] = nlohmann::ordered_json::array();
    for (const report::HotLinkLine& hot : f.hottest)
        out["hottest"].push_back({{"link", hot.name}, {"peak", hot.peak}, {"total", hot.total}});
    out["bisection"] = nullptr;
    if (f.has_bisection)
        out["bisection"] = {{"mean", f.bisection.bandwidth.mean()},
                            {"half_width", f.bisection.half_width},
                            {"patterns", f.bisection.bandwidth.count()}};
    return out;
}

int run(const Options& options) {
    check_inputs({{"FABRIC", options.fabric}, {"TABLES", options.tables}});
    check_outputs({{"-o", options.output}, {"--picture", options.picture}}, options.common);
    check_ending({"-o", options.output}, "an HTML page", {".html", ".htm"});
    check_ending({"--picture", options.picture}, "an SVG picture", {".svg"});
    fabric::Reading reading = load_fabric(options.fabric, "", options.common);
    std::vector<std::string> remarks;
    std::optional<routing::Tables> tables;
    std::optional<routing::SwitchGraph> graph;
    if (options.tables.empty()) {
        remarks = routing::complete_lids(reading.fabric);
        print_remarks(remarks, options.common);
        graph.emplace(reading.fabric);
    } else {
        graph.emplace(reading.fabric);
        const routing::TableFile file = routing::read_tables(options.tables);
        tables = routing::bind_tables(file, *graph, &remarks);
        remarks.insert(remarks.begin(), file.remarks.begin(), file.remarks.end());
        print_remarks(remarks, options.common);
    }
    if (reading.fabric.title.empty()) reading.fabric.title = options.fabric;

    Progress progress("looking at " + options.fabric, options.common.quiet ? Show::nothing : Show::automatic);
    report::FindOptions find = options.find;
    find.progress = progress.callback();
    report::Findings findings = report::find(*graph, tables ? &*tables : nullptr, find);
    progress.finish();
    findings.deviations.insert(findings.deviations.end(), reading.remarks.begin(), reading.remarks.end());
    findings.routing_remarks.insert(findings.routing_remarks.begin(), remarks.begin(), remarks.end());

    report::PageOptions page;
    page.heading = options.title;
    if (page.heading.empty() && findings.title == options.fabric)  // a path: the file's name will do
        page.heading = std::filesystem::path(options.fabric).filename().string();
    page.version = LOOM_VERSION;
    page.tables = options.tables;
    const std::string text = report::html_page(reading.fabric, findings, page);
    if (!options.picture.empty()) {  // first: a picture that cannot be written leaves no page that looks complete
        report::PictureOptions picture;
        picture.title = options.title;
        write_file(options.picture,
                   report::draw_fabric(reading.fabric, findings.levels, picture, findings.load).document());
    }
    write_file(options.output, text);
    const int exit_code = findings.valid ? 0 : 1;
    if (options.common.json) {
        print_json(to_json(findings));
        return exit_code;
    }
    if (options.common.quiet || options.output == "-" || options.picture == "-") return exit_code;
    fmt::print("{}: {} hosts, {} switches, tables {}", options.output, grouped(findings.hosts),
               grouped(findings.switches), findings.valid ? "valid" : "not valid");
    if (findings.ranks >= 2)
        fmt::print(", shift contention {} at worst and {:.2f} on average, effective bisection bandwidth {:.1f} %",
                   findings.shift.worst, findings.shift.mean, 100 * findings.bisection.bandwidth.mean());
    fmt::print("\n");
    return exit_code;
}

}  // namespace

void add_report(CLI::App& program, int& exit_code) {
    const auto options = std::make_shared<Options>();
    CLI::App* app =
        program.add_subcommand("report", "Put a fabric, its tables, checks and congestion on one HTML page");
    app->add_option("FABRIC", options->fabric, "Fabric file, any format that is read")->required();
    app->add_option("TABLES", options->tables,
                    "Forwarding tables; without them the fabric is routed first, and the page says so");
    app->add_option("-o,--output", options->output, "Page to write; - is standard output")
        ->required()
        ->type_name("PAGE.html");
    app->add_option("--picture", options->picture, "Write the picture of the fabric to a file of its own, too")
        ->type_name("FILE.svg");
    app->add_option("--title", options->title, "Heading of the page (default: the fabric's title)");
    app->add_option("--seed", options->find.seed, "Of the random bisections")->check(any_seed())->capture_default_str();
    app->add_option("--samples", options->find.bisection_samples, "Random bisections to draw")
        ->capture_default_str()
        ->check(whole_number(1));
    app->add_option("-j,--threads", options->find.threads, "Threads to use; 0: all cores")
        ->check(thread_count())
        ->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "The page is one file that needs nothing but itself: the fabric drawn by levels with its cables coloured by\n"
        "load, what deviates from a perfect tree, the checks, contention over all shift stages, the hottest links,\n"
        "effective bisection bandwidth, and cables that run below what their ends support.\n"
        "Exit code 1, with the page written, when the tables fail a check.\n"
        "\n"
        "  loom report tree.json tree.lft -o tree.html\n"
        "  ibnetdiscover | loom report - -o cluster.html");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
