// loom demo: everything once, small, with a report at the end.
#include "cli/demo/demo.hpp"

#include <chrono>
#include <memory>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

namespace loom::cli {

void Demo::heading(std::string_view title, const std::vector<std::string>& commands) {
    const bool colour = wants_colour(Stream::out);
    say("\n{}\n", paint(fmt::format("{}. {}", ++step, title), Colour::bold, colour));
    for (const std::string& command : commands)
        say("{}\n", paint(fmt::format("   $ {}", command), Colour::dim, colour));
}

void Demo::show(const Table& table) const {
    std::string text = "   " + table.text(wants_colour(Stream::out));
    for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1))
        text.insert(at + 1, "   ");
    say("{}", text);
}

routing::RouteOptions Demo::route_options() const {
    routing::RouteOptions route;
    route.threads = options.threads;
    return route;
}

void demo_report(Demo& demo) {
    demo.heading("All of it on one page", {"loom report damaged.json repaired.lft -o damaged.html"});
    report::PageOptions page;
    page.heading = "Loomband demo: a damaged 12-ary 3-tree, repaired";
    page.version = LOOM_VERSION;
    page.sections = demo.sections;
    write_file(demo.folder / "report.html", report::html_page(demo.damaged, demo.repaired, page));
    demo.say("   Picture, checks, contention, the hottest links, and what the steps before found: {}\n",
             (demo.folder / "report.html").string());
}

namespace {

void run(const DemoOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    std::error_code error;
    std::filesystem::create_directories(options.folder, error);
    if (error) throw IoError(fmt::format("cannot make the folder {}: {}", options.folder, error.message()));
    Demo demo{options, options.folder};
    demo.say("Loomband, everything once. Files go to {}{}; nothing else is written. Commands work there.\n",
             options.folder, options.folder.ends_with('/') ? "" : "/");
    demo_build(demo);
    demo_route_twice(demo);
    demo_break_and_repair(demo);
    demo_map_ranks(demo);
    demo_victim(demo);
#ifdef LOOM_HAS_TWIN
    demo_ranks(demo);
#endif
    demo_verbs(demo);
    demo_collective(demo);
#ifdef WITH_DCUDA
    demo_device(demo);
#endif
    demo_report(demo);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    demo.result["folder"] = options.folder;
    demo.result["seconds"] = seconds;
    if (options.common.json) print_json(demo.result);
    demo.say("\nAll of it took {}. Open {} in a browser.\n", human_seconds(seconds),
             (demo.folder / "report.html").string());
}

}  // namespace

void add_demo(CLI::App& program, int&) {
    const auto options = std::make_shared<DemoOptions>();
    CLI::App* app = program.add_subcommand("demo", "Everything once, small, with a report at the end (some seconds)");
    app->add_option("FOLDER", options->folder, "Where its files go; made if it is not there")->capture_default_str();
    app->add_option("-j,--threads", options->threads, "Threads to use; 0: all cores")
        ->check(thread_count())
        ->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "Makes a tree of 1,728 hosts, routes it twice and compares, breaks and repairs it, maps the ranks of a job,\n"
        "plays a flow that suffers from others' congestion without and with the congestion manager, runs a verbs "
        "program\n"
        "on two software adapters, overlaps an allreduce of four ranks, finds the race of a kernel on two devices, and "
        "writes tables that OpenSM loads and a "
        "report to open in a browser. Each step\n"
        "prints the commands that do the same in FOLDER. Nothing is written outside it.");
    app->callback([options] { run(*options); });
}

}  // namespace loom::cli
