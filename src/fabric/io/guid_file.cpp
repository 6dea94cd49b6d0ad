#include "loom/fabric/guid_file.hpp"

#include <unordered_set>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/text.hpp"

namespace loom::fabric {

std::vector<Guid> parse_guids(std::string_view text, const std::string& file_name) {
    std::vector<Guid> guids;
    std::unordered_set<Guid> seen;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        line = trim(line.substr(0, line.find('#')));
        if (line.empty()) continue;
        Cursor cursor(line);
        const auto value = line.starts_with("0x") || line.starts_with("0X") ? cursor.take_hex() : std::nullopt;
        if (!value || *value == 0 || (!cursor.done() && !is_blank(cursor.peek())))
            throw ParseError(file_name, lines.number(),
                             "expected a GUID such as 0x0002c90300071da8, found " + excerpt(line));
        if (seen.insert(Guid{*value}).second) guids.emplace_back(*value);
    }
    if (guids.empty()) throw ParseError(file_name, 0, "no GUID in it, expected one a line such as 0x0002c90300071da8");
    return guids;
}

std::vector<Guid> read_guids(const std::filesystem::path& path) {
    return parse_guids(read_file(path), path == "-" ? "standard input" : path.string());
}

}  // namespace loom::fabric
