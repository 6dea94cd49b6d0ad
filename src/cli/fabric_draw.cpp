// loom fabric draw: a picture of the fabric by levels.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/fabric.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/report/picture.hpp"

namespace loom::cli {

using namespace fabric;

namespace {

enum class Picture { svg, dot };

Picture picture_kind(const std::string& path) {
    if (path.ends_with(".svg")) return Picture::svg;
    if (path.ends_with(".dot") || path.ends_with(".gv")) return Picture::dot;
    throw UsageError(fmt::format("--output expects a name that ends in .svg, .dot or .gv, got {}", path));
}

}  // namespace

void add_fabric_draw(CLI::App& fabric) {
    struct Options {
        Common common;
        std::string input, from;
        FabricOutput output;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* app = fabric.add_subcommand("draw", "Draw a fabric level by level");
    app->add_option("FABRIC", options->input, "Fabric to read, any known format; - is standard input")->required();
    app->add_option("--from", options->from, "Format of FABRIC (default: found from its content)")->type_name("FORMAT");
    app->add_option("-o,--output", options->output.path, "Picture to write: .svg, or .dot and .gv for Graphviz")
        ->required()
        ->type_name("FILE");
    add_common(*app, options->common);
    app->footer(
        "  loom fabric draw tree.json -o tree.svg\n  loom fabric draw tree.json -o tree.dot && dot -Tpdf -O tree.dot");
    app->callback([options] {
        const std::string& path = options->output.path;
        const Picture kind = picture_kind(path);
        const Reading reading = load_fabric(options->input, options->from, options->common);
        if (kind == Picture::svg) {
            const auto picture =
                report::draw_fabric(reading.fabric, find_levels(reading.fabric), {.title = reading.fabric.title});
            write_file(path, picture.document());
        } else {
            options->output.format = "dot";
            options->output.save(reading.fabric, options->common);
        }
        if (options->common.json)
            print_json({{"input", options->input}, {"output", path}, {"format", kind == Picture::svg ? "svg" : "dot"}});
        else
            fmt::print("drawn to {}\n", path);
    });
}

}  // namespace loom::cli
