#include <fmt/format.h>

#include <array>

#include "loom/base/byte_order_mark.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"
#include "loom/routing/content.hpp"
#include "loom/routing/table_io.hpp"
#include "routing/io/collector.hpp"

namespace loom::routing {
namespace {

constexpr std::size_t glance = 64 * 1024;  // a file shows what it is before that

struct Named {
    TableFormat format;
    std::string_view name;
};
constexpr std::array<Named, 4> names = {{{TableFormat::opensm_lfts, "opensm"},
                                         {TableFormat::dump_lfts, "dump_lfts"},
                                         {TableFormat::fdbs, "fdbs"},
                                         {TableFormat::json, "json"}}};

// "loom": "tables" anywhere: tools that rewrite JSON may sort its keys.
bool marked_as_tables(std::string_view text) {
    constexpr std::string_view key = "\"loom\"";
    for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
        std::string_view rest = text.substr(at + key.size());
        const auto skip = [&rest] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size())); };
        skip();
        if (!rest.starts_with(':')) continue;
        rest.remove_prefix(1);
        skip();
        if (rest.starts_with("\"tables\"")) return true;
    }
    return false;
}

}  // namespace

std::string_view name(TableFormat format) {
    for (const Named& known : names)
        if (known.format == format) return known.name;
    return "unknown";
}

TableFormat parse_table_format(std::string_view name) {
    for (const Named& known : names)
        if (known.name == name) return known.format;
    throw UsageError(
        fmt::format("no table format is called {}; expected opensm, dump_lfts, fdbs or json", excerpt(name)));
}

TableFormat table_format_for(const std::filesystem::path& path) {
    const std::string ending = path.extension().string();
    if (ending == ".json") return TableFormat::json;
    if (ending == ".fdbs") return TableFormat::fdbs;
    return TableFormat::opensm_lfts;
}

std::optional<TableFormat> detect_tables(std::string_view text) {
    text = without_byte_order_mark(text);
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return std::nullopt;
    if (text[first] == '{') return marked_as_tables(text) ? std::optional(TableFormat::json) : std::nullopt;

    Lines lines(text.substr(0, glance));
    std::string_view line;
    std::optional<TableFormat> found;
    while (lines.next(line)) {
        line = trim(line);
        if (line.starts_with("Unicast lids ") || line.starts_with("Multicast mlids ")) {
            found = TableFormat::opensm_lfts;
        } else if (line.find("dump_ucast_routes: Switch ") != std::string_view::npos) {
            return TableFormat::fdbs;
        } else if (found && line.starts_with("Lid ")) {
            return TableFormat::dump_lfts;
        } else if (found && line.starts_with("0x")) {
            return found;
        }
    }
    return found;
}

TableFile parse_tables(std::string_view text, const std::string& file_name, std::optional<TableFormat> format) {
    text = without_byte_order_mark(text);
    if (!format) format = detect_tables(text);
    if (!format)
        throw ParseError(
            file_name, 0,
            "this is " + describe(identify(text)) +
                "; expected forwarding tables: OpenSM's LFT dump (\"Unicast lids ...\"), ibroute or dump_lfts "
                "output, .fdbs (\"dump_ucast_routes: ...\"), or Loomband's JSON");
    TableFile file;
    file.file_name = file_name;
    switch (*format) {
        case TableFormat::opensm_lfts:
        case TableFormat::dump_lfts:
            io::parse_lfts(text, file);
            break;
        case TableFormat::fdbs:
            io::parse_fdbs(text, file);
            break;
        case TableFormat::json:
            io::parse_json(text, file);
            break;
    }
    return file;
}

TableFile read_tables(const std::filesystem::path& path, std::optional<TableFormat> format) {
    const std::string file_name = path == "-" ? "standard input" : path.string();
    return parse_tables(FileText(path).text(), file_name, format);
}

}  // namespace loom::routing
