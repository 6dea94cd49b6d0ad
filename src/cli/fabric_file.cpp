#include "cli/fabric_file.hpp"

#include <fmt/format.h>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/routing/content.hpp"
#include "loom/sim/scenario.hpp"

namespace loom::cli {

using namespace fabric;

std::string format_list() {
    std::string text;
    for (const FormatInfo& info : formats()) text += fmt::format("  {:<15} {}\n", info.name, info.summary);
    if (!text.empty()) text.pop_back();
    return text;
}

std::optional<Format> format_named(const std::string& name) {
    if (name.empty()) return std::nullopt;
    if (const auto format = format_from_name(name)) return format;
    std::string names;
    for (const FormatInfo& info : formats()) names += (names.empty() ? "" : ", ") + std::string(info.name);
    throw UsageError(fmt::format("no such format: {}; there are {}", name, names));
}

namespace {

bool is_scenario(const std::string& text) try {
    (void)sim::parse_scenario(text, "");
    return text.find_first_not_of(" \t\r\n") != std::string::npos;
} catch (const Error&) {
    return false;
}

}  // namespace

Reading load_fabric(const std::string& path, const std::string& format, const Common& common) {
    const auto named = format_named(format);
    const std::string file = path == "-" ? "standard input" : path;
    const std::string text = read_file(path);
    const auto read = [&] {
        try {
            return parse_fabric(text, file, named);
        } catch (const ParseError&) {
            const routing::Content content = routing::identify(text);
            if (content.kind == routing::ContentKind::tables)
                throw ParseError(file, 0, "these are " + routing::describe(content) + "; expected a fabric");
            if (content.kind == routing::ContentKind::host_order)
                throw ParseError(file, 0, "this is " + routing::describe(content) + "; expected a fabric");
            if (content.kind == routing::ContentKind::unknown && is_scenario(text))
                throw ParseError(
                    file, 0, "this is a scenario, which sim, report and manage take by --scenario; expected a fabric");
            throw;
        }
    };
    Reading reading = read();
    print_remarks(reading.remarks, common);
    return reading;
}

void FabricOutput::add_to(CLI::App& app) {
    app.add_option("-o,--output", path, "File to write; - is standard output")->required()->type_name("FILE");
    add_format_to(app);
}

void FabricOutput::add_format_to(CLI::App& app) {
    app.add_option("--to,--format", format, "Format of the file (default: by its name, else json)")
        ->type_name("FORMAT");
    app.add_option("--as", discovery, "Variant of ibnetdiscover's format: plain, full (-f), grouped (-g) or ports (-p)")
        ->check(one_of({"plain", "full", "grouped", "ports"}));
}

Format FabricOutput::resolve(const Common& common) const {
    check_outputs({{"-o", path}}, common);
    const auto named = format_named(format);
    if (!named) check_ending({"-o", path}, "a fabric", {".net", ".topo", ".dot", ".gv", ".csv"});
    const Format result = named ? *named : format_from_path(path).value_or(Format::json);
    if (!discovery.empty() && result != Format::ibnetdiscover)
        throw UsageError(fmt::format("--as {} is a variant of ibnetdiscover's format, this file is {}; see --to",
                                     discovery, name(result)));
    return result;
}

void FabricOutput::save(const Fabric& fabric, const Common& common) const {
    const Format target = resolve(common);
    write_file(path, [&](std::ostream& out) { write_fabric(fabric, out, target, write_options()); });
    if (format.empty() && path != "-" && !format_from_path(path))
        print_remarks({fmt::format("{} has no ending that names a format; json was written (--to)", path)}, common);
}

WriteOptions FabricOutput::write_options() const {
    WriteOptions options;
    if (discovery == "full") options.discovery = Discovery::full;
    if (discovery == "grouped") options.discovery = Discovery::grouped;
    if (discovery == "ports") options.discovery = Discovery::ports;
    return options;
}

}  // namespace loom::cli
