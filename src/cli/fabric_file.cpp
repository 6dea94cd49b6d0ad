#include "cli/fabric_file.hpp"

#include <fmt/format.h>

#include "cli/output.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

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

Reading load_fabric(const std::string& path, const std::string& format, const Common& common) {
    Reading reading = read_fabric(path, format_named(format));
    print_remarks(reading.remarks, common);
    return reading;
}

void FabricOutput::add_to(CLI::App& app) {
    app.add_option("-o,--output", path, "File to write; - is standard output")->required()->type_name("FILE");
    add_format_to(app);
}

void FabricOutput::add_format_to(CLI::App& app) {
    app.add_option("--to", format, "Format of the file (default: by its name, else json)")->type_name("FORMAT");
    app.add_option("--as", discovery, "Variant of ibnetdiscover's format: plain, full (-f), grouped (-g) or ports (-p)")
        ->check(CLI::IsMember({"plain", "full", "grouped", "ports"}));
}

Format FabricOutput::resolve(const Common& common) const {
    if (path == "-" && common.json) throw UsageError("--json needs standard output for itself; give -o a file");
    if (const auto named = format_named(format)) return *named;
    return format_from_path(path).value_or(Format::json);
}

void FabricOutput::save(const Fabric& fabric, const Common& common) const {
    const Format target = resolve(common);
    WriteOptions options;
    if (discovery == "full") options.discovery = Discovery::full;
    if (discovery == "grouped") options.discovery = Discovery::grouped;
    if (discovery == "ports") options.discovery = Discovery::ports;
    write_file(path, [&](std::ostream& out) { write_fabric(fabric, out, target, options); });
}

}  // namespace loom::cli
