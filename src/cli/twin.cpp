// loom twin: programs with ranks on a simulated fabric, in virtual time.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/twin_explore.hpp"
#include "cli/twin_job.hpp"
#include "cli/twin_mpi.hpp"
#include "cli/twin_output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/report/findings.hpp"
#include "loom/report/page.hpp"
#include "loom/report/ranks.hpp"
#include "loom/sim/links.hpp"
#include "loom/twin/processes.hpp"
#include "loom/twin/timeline.hpp"

namespace loom::cli {

namespace {

struct Options {
    Common common;
    TwinSources sources;
    twin::Processes processes;
    std::string trace, plot, page;
    std::uint64_t explore = 0;
    bool tag = false;
    double timeout = 0;
    TwinMpi mpi;
};

// To standard error: standard output is the program's.
void print(const TwinAnswers& answers, bool quiet) {
    if (quiet) {
        for (const std::string& line : answers.result.trouble) fmt::print(stderr, "loom: {}\n", line);
        return;
    }
    print_twin(answers, stderr);
}

Svg picture(const twin::Timeline& timeline, const std::string& title) {
    twin::TimelineFrame frame;
    frame.title = title;
    return twin::draw_timeline(timeline, frame);
}

void write_files(const Options& options, const TwinAnswers& answers, const routing::RoutedFabric& routed) {
    if (!options.trace.empty()) twin::write_chrome_trace(answers.result.timeline, options.trace);
    if (!options.plot.empty()) write_file(options.plot, picture(answers.result.timeline, answers.title).document());
    if (options.page.empty()) return;
    report::RanksPlayed played = ranks_played(answers);
    played.timeline = picture(answers.result.timeline, "");
    report::PageOptions page;
    page.version = LOOM_VERSION;
    page.tables = options.sources.tables;
    page.sections.push_back(report::ranks_section(played));
    const report::Findings findings = report::find(*routed.graph, &routed.tables, {});
    write_file(options.page, report::html_page(routed.fabric, findings, page));
}

void check(const Options& options) {
    if (options.tag && options.common.json)
        throw UsageError("--tag-output and --json: the ranks' output goes to standard error, as it is");
    if (!options.page.empty() && options.sources.fabric.empty() && options.sources.scenario.empty())
        throw UsageError("--page shows a fabric: expected --fabric or --scenario");
    if (options.explore != 0 && options.mpi.on)
        throw UsageError("--explore and --mpi: only programs that are processes are explored");
    if (options.explore != 0)
        for (const auto& [name, file] : {std::pair("--trace", &options.trace), std::pair("--plot", &options.plot),
                                         std::pair("--page", &options.page)})
            if (!file->empty()) throw UsageError(fmt::format("--explore and {}: of which run?", name));
    check_outputs({{"--trace", options.trace}, {"--plot", options.plot}, {"--page", options.page}}, options.common);
}

void set_up_launch(Options& options) {
    transport::Launch& job = options.processes.launch;
    job.bind = transport::Binding::never;
    if (options.tag) job.output = transport::RankOutput::tagged;
    if (options.common.json) job.output = transport::RankOutput::on_error;
    if (options.timeout > 0) job.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000));
    if (!options.common.quiet)
        job.remark = [](const std::string& text) { fprintf(stderr, "loom: %s\n", text.c_str()); };
}

using Played = TwinMpiPlayed;

Played play(const Options& options, twin::Options& run, const std::function<void(sim::Simulation&)>& look_at) {
    if (options.mpi.on) {
        if (options.processes.processor > 0) {
            run.computing.how = twin::Computing::How::measured;
            run.computing.factor = options.processes.processor;
        }
        return play_mpi(options.mpi, run, options.processes.launch.program, options.common.json, look_at);
    }
    if (run.ranks > transport::Launch::most_ranks)
        throw UsageError(fmt::format("{} ranks: at most {} are processes; -n N takes the first N places", run.ranks,
                                     transport::Launch::most_ranks));
    twin::ProcessResult played = twin::run(run, options.processes, look_at);
    return {std::move(played.result), played.outcome.exit_code(), played.outcome.seconds};
}

int run(Options& options) {
    check(options);
    TwinJob job;
    set_up(job, options.sources, options.common);
    set_up_launch(options);
    if (options.explore != 0) return explore(job, options.processes, options.explore, options.common);
    twin::Options& run = job.run;
    constexpr std::size_t events = 4'000'000;
    if (!options.trace.empty() || !options.plot.empty() || !options.page.empty()) run.timeline_events = events;
    sim::LinkAnswers links;
    const auto look_at = [&](sim::Simulation& simulation) {
        if (run.level != sim::Level::message)
            links = sim::look_at_links(twin::whole_network(run), run.simulation, simulation);
    };
    const Played result = play(options, run, look_at);
    const std::string computation =
        options.processes.processor > 0 ? fmt::format("measured, times {}", options.processes.processor) : "declared";
    std::vector<std::string> remarks = result.result.events;
    remarks.insert(remarks.end(), job.decisions.begin(), job.decisions.end());
    const TwinAnswers answers{.options = run,
                              .result = result.result,
                              .links = links,
                              .title = fmt::format("{}", fmt::join(options.processes.launch.program, " ")),
                              .computation = computation,
                              .wall_seconds = result.seconds,
                              .remarks = remarks};
    write_files(options, answers, job.fabric());
    if (options.common.json) {
        nlohmann::ordered_json object = twin_json(answers);
        object["decisions"] = job.decisions;
        object["exit_code"] = result.exit_code;
        print_json(object);
    } else {
        print(answers, options.common.quiet);
    }
    if (result.exit_code != 0) return result.exit_code;
    return result.result.state == sim::State::finished ? 0 : 1;
}

void add_options(CLI::App& app, Options& options) {
    transport::Launch& job = options.processes.launch;
    app.add_option("PROGRAM", job.program, "The program and its arguments, which are its own from here on")->required();
    add_twin_sources(app, options.sources);
    app.add_option("--explore", options.explore,
                   "Run it under so many seeds, and report the first that fails or prints something else")
        ->check(whole_number(1))
        ->type_name("N");
    app.add_option("--processor", options.processes.processor,
                   "Processor time counts as computation, times this factor; without it declared computation alone")
        ->check(real_number(0))
        ->type_name("FACTOR");
    app.add_option("--trace", options.trace, "What every rank did when, for Perfetto (Chrome trace JSON)")
        ->type_name("FILE.json");
    app.add_option("--plot", options.plot, "The same as a picture")->type_name("FILE.svg");
    app.add_option("--page", options.page, "The fabric, its hot cables, ranks and timeline on one page")
        ->type_name("FILE.html");
    app.add_flag("-l,--tag-output", options.tag, "Whole lines of output only, each behind \"[RANK] \"");
    app.add_option("--timeout", options.timeout, "Stop everything after so many seconds of the machine; exit code 124")
        ->check(real_number(0.001, 1e6))
        ->type_name("S");
    add_twin_mpi_options(app, options.mpi);
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
        "  loom twin run -n 64 --fabric tree.json --engine ftree --place random ./allreduce\n"
        "  loom twin run --scenario incast.scn --manage ./allreduce\n"
        "  loom twin run -n 5 --explore 1000 ./allreduce");
    app->callback([options, &exit_code] { exit_code = run(*options); });
    add_twin_cc(*twin, exit_code);
}

}  // namespace loom::cli
