// loom fabric: convert and damage; new, show, order and draw are next door.
#include "cli/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/levels.hpp"

namespace loom::cli {

using namespace fabric;

void report_written(const Damaged& result, const FabricOutput& output, const Common& common) {
    const Fabric& fabric = result.fabric;
    const std::size_t switches = fabric.nodes_of(NodeKind::switch_).size();
    const auto aggregation = static_cast<std::size_t>(std::ranges::count_if(fabric.nodes(), is_aggregation_node));
    const std::size_t hosts = fabric.nodes_of(NodeKind::host).size() - aggregation;
    const std::string_view format = name(output.resolve(common));
    if (common.json) {
        print_json({{"title", fabric.title},
                    {"switches", switches},
                    {"hosts", hosts},
                    {"aggregation_nodes", aggregation},
                    {"links", fabric.link_count()},
                    {"removed", removed_json(result)},
                    {"output", output.path},
                    {"format", format}});
        return;
    }
    const std::string removed = removed_text(result);
    const std::string line =
        fmt::format("{}: {}{}, {}, {}{}{}", fabric.title, counted(hosts, "host", "hosts"),
                    aggregation == 0 ? "" : " and " + counted(aggregation, "aggregation node", "aggregation nodes"),
                    counted(switches, "switch", "switches"), counted(fabric.link_count(), "link", "links"),
                    removed.empty() ? "" : "; ", removed);
    if (output.path == "-") {
        if (!common.quiet) fmt::print(stderr, "loom: {}\n", line);
    } else {
        fmt::print("{}\nwritten to {} ({})\n", line, output.path, format);
    }
}

namespace {

void add_convert(CLI::App& fabric) {
    struct Options {
        Common common;
        std::string input, from;
        FabricOutput output;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* app = fabric.add_subcommand("convert", "Write a fabric in another format");
    app->add_option("IN", options->input, "Fabric to read, any known format; - is standard input")->required();
    app->add_option("OUT", options->output.path, "File to write; - is standard output")->required();
    app->add_option("--from", options->from, "Format of IN (default: found from its content)")->type_name("FORMAT");
    options->output.add_format_to(*app);
    add_common(*app, options->common);
    app->footer("Formats:\n" + format_list() +
                "\n\n  loom fabric convert cluster.out cluster.json\n  loom fabric convert tree.json tree.net");
    app->callback([options] {
        const Format target = options->output.resolve(options->common);
        const Reading reading = load_fabric(options->input, options->from, options->common);
        options->output.save(reading.fabric, options->common);
        const std::vector<std::string> missing = losses(reading.fabric, target, options->output.write_options());
        print_remarks(missing, options->common);
        if (options->common.json)
            print_json({{"input", options->input},
                        {"from", name(reading.format)},
                        {"output", options->output.path},
                        {"to", name(target)},
                        {"nodes", reading.fabric.node_count()},
                        {"links", reading.fabric.link_count()},
                        {"losses", missing},
                        {"remarks", reading.remarks}});
        else if (options->output.path != "-")
            fmt::print("{} ({}) written to {} ({})\n", options->input, name(reading.format), options->output.path,
                       name(target));
    });
}

void add_damage(CLI::App& fabric) {
    struct Options {
        Common common;
        std::string input, from;
        FabricOutput output;
        DamageOptions damage;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* app = fabric.add_subcommand("damage", "Take out cables, switches or hosts, by name or at random by seed");
    app->add_option("FABRIC", options->input, "Fabric to read, any known format; - is standard input")->required();
    app->add_option("--from", options->from, "Format of FABRIC (default: found from its content)")->type_name("FORMAT");
    options->output.add_to(*app);
    options->damage.add_to(*app);
    add_common(*app, options->common);
    app->footer(
        "GUIDs, names and LIDs are kept, so that old tables can be compared with new ones.\n\n"
        "  loom fabric damage tree.json -o broken.json --remove-links 2% --seed 7\n"
        "  loom fabric damage tree.json -o broken.json --remove L1-03 --cut L0-00:5");
    app->callback([options] {
        if (!options->damage.any())
            throw UsageError("expected something to damage, such as --remove-links 2% or --remove NODE");
        (void)options->output.resolve(options->common);
        const Reading reading = load_fabric(options->input, options->from, options->common);
        const bool had_lids =
            std::ranges::any_of(reading.fabric.all_ports(), [](const Port& port) { return port.lid != no_lid; });
        const Damaged result = options->damage.apply(reading.fabric, had_lids);
        options->output.save(result.fabric, options->common);
        report_written(result, options->output, options->common);
        if (!options->common.json && !options->common.quiet) {
            for (const auto* list : {&result.switches, &result.hosts, &result.links})
                for (const std::string& item : *list) fmt::print(stderr, "loom: removed {}\n", item);
            for (const std::string& item : result.slow) fmt::print(stderr, "loom: slow now: {}\n", item);
        }
    });
}

}  // namespace

void add_fabric(CLI::App& program, int&) {
    CLI::App* app = program.add_subcommand("fabric", "Make, show, convert, damage, order and draw fabrics");
    app->require_subcommand(1);
    app->footer(
        "  loom fabric new kary 12 3 -o tree.json       a 12-ary 3-tree, 1,728 hosts\n"
        "  loom fabric show cluster.out                 what ibnetdiscover found, in figures\n"
        "  loom fabric convert cluster.out cluster.net  for the simulator ibsim");
    add_fabric_new(*app);
    add_fabric_show(*app);
    add_convert(*app);
    add_damage(*app);
    add_fabric_order(*app);
    add_fabric_draw(*app);
}

}  // namespace loom::cli
