// loom demo: everything once, small, with a report at the end.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/plot.hpp"
#include "loom/base/progress.hpp"
#include "loom/base/table.hpp"
#include "loom/congestion/mapping.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/report/page.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/reroute.hpp"
#include "loom/routing/table_io.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::cli {

namespace {

namespace fs = std::filesystem;
using report::Findings;
using routing::SwitchGraph;
using routing::Tables;

struct Options {
    Common common;
    std::string folder = "loom-demo";
    unsigned threads = 0;
};

// Entries that differ, switches in the same order.
std::size_t changed_entries(const SwitchGraph& graph, const Tables& before, const Tables& after) {
    std::size_t changed = 0;
    for (routing::SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const routing::Destination& destination : graph.destinations())
            changed += before.port(s, destination.lid) != after.port(s, destination.lid);
    return changed;
}

class Demo {
public:
    explicit Demo(const Options& options) : options_(options), folder_(options.folder) {}

    void run() {
        const auto begin = std::chrono::steady_clock::now();
        prepare();
        build();
        route_twice();
        break_and_repair();
        map_ranks();
        write_report();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        result_["folder"] = options_.folder;
        result_["seconds"] = seconds;
        if (options_.common.json) print_json(result_);
        say("\nAll of it took {}. Open {} in a browser.\n", human_seconds(seconds), file("report.html"));
    }

private:
    template <class... Parts>
    void say(fmt::format_string<Parts...> text, Parts&&... parts) const {
        if (!options_.common.json) fmt::print(text, std::forward<Parts>(parts)...);
        std::fflush(stdout);
    }
    void heading(std::string_view title, std::string_view command) {
        const bool colour = wants_colour(Stream::out);
        say("\n{}\n{}\n", paint(fmt::format("{}. {}", ++step_, title), Colour::bold, colour),
            paint(fmt::format("   $ {}", command), Colour::dim, colour));
    }
    [[nodiscard]] routing::RouteOptions route_options() const {
        routing::RouteOptions route;
        route.threads = options_.threads;
        return route;
    }
    [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

    void prepare() {
        std::error_code error;
        fs::create_directories(folder_, error);
        if (error) throw IoError(fmt::format("cannot make the folder {}: {}", options_.folder, error.message()));
        say("Loomband, everything once. Files go to {}{}; nothing else is written.\n", options_.folder,
            options_.folder.ends_with('/') ? "" : "/");
    }

    void save_fabric(const fabric::Fabric& fabric, const std::string& name) {
        write_file(folder_ / name, [&](std::ostream& out) { fabric::write_fabric(fabric, out, fabric::Format::json); });
    }
    void save_tables(const Tables& tables, const SwitchGraph& graph, const std::string& name) {
        write_file(folder_ / name, [&](std::ostream& out) {
            routing::write_tables(tables, graph, out, routing::TableFormat::opensm_lfts);
        });
    }

    void build() {
        heading("A 12-ary 3-tree: 1,728 hosts", "loom fabric new kary 12 3 -o tree.json");
        tree_ = fabric::pgft(fabric::kary_tree(12, 3));
        tree_.title = "12-ary 3-tree";
        tree_.assign_lids();
        save_fabric(tree_, "tree.json");
        say("   {} switches, {} cables, in tree.json.\n", tree_.nodes_of(fabric::NodeKind::switch_).size(),
            grouped(tree_.link_count()));
    }

    Findings look(const SwitchGraph& graph, const Tables& tables, const std::string& label) {
        Progress progress(label, options_.common.quiet ? Show::nothing : Show::automatic);
        report::FindOptions find;
        find.threads = options_.threads;
        find.progress = progress.callback();
        return report::find(graph, &tables, find);
    }

    static void add_row(Table& table, const std::string& name, const Findings& f, const std::string& last = {}) {
        std::vector<Cell> cells{name, f.valid ? Cell("valid", Colour::green) : Cell("not valid", Colour::red),
                                f.valid ? grouped(f.shift.worst) : "-",
                                f.valid ? fmt::format("{:.2f}", f.shift.mean) : "-",
                                f.valid ? fmt::format("{:.1f} %", 100 * f.bisection.bandwidth.mean()) : "-"};
        if (!last.empty()) cells.emplace_back(last);
        table.row(std::move(cells));
    }
    static nlohmann::ordered_json to_json(const Findings& f) {
        return {{"valid", f.valid},
                {"worst", f.shift.worst},
                {"mean", f.shift.mean},
                {"bisection", f.bisection.bandwidth.mean()}};
    }
    void show(const Table& table) const {
        std::string text = "   " + table.text(wants_colour(Stream::out));
        for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1))
            text.insert(at + 1, "   ");
        say("{}", text);
    }
    [[nodiscard]] static std::vector<Column> columns() {
        return {{"engine"},
                {"check"},
                {"worst contention", Align::right},
                {"average", Align::right},
                {"bisection bandwidth", Align::right}};
    }

    void route_twice() {
        heading(
            "Routed twice, all 1,727 shift stages counted",
            "loom route tree.json --engine ftree -o ftree.lft; loom congestion tree.json ftree.lft --pattern shift");
        const SwitchGraph graph(tree_);
        Table table(columns());
        for (const char* engine : {"minhop", "ftree"}) {
            const auto begin = std::chrono::steady_clock::now();
            const Tables tables = routing::find_engine(engine).route(graph, route_options()).tables;
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            if (engine == std::string_view("ftree")) save_tables(tables, graph, "ftree.lft");
            const Findings findings = look(graph, tables, engine);
            add_row(table, engine, findings);
            result_["engines"][engine] = to_json(findings);
            result_["engines"][engine]["seconds"] = seconds;
            lines_.push_back({engine, {}});
            for (std::size_t i = 0; i < findings.shift.per_stage.size(); ++i)
                lines_.back().points.emplace_back(static_cast<double>(i + 1), findings.shift.per_stage[i]);
        }
        show(table);
        say("   Contention is the number of messages that share the busiest link; 1 means that none waits.\n"
            "   OpenSM loads the tables with: opensm -R file -U ftree.lft\n");
    }

    void break_and_repair() {
        heading("Twenty cables and a switch fail",
                "loom fabric damage tree.json --remove-links 20 --remove-switches 1 --seed 4 -o damaged.json");
        fabric::Damaged damaged = fabric::damage(tree_, {.seed = 4, .switches = {.count = 1}, .links = {.count = 20}});
        damaged_ = std::move(damaged.fabric);
        damaged_.title = "12-ary 3-tree, damaged and repaired";
        save_fabric(damaged_, "damaged.json");
        say("   Gone: {}, and cables such as {}.\n", fmt::join(damaged.switches, ", "), damaged.links.front());

        heading("Repaired, with as few changes as can be", "loom route damaged.json --keep ftree.lft -o repaired.lft");
        const SwitchGraph graph(damaged_);
        const Tables old =
            routing::bind_tables(routing::read_tables(folder_ / "ftree.lft"), graph, nullptr, routing::Fit::changed);
        const routing::RouteOptions route = route_options();
        const Tables anew = routing::find_engine("ftree").route(graph, route).tables;
        repaired_ = routing::reroute(graph, old, route).tables;
        save_tables(repaired_, graph, "repaired.lft");
        std::vector<Column> wanted = columns();
        wanted.front().title = "tables";
        wanted.push_back({"entries changed", Align::right});
        Table table(wanted);
        const std::pair<const char*, const Tables*> all[] = {
            {"old, as they were", &old}, {"ftree anew", &anew}, {"repaired", &repaired_}};
        for (const auto& [name, tables] : all) {
            const Findings findings = look(graph, *tables, name);
            add_row(table, name, findings, grouped(changed_entries(graph, old, *tables)));
            result_["damaged"][name] = to_json(findings);
            result_["damaged"][name]["changed"] = changed_entries(graph, old, *tables);
            if (tables == &repaired_) final_ = findings;
        }
        show(table);
    }

    void map_ranks() {
        heading("Ranks of a 6 x 6 x 6 halo exchange, scattered at random, put where they belong",
                "loom map tree.json ftree.lft --pattern neighbor3d:6x6x6 --place scattered.txt -o mapping.txt");
        const SwitchGraph graph(tree_);
        const Tables tables = routing::find_engine("ftree").route(graph, route_options()).tables;
        fabric::Placement job = fabric::shuffled(fabric::place_in_order(tree_), 7);
        job.hosts.resize(216);
        write_file(folder_ / "scattered.txt", fabric::to_text(tree_, job));
        const congestion::Routes routes(graph, tables, job);
        const traffic::PatternPtr pattern = traffic::make_pattern("neighbor3d:6x6x6", job.ranks());
        Progress progress("mapping", options_.common.quiet ? Show::nothing : Show::automatic);
        congestion::MapOptions map;
        map.metric = congestion::Metric::sum_of_routes;
        map.moves = 300'000;
        map.progress = progress.callback();
        const congestion::Remapping found = congestion::optimise_mapping(routes, *pattern, map);
        progress.finish();
        write_file(folder_ / "mapping.txt", fabric::to_text(tree_, congestion::remapped(job, found.mapping)));
        Table table({{"sum over the stages of"}, {"scattered", Align::right}, {"mapped", Align::right}});
        table.row(
            {"the most congested route", grouped(found.before.sum_of_maxima), grouped(found.after.sum_of_maxima)});
        table.row(
            {"the congestion of every route", grouped(found.before.sum_of_routes), grouped(found.after.sum_of_routes)});
        table.row({"links crossed", grouped(found.before.link_traversals), grouped(found.after.link_traversals)});
        show(table);
        say("   The hosts in rank order are in mapping.txt.\n");
        result_["mapping"] = {
            {"before", {found.before.sum_of_maxima, found.before.sum_of_routes, found.before.link_traversals}},
            {"after", {found.after.sum_of_maxima, found.after.sum_of_routes, found.after.link_traversals}}};
    }

    void write_report() {
        heading("All of it on one page", "loom report damaged.json repaired.lft -o report.html");
        report::PageOptions page;
        page.heading = "Loomband demo: a damaged 12-ary 3-tree, repaired";
        page.version = LOOM_VERSION;
        page.sections.push_back(
            {"The whole tree, routed twice",
             "<figure>" +
                 line_plot({"Contention of all shift stages", "distance", "flows on the most shared link", 1100, 340},
                           lines_)
                     .fragment() +
                 "</figure>"});
        write_file(folder_ / "report.html", report::html_page(damaged_, final_, page));
        say("   Picture, checks, contention, the hottest links: {}\n", file("report.html"));
    }

    const Options& options_;
    fs::path folder_;
    int step_ = 0;
    fabric::Fabric tree_;
    fabric::Fabric damaged_;
    Tables repaired_;
    Findings final_;
    std::vector<Series> lines_;
    nlohmann::ordered_json result_;
};

}  // namespace

void add_demo(CLI::App& program, int&) {
    const auto options = std::make_shared<Options>();
    CLI::App* app = program.add_subcommand("demo", "Everything once, small, with a report at the end (some seconds)");
    app->add_option("FOLDER", options->folder, "Where its files go; made if it is not there")->capture_default_str();
    app->add_option("-j,--threads", options->threads, "Threads to use; 0: all cores")
        ->check(thread_count())
        ->capture_default_str();
    add_common(*app, options->common);
    app->footer(
        "Makes a tree of 1,728 hosts, routes it twice and compares, breaks and repairs it, maps the ranks of a job, "
        "and\n"
        "writes tables that OpenSM loads and a report to open in a browser. Each step prints the command that does\n"
        "the same. Nothing is written outside FOLDER.");
    app->callback([options] { Demo(*options).run(); });
}

}  // namespace loom::cli
