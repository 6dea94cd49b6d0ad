#include "loom/fabric/io.hpp"

#include <algorithm>
#include <array>

#include "fabric/io/formats.hpp"
#include "fabric/io/words.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric {
namespace {

constexpr std::array infos{
    FormatInfo{Format::json, "json", "Loomband's own form, which loses nothing"},
    FormatInfo{Format::ibnetdiscover, "ibnetdiscover", "what ibnetdiscover prints: plain, -f, -g or -p"},
    FormatInfo{Format::ibsim, "ibsim", "net file of the simulator ibsim"},
};

struct Ending {
    std::string_view text;
    Format format;
};
constexpr std::array endings{
    Ending{".json", Format::json},         Ending{".ibnetdiscover", Format::ibnetdiscover},
    Ending{".out", Format::ibnetdiscover}, Ending{".net", Format::ibsim},
    Ending{".ibsim", Format::ibsim},
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
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '{') return Format::json;
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
        line = trim(line);
        if (const auto format = record_format(line)) return format;
    }
    return std::nullopt;
}

Reading parse_fabric(std::string_view text, const std::string& file_name, std::optional<Format> format) {
    if (!format) format = format_from_content(text);
    if (!format)
        throw ParseError(file_name, 0,
                         "the kind of file is not recognised, expected a fabric in one of the known formats");
    Reading reading = [&] {
        switch (*format) {
            case Format::json:
                return io::read_json(text, file_name);
            case Format::ibnetdiscover:
            case Format::ibsim:
                return io::read_records(text, file_name, *format);
            default:
                throw Error("reading this format is not supported");
        }
    }();
    if (*format != Format::json) reading.fabric.title = file_name;
    return reading;
}

Reading read_fabric(const std::filesystem::path& path, std::optional<Format> format) {
    return parse_fabric(read_file(path), path == "-" ? "standard input" : path.string(), format);
}

void write_fabric(const Fabric& fabric, std::ostream& out, Format format, const WriteOptions&) {
    switch (format) {
        case Format::json:
            return io::write_json(fabric, out);
        case Format::ibsim:
            return io::write_ibsim(fabric, out);
        default:
            throw Error("writing this format is not supported");
    }
}

}  // namespace loom::fabric
