// loom report: everything about a fabric and its tables on one page.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/fabric_file.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/scenario_file.hpp"
#include "cli/sim_output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/report/managed.hpp"
#include "loom/report/page.hpp"
#include "loom/report/picture.hpp"
#include "loom/report/simulation.hpp"
#include "loom/routing/routed.hpp"
#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"
#include "loom/sim/show.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    std::string fabric;
    std::string tables;
    std::string output;
    std::string picture;
    std::string title;
    std::string scenario;
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

// What the page is about.
struct Subject {
    std::unique_ptr<routing::RoutedFabric> plain;
    std::unique_ptr<sim::Setup> setup;  // instead, with a scenario
    bool has_tables = false;
    std::vector<std::string> oddities;  // of the fabric's file
    std::vector<std::string> remarks;   // the others

    [[nodiscard]] const routing::RoutedFabric& routed() const { return setup ? *setup : *plain; }
    [[nodiscard]] const routing::Tables* tables() const { return has_tables ? &routed().tables : nullptr; }
};

void load_plain(const Options& options, Subject& subject) {
    fabric::Reading reading = load_fabric(options.fabric, "", options.common);
    subject.plain = std::make_unique<routing::RoutedFabric>();
    subject.plain->fabric = std::move(reading.fabric);
    subject.oddities = std::move(reading.remarks);
    routing::Sources sources;
    sources.tables = options.tables;
    routing::open(*subject.plain, sources);
    subject.remarks = subject.plain->remarks;
    subject.has_tables = !options.tables.empty();
    fabric::Fabric& fabric = subject.plain->fabric;
    if (fabric.title.empty()) fabric.title = options.fabric;
}

void load_played(const Options& options, Subject& subject) {
    sim::Scenario scenario = load_scenario(options.scenario);
    use_fabric(scenario, options.fabric, options.tables);
    sim::check_complete(scenario, {options.scenario, 0});
    subject.setup = sim::set_up(std::move(scenario));
    if (subject.setup->graph == nullptr) throw UsageError("--scenario: expected a scenario with a fabric, or a FABRIC");
    subject.remarks = subject.setup->remarks;
    subject.has_tables = true;
    if (subject.setup->fabric.title.empty()) subject.setup->fabric.title = subject.setup->title;
}

// Plays the scenario, and once more with the manager that it asks for. False when it deadlocks or is stuck.
bool play(const Subject& subject, report::PageOptions& page, nlohmann::ordered_json& json, const Options& options) {
    constexpr std::size_t most_ports = 20;
    const sim::Setup& setup = *subject.setup;
    const manager::Settings settings = report::scenario_settings(setup);
    check(settings);
    const bool managed = !setup.manager.empty() && setup.level == sim::Level::packet;
    if (managed != !setup.manager.empty())
        print_remarks({"only the packet level has congestion control; the scenario's manager has nothing to do"},
                      options.common);
    Progress progress("simulating", options.common.quiet ? Show::nothing : Show::automatic);
    sim::RecordOptions how;
    how.ports = setup.watch;
    how.sample = setup.sample;
    if (setup.until)
        how.progress = [draw = progress.callback(), end = setup.until->seconds()](Time now) {
            if (draw) draw(now.seconds() / end);
        };
    const report::ManagedRun alone = report::play_managed(setup, {}, how);
    const auto hottest = sim::hottest_ports(setup, *alone.simulation, most_ports);
    const auto sufferers = sim::find_sufferers(setup, *alone.simulation, alone.recording);
    const report::Played played{setup, alone.recording, hottest, sufferers};
    page.sections.push_back(report::simulation_section(played));
    json = sim_json({setup, alone.recording, sim::slowest_flows(alone.recording, most_ports), hottest, sufferers});
    if (!managed) return !alone.failed();

    const report::ManagedRun run = report::play_managed(setup, settings, how);
    const auto still = sim::find_sufferers(setup, *run.simulation, run.recording);
    page.sections.push_back(
        report::management_section(played, {run.recording, still, settings, run.work, run.decisions}));
    json["managed"] = sim_json({setup, run.recording, sim::slowest_flows(run.recording, most_ports),
                                sim::hottest_ports(setup, *run.simulation, most_ports), still});
    json["managed"]["policy"] = run.policy;
    return !alone.failed() && !run.failed();
}

int run(const Options& options) {
    if (options.fabric.empty() && options.scenario.empty())
        throw UsageError("expected a FABRIC, or a --scenario that has one");
    check_inputs({{"FABRIC", options.fabric}, {"TABLES", options.tables}, {"--scenario", options.scenario}});
    check_outputs({{"-o", options.output}, {"--picture", options.picture}}, options.common);
    check_ending({"-o", options.output}, "an HTML page", {".html", ".htm"});
    check_ending({"--picture", options.picture}, "an SVG picture", {".svg"});
    Subject subject;
    if (options.scenario.empty())
        load_plain(options, subject);
    else
        load_played(options, subject);
    print_remarks(subject.remarks, options.common);
    const std::string& about = options.fabric.empty() ? options.scenario : options.fabric;

    Progress progress("looking at " + about, options.common.quiet ? Show::nothing : Show::automatic);
    report::FindOptions find = options.find;
    find.progress = progress.callback();
    report::Findings findings = report::find(*subject.routed().graph, subject.tables(), find);
    progress.finish();
    findings.deviations.insert(findings.deviations.end(), subject.oddities.begin(), subject.oddities.end());
    findings.routing_remarks.insert(findings.routing_remarks.begin(), subject.remarks.begin(), subject.remarks.end());

    report::PageOptions page;
    page.heading = options.title;
    if (page.heading.empty() && findings.title == options.fabric)  // a path: the file's name will do
        page.heading = std::filesystem::path(options.fabric).filename().string();
    page.version = LOOM_VERSION;
    page.tables = options.tables;
    nlohmann::ordered_json simulation;
    const bool played = subject.setup == nullptr || play(subject, page, simulation, options);
    const std::string text = report::html_page(subject.routed().fabric, findings, page);
    if (!options.picture.empty()) {  // first: a picture that cannot be written leaves no page that looks complete
        report::PictureOptions picture;
        picture.title = options.title;
        write_file(options.picture,
                   report::draw_fabric(subject.routed().fabric, findings.levels, picture, findings.load).document());
    }
    write_file(options.output, text);
    const int exit_code = findings.valid && played ? 0 : 1;
    if (options.common.json) {
        nlohmann::ordered_json object = to_json(findings);
        if (!simulation.is_null()) object["simulation"] = std::move(simulation);
        print_json(object);
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
    app->add_option("FABRIC", options->fabric, "Fabric file, any format that is read; a --scenario may have its own");
    app->add_option("TABLES", options->tables,
                    "Forwarding tables; without them the fabric is routed first, and the page says so");
    app->add_option("-o,--output", options->output, "Page to write; - is standard output")
        ->required()
        ->type_name("PAGE.html");
    app->add_option("-s,--scenario", options->scenario, "Play this scenario on the fabric and add what happened")
        ->type_name("FILE");
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
        "With --scenario the traffic is played as loom sim does: who suffered and why, curves, flows and ports come "
        "first\n"
        "on the page. A scenario with manager lines is played again with the manager, and its decisions are shown.\n"
        "Exit code 1, with the page written, when the tables fail a check or the scenario's traffic cannot end.\n"
        "\n"
        "  loom report tree.json tree.lft -o tree.html\n"
        "  loom report --scenario testbed.scn -o testbed.html\n"
        "  ibnetdiscover | loom report - -o cluster.html");
    app->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace loom::cli
