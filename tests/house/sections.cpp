#include "house/sections.hpp"

#include <algorithm>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "house/shape.hpp"

namespace loom::house {

namespace {

struct Section {
    std::size_t line, end;  // of the next section or access label
    std::string file;
};

std::vector<Section> sections_of(const std::string& header) {
    static const std::regex mark(R"(^ +// (?:-+ )?((?:[a-z0-9_]+/)*[a-z0-9_]+\.cpp)\b.*)");
    static const std::regex access(R"( *(public|protected|private):)");
    std::vector<Section> sections;
    std::istringstream in(header);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        std::smatch match;
        const bool begins = std::regex_match(line, match, mark);
        const bool ends = begins || std::regex_match(line, access);
        if (ends && !sections.empty()) sections.back().end = std::min(sections.back().end, number);
        if (begins) sections.push_back({number, std::numeric_limits<std::size_t>::max(), match[1]});
    }
    return sections;
}

// "src/hca/" of "src/hca/engine.hpp" and of "include/loom/hca/x.hpp".
std::string room_of(std::string path) {
    if (path.starts_with("include/loom/")) path = "src/" + path.substr(13);
    const std::size_t end = path.find('/', path.find('/') + 1);
    return path.substr(0, end + 1);
}

}  // namespace

std::vector<std::string> wrong_sections(const std::string& path, const std::map<std::string, std::string>& sources) {
    std::vector<std::string> wrong;
    const std::vector<Section> sections = sections_of(sources.at(path));
    if (sections.empty()) return wrong;
    const std::string room = room_of(path);
    const Shape shape = shape_of(sources.at(path));
    for (const Section& section : sections) {
        const std::string where = "line " + std::to_string(section.line) + ": no file " + section.file;
        std::set<std::string> defined;
        bool found = false;
        for (const auto& [name, text] : sources)
            if (name.starts_with(room) && name.ends_with("/" + section.file)) {
                found = true;
                for (const Function& each : shape_of(text).functions) defined.insert(each.name);
            }
        if (!found) wrong.push_back(where + " in this room");
        for (const Class& type : shape.classes) {
            if (!found || section.line < type.line || section.line > type.last) continue;
            for (const Member& member : type.declared) {
                if (member.line < section.line || member.line >= section.end) continue;
                const std::string name = type.name + "::" + member.name;
                if (!defined.contains(name)) wrong.push_back(where + " of this room has " + name + "()");
            }
        }
    }
    return wrong;
}

}  // namespace loom::house
