#include "loom/fabric/io.hpp"

#include <algorithm>
#include <array>

#include "fabric/io/formats.hpp"
#include "fabric/io/words.hpp"
#include "loom/base/byte_order_mark.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric {
namespace {

constexpr std::array infos{
    FormatInfo{Format::json, "json", "Loomband's own form, which loses nothing"},
    FormatInfo{Format::ibnetdiscover, "ibnetdiscover", "what ibnetdiscover prints: plain, -f, -g or -p"},
    FormatInfo{Format::ibsim, "ibsim", "net file of the simulator ibsim"},
    FormatInfo{Format::topo, "topo", "IBDM topology of plain systems"},
    FormatInfo{Format::subnet_lst, "subnet_lst", "opensm-subnet.lst, as OpenSM dumps it"},
    FormatInfo{Format::db_csv, "db_csv", "database of ibdiagnet2"},
    FormatInfo{Format::slurm, "slurm", "Slurm's topology.conf: a tree without ports"},
    FormatInfo{Format::dot, "dot", "Graphviz"},
};

struct Ending {
    std::string_view text;
    Format format;
};
constexpr std::array endings{
    Ending{".json", Format::json},         Ending{".ibnetdiscover", Format::ibnetdiscover},
    Ending{".out", Format::ibnetdiscover}, Ending{".net", Format::ibsim},
    Ending{".ibsim", Format::ibsim},       Ending{".topo", Format::topo},
    Ending{".lst", Format::subnet_lst},    Ending{".db_csv", Format::db_csv},
    Ending{".csv", Format::db_csv},        Ending{".conf", Format::slurm},
    Ending{".dot", Format::dot},           Ending{".gv", Format::dot},
};

// A header of a node record; tells ibnetdiscover (ids are GUIDs) from ibsim (anything).
std::optional<Format> record_format(std::string_view line) {
    Cursor cursor(line);
    bool hca = false;
    if (cursor.take(std::string_view("Hca")))
        hca = true;
    else if (!cursor.take(std::string_view("Switch")) && !cursor.take(std::string_view("Ca")) &&
             !cursor.take(std::string_view("Rt")))
        return std::nullopt;
    if (!is_blank(cursor.peek()) || !cursor.skip_blanks().take_decimal()) return std::nullopt;
    const auto id = cursor.skip_blanks().take_quoted();
    if (!id) return std::nullopt;
    return !hca && io::guid_in_id(*id) ? Format::ibnetdiscover : Format::ibsim;
}

bool is_port_report(std::string_view line) {
    Cursor cursor(line);
    const std::string_view kind = cursor.take_word();
    if (kind != "SW" && kind != "CA" && kind != "RT") return false;
    return cursor.skip_blanks().take_decimal() && cursor.skip_blanks().take_decimal() &&
           cursor.skip_blanks().take(std::string_view("0x"));
}

// PORT -> TYPE NAME PORT
bool is_topo_cable(std::string_view line) {
    Cursor cursor(line);
    const std::string_view port = cursor.take_word();
    const std::string_view arrow = cursor.skip_blanks().take_word();
    if (!arrow.starts_with('-') || !arrow.ends_with('>')) return false;
    for (int words = 0; words < 3; ++words)
        if (cursor.skip_blanks().take_word().empty()) return false;
    return port.find('P') != std::string_view::npos && cursor.skip_blanks().done();
}

bool starts_with_any_case(std::string_view line, std::string_view lower) {
    return line.size() >= lower.size() && std::equal(lower.begin(), lower.end(), line.begin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
           });
}

bool is_graph(std::string_view line) {
    if (line.starts_with("strict ")) line = trim(line.substr(7));
    if (!line.starts_with("graph") && !line.starts_with("digraph")) return false;
    line.remove_prefix(line.starts_with("graph") ? 5 : 7);
    return line.empty() || is_blank(line.front()) || line.front() == '{' || line.front() == '"';
}

std::optional<Format> format_of_line(std::string_view line) {
    if (const auto format = record_format(line)) return format;
    if (is_port_report(line)) return Format::ibnetdiscover;
    if (line.starts_with("{ ") && line.find("NodeGUID:") != std::string_view::npos) return Format::subnet_lst;
    if (line.starts_with("START_")) return Format::db_csv;
    if (starts_with_any_case(line, "switchname=")) return Format::slurm;
    if (is_graph(line)) return Format::dot;
    if (is_topo_cable(line)) return Format::topo;
    return std::nullopt;
}

// ibnetdiscover's two shapes: records, or a line a port (-p).
Reading read_ibnetdiscover(std::string_view text, const std::string& file) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
        line = trim(line);
        if (is_port_report(line)) return io::read_port_report(text, file);
        if (record_format(line)) break;
    }
    return io::read_records(text, file, Format::ibnetdiscover);
}

}  // namespace

std::span<const FormatInfo> formats() {
    return infos;
}

std::string_view name(Format format) {
    const auto found =
        std::find_if(infos.begin(), infos.end(), [&](const FormatInfo& i) { return i.format == format; });
    return found == infos.end() ? "unknown" : found->name;
}

std::optional<Format> format_from_name(std::string_view name) {
    std::string wanted(name);
    std::replace(wanted.begin(), wanted.end(), '-', '_');
    for (const FormatInfo& info : infos)
        if (info.name == wanted) return info.format;
    return std::nullopt;
}

std::optional<Format> format_from_path(const std::filesystem::path& path) {
    const std::string file = path.filename().string();
    for (const Ending& ending : endings)
        if (file.ends_with(ending.text)) return ending.format;
    return std::nullopt;
}

std::optional<Format> format_from_content(std::string_view text) {
    text = without_byte_order_mark(text);
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '{' && !text.substr(first).starts_with("{ SW") &&
        !text.substr(first).starts_with("{ CA") && !text.substr(first).starts_with("{ Rt"))
        return Format::json;
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
        line = trim(line);
        if (const auto format = format_of_line(line)) return format;
    }
    return std::nullopt;
}

Reading parse_fabric(std::string_view text, const std::string& file_name, std::optional<Format> format) {
    text = without_byte_order_mark(text);
    if (!format) format = format_from_content(text);
    if (!format && text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        throw ParseError(file_name, 0, "the file is empty, expected a fabric");
    if (!format)
        throw ParseError(file_name, 0,
                         "the kind of file is not recognised, expected a fabric in one of the known formats");
    Reading reading = [&] {
        switch (*format) {
            case Format::json:
                return io::read_json(text, file_name);
            case Format::ibnetdiscover:
                return read_ibnetdiscover(text, file_name);
            case Format::ibsim:
                return io::read_records(text, file_name, Format::ibsim);
            case Format::topo:
                return io::read_topo(text, file_name);
            case Format::subnet_lst:
                return io::read_subnet_lst(text, file_name);
            case Format::db_csv:
                return io::read_db_csv(text, file_name);
            case Format::slurm:
                return io::read_slurm(text, file_name);
            case Format::dot:
                return io::read_dot(text, file_name);
        }
        throw Error("no such format");
    }();
    if (*format != Format::json) reading.fabric.title = file_name;
    mark_shared_names(reading.fabric);
    return reading;
}

Reading read_fabric(const std::filesystem::path& path, std::optional<Format> format) {
    return parse_fabric(read_file(path), path == "-" ? "standard input" : path.string(), format);
}

void write_fabric(const Fabric& fabric, std::ostream& out, Format format, const WriteOptions& options) {
    switch (format) {
        case Format::json:
            return io::write_json(fabric, out);
        case Format::ibnetdiscover:
            return io::write_ibnetdiscover(fabric, out, options.discovery);
        case Format::ibsim:
            return io::write_ibsim(fabric, out);
        case Format::topo:
            return io::write_topo(fabric, out);
        case Format::subnet_lst:
            return io::write_subnet_lst(fabric, out);
        case Format::db_csv:
            return io::write_db_csv(fabric, out);
        case Format::slurm:
            return io::write_slurm(fabric, out);
        case Format::dot:
            return io::write_dot(fabric, out);
    }
}

}  // namespace loom::fabric
