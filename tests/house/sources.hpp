// The sources of the tree, and lists of what is allowed beyond a rule: lines "NAME: reason".
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace loom::house {

// Visits the path from the root of the tree, and the text, of each file below `tops` whose name ends in one of
// `endings`.
template <class Visit>
void each_file(const std::vector<std::string>& tops, const std::vector<std::string>& endings, Visit&& visit) {
    namespace fs = std::filesystem;
    const fs::path root = LOOM_SOURCE_DIR;
    for (const std::string& top : tops)
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string name = entry.path().filename().string();
            for (const std::string& ending : endings)
                if (name.ends_with(ending)) {
                    visit(fs::relative(entry.path(), root).string(), loom::test::slurp(entry.path()));
                    break;
                }
        }
}

// What a list of tests/house says, "NAME: reason".
inline std::map<std::string, std::string> allowed_in(const std::string& list) {
    std::map<std::string, std::string> allowed;
    std::ifstream in(std::filesystem::path(LOOM_SOURCE_DIR) / "tests/house" / list);
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(": ");
        if (!line.starts_with('#') && colon != std::string::npos)
            allowed[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return allowed;
}

}  // namespace loom::house
