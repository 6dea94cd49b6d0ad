// What documents name must be there: files, the targets of links, and on the walk pages functions too.
#pragma once

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace loom::house {

// "document:line: what is missing". Looked at: links to files; words in backticks that are the path of a file (from the
// root of the tree, or of a header as it is included), unless they have a placeholder such as NAME or <room>; and with
// `functions` words in backticks that end in (), which must stand in the file that was named last before them.
enum class Look : unsigned char { files, functions };
inline std::vector<std::string> missing_names(const std::filesystem::path& root, const std::string& document,
                                              Look look) {
    namespace fs = std::filesystem;
    static const std::regex word(R"re(`([^`\n]+)`|\]\(([^)#\s]+)(?:#[^)\s]*)?\))re");
    static const std::regex file(
        R"re((?:(?:src|include|tests|docs|cmake|bench|examples)/|loom/)[a-z0-9_/.-]+\.[a-z]+)re");
    static const std::regex function(R"re((?:[A-Za-z_]\w*::)*([A-Za-z_]\w*)\(\))re");
    const auto slurp = [](const fs::path& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    };
    std::vector<std::string> missing;
    std::ifstream in(root / document);
    std::string last, source;  // the file that was named last, and what is in it
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        const auto miss = [&](const std::string& what) {
            missing.push_back(document + ":" + std::to_string(number) + ": " + what);
        };
        for (std::sregex_iterator at(line.begin(), line.end(), word), end; at != end; ++at) {
            std::smatch match;
            if (const std::string link = (*at)[2]; !link.empty()) {
                if (link.find("://") == std::string::npos && !fs::exists((root / document).parent_path() / link))
                    miss("no file " + link);
            } else if (const std::string quoted = (*at)[1]; std::regex_match(quoted, file)) {
                last = quoted.starts_with("loom/") ? "include/" + quoted : quoted;
                source = slurp(root / last);
                if (!fs::exists(root / last)) miss("no file " + quoted);
            } else if (look == Look::functions && std::regex_match(quoted, match, function)) {
                const std::regex name("\\b" + match[1].str() + "\\b");
                if (!std::regex_search(source, name)) miss("no " + quoted + " in " + last);
            }
        }
    }
    return missing;
}

}  // namespace loom::house
