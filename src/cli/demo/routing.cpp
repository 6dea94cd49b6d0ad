// loom demo, the fabric: made, routed twice, broken and repaired, ranks mapped.
#include <chrono>

#include "cli/demo/demo.hpp"
#include "loom/base/file.hpp"
#include "loom/base/plot.hpp"
#include "loom/base/progress.hpp"
#include "loom/congestion/mapping.hpp"
#include "loom/fabric/damage.hpp"
#include "loom/fabric/generate.hpp"
#include "loom/fabric/io.hpp"
#include "loom/fabric/placement.hpp"
#include "loom/routing/reroute.hpp"
#include "loom/routing/table_io.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::cli {

namespace {

using report::Findings;
using routing::SwitchGraph;
using routing::Tables;

Show progress_of(const Demo& demo) {
    return demo.options.common.quiet ? Show::nothing : Show::automatic;
}

// Entries that differ, switches in the same order.
std::size_t changed_entries(const SwitchGraph& graph, const Tables& before, const Tables& after) {
    std::size_t changed = 0;
    for (routing::SwitchIndex s = 0; s < graph.switch_count(); ++s)
        for (const routing::Destination& destination : graph.destinations())
            changed += before.port(s, destination.lid) != after.port(s, destination.lid);
    return changed;
}

void save_fabric(const Demo& demo, const fabric::Fabric& fabric, const std::string& name) {
    write_file(demo.folder / name, [&](std::ostream& out) { fabric::write_fabric(fabric, out, fabric::Format::json); });
}

void save_tables(const Demo& demo, const Tables& tables, const SwitchGraph& graph, const std::string& name) {
    write_file(demo.folder / name, [&](std::ostream& out) {
        routing::write_tables(tables, graph, out, routing::TableFormat::opensm_lfts);
    });
}

Findings look(const Demo& demo, const SwitchGraph& graph, const Tables& tables, const std::string& label) {
    Progress progress(label, progress_of(demo));
    report::FindOptions find;
    find.threads = demo.options.threads;
    find.progress = progress.callback();
    return report::find(graph, &tables, find);
}

std::vector<Column> columns() {
    return {{"engine"},
            {"check"},
            {"worst contention", Align::right},
            {"average", Align::right},
            {"bisection bandwidth", Align::right}};
}

void add_row(Table& table, const std::string& name, const Findings& f, const std::string& last = {}) {
    std::vector<Cell> cells{name, f.valid ? Cell("valid", Colour::green) : Cell("not valid", Colour::red),
                            f.valid ? grouped(f.shift.worst) : "-", f.valid ? fmt::format("{:.2f}", f.shift.mean) : "-",
                            f.valid ? fmt::format("{:.1f} %", 100 * f.bisection.bandwidth.mean()) : "-"};
    if (!last.empty()) cells.emplace_back(last);
    table.row(std::move(cells));
}

nlohmann::ordered_json to_json(const Findings& f) {
    return {{"valid", f.valid},
            {"worst", f.shift.worst},
            {"mean", f.shift.mean},
            {"bisection", f.bisection.bandwidth.mean()}};
}

}  // namespace

void demo_build(Demo& demo) {
    demo.heading("A 12-ary 3-tree: 1,728 hosts", {"loom fabric new kary 12 3 --rate 4xQDR -o tree.json"});
    fabric::Pgft shape = fabric::kary_tree(12, 3);
    shape.rate = {fabric::Width::x4, fabric::Speed::qdr};
    demo.tree = fabric::pgft(shape);
    demo.tree.title = "12-ary 3-tree";
    demo.tree.assign_lids();
    save_fabric(demo, demo.tree, "tree.json");
    demo.say("   {} switches, {} cables, in tree.json.\n", demo.tree.nodes_of(fabric::NodeKind::switch_).size(),
             grouped(demo.tree.link_count()));
}

void demo_route_twice(Demo& demo) {
    demo.heading(
        "Routed twice, all 1,727 shift stages counted",
        {"loom route tree.json --engine ftree -o ftree.lft", "loom congestion tree.json ftree.lft --pattern shift"});
    const SwitchGraph graph(demo.tree);
    Table table(columns());
    std::vector<Series> lines;
    for (const char* engine : {"minhop", "ftree"}) {
        const auto begin = std::chrono::steady_clock::now();
        const Tables tables = routing::find_engine(engine).route(graph, demo.route_options()).tables;
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        if (engine == std::string_view("ftree")) save_tables(demo, tables, graph, "ftree.lft");
        const Findings findings = look(demo, graph, tables, engine);
        add_row(table, engine, findings);
        demo.result["engines"][engine] = to_json(findings);
        demo.result["engines"][engine]["seconds"] = seconds;
        lines.push_back({engine, {}});
        for (std::size_t i = 0; i < findings.shift.per_stage.size(); ++i)
            lines.back().points.emplace_back(static_cast<double>(i + 1), findings.shift.per_stage[i]);
    }
    demo.show(table);
    demo.say(
        "   Contention is the number of messages that share the busiest link; 1 means that none waits.\n"
        "   OpenSM loads the tables with: opensm -R file -U ftree.lft\n");
    const Svg picture =
        line_plot({"Contention of all shift stages", "distance", "flows on the most shared link", 1100, 340}, lines);
    demo.sections.push_back({"The whole tree, routed twice", "<figure>" + picture.fragment() + "</figure>"});
}

void demo_break_and_repair(Demo& demo) {
    demo.heading("Twenty cables and a switch fail",
                 {"loom fabric damage tree.json --remove-links 20 --remove-switches 1 --seed 4 -o damaged.json"});
    fabric::Damaged damaged = fabric::damage(demo.tree, {.seed = 4, .switches = {.count = 1}, .links = {.count = 20}});
    demo.damaged = std::move(damaged.fabric);
    demo.damaged.title = "12-ary 3-tree, damaged and repaired";
    save_fabric(demo, demo.damaged, "damaged.json");
    demo.say("   Gone: {}, and cables such as {}.\n", fmt::join(damaged.switches, ", "), damaged.links.front());

    demo.heading("Repaired, with as few changes as can be",
                 {"loom route damaged.json --keep ftree.lft -o repaired.lft"});
    const SwitchGraph graph(demo.damaged);
    const Tables old =
        routing::bind_tables(routing::read_tables(demo.folder / "ftree.lft"), graph, nullptr, routing::Fit::changed);
    const routing::RouteOptions route = demo.route_options();
    const Tables anew = routing::find_engine("ftree").route(graph, route).tables;
    const Tables repaired = routing::reroute(graph, old, route).tables;
    save_tables(demo, repaired, graph, "repaired.lft");
    std::vector<Column> wanted = columns();
    wanted.front().title = "tables";
    wanted.push_back({"entries changed", Align::right});
    Table table(wanted);
    const std::pair<const char*, const Tables*> all[] = {
        {"old, as they were", &old}, {"ftree anew", &anew}, {"repaired", &repaired}};
    for (const auto& [name, tables] : all) {
        const Findings findings = look(demo, graph, *tables, name);
        add_row(table, name, findings, grouped(changed_entries(graph, old, *tables)));
        demo.result["damaged"][name] = to_json(findings);
        demo.result["damaged"][name]["changed"] = changed_entries(graph, old, *tables);
        if (tables == &repaired) demo.repaired = findings;
    }
    demo.show(table);
}

void demo_map_ranks(Demo& demo) {
    demo.heading("Ranks of a 6 x 6 x 6 halo exchange, scattered at random, put where they belong",
                 {"loom map tree.json ftree.lft --pattern neighbor3d:6x6x6 --place scattered.txt --moves 300000 -o "
                  "mapping.txt"});
    const SwitchGraph graph(demo.tree);
    const Tables tables = routing::find_engine("ftree").route(graph, demo.route_options()).tables;
    fabric::Placement job = fabric::shuffled(fabric::place_in_order(demo.tree), 7);
    job.hosts.resize(216);
    write_file(demo.folder / "scattered.txt", fabric::to_text(demo.tree, job));
    const congestion::Routes routes(graph, tables, job);
    const traffic::PatternPtr pattern = traffic::make_pattern("neighbor3d:6x6x6", job.ranks());
    Progress progress("mapping", progress_of(demo));
    congestion::MapOptions map;
    map.metric = congestion::Metric::sum_of_routes;
    map.moves = 300'000;
    map.progress = progress.callback();
    const congestion::Remapping found = congestion::optimise_mapping(routes, *pattern, map);
    progress.finish();
    write_file(demo.folder / "mapping.txt", fabric::to_text(demo.tree, congestion::remapped(job, found.mapping)));
    Table table({{"sum over the stages of"}, {"scattered", Align::right}, {"mapped", Align::right}});
    table.row({"the most congested route", grouped(found.before.sum_of_maxima), grouped(found.after.sum_of_maxima)});
    table.row(
        {"the congestion of every route", grouped(found.before.sum_of_routes), grouped(found.after.sum_of_routes)});
    table.row({"links crossed", grouped(found.before.link_traversals), grouped(found.after.link_traversals)});
    demo.show(table);
    demo.say("   The hosts in rank order are in mapping.txt.\n");
    demo.result["mapping"] = {
        {"before", {found.before.sum_of_maxima, found.before.sum_of_routes, found.before.link_traversals}},
        {"after", {found.after.sum_of_maxima, found.after.sum_of_routes, found.after.link_traversals}}};
}

}  // namespace loom::cli
