// Which room may include from which, read from the lines of the build that link them.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace loom::house {

using Rooms = std::map<std::string, std::set<std::string>>;  // a room and all it may include from, itself included

// From the loom_room(NAME DEPENDENCY...) lines of a CMakeLists.txt, with what follows from them.
inline Rooms read_rooms(const std::filesystem::path& cmake_lists) {
    Rooms rooms;
    std::ifstream in(cmake_lists);
    const std::regex room_line(R"(^\s*loom_room\(([^)]*)\))");
    for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, room_line)) continue;
        std::istringstream words(match[1]);
        std::string name;
        words >> name;
        rooms[name].insert(name);
        for (std::string dependency; words >> dependency;) rooms[name].insert(dependency);
    }
    for (bool grew = true; grew;) {
        grew = false;
        for (auto& [name, allowed] : rooms)
            for (const std::string& dependency : std::set(allowed))
                for (const std::string& further : rooms[dependency]) grew |= allowed.insert(further).second;
    }
    return rooms;
}

// Offences as "file:line: why", for every source below include/loom, src and tests of `root`.
inline std::vector<std::string> wrong_includes(const std::filesystem::path& root, const Rooms& rooms) {
    namespace fs = std::filesystem;
    std::vector<std::string> offences;
    const std::regex include_line(R"re(^\s*#\s*include\s*"([^"]+)")re");
    const auto scan = [&](const fs::path& folder, const std::string& area, const std::string& room) {
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".cpp" && extension != ".hpp") continue;
            std::ifstream in(entry.path());
            std::size_t number = 0;
            for (std::string line; std::getline(in, line);) {
                ++number;
                std::smatch match;
                if (!std::regex_search(line, match, include_line)) continue;
                const std::string path = match[1];
                const bool is_public = path.starts_with("loom/");
                const std::string rest = is_public ? path.substr(5) : path;
                const std::string target = rest.substr(0, rest.find('/'));
                std::string why;
                if (is_public && !rooms.contains(target))
                    why = "there is no room '" + target + "'";
                else if (!rooms.contains(target))
                    continue;  // a neighbour in the same folder, or a test's helper
                else if (area == "include" && !is_public)
                    why = "a public header includes a private one";
                else if (!is_public && target != room && room != "cli")
                    why = "the private headers of '" + target + "' are its own";
                else if (rooms.contains(room) && !rooms.at(room).contains(target))
                    why = "'" + room + "' must not know '" + target + "'";
                else
                    continue;
                offences.push_back(fs::relative(entry.path(), root).string() + ":" + std::to_string(number) + ": " +
                                   path + ": " + why);
            }
        }
    };
    for (const auto& [area, folder] : {std::pair{"include", "include/loom"}, {"src", "src"}, {"tests", "tests"}}) {
        if (!fs::exists(root / folder)) continue;
        for (const auto& entry : fs::directory_iterator(root / folder))
            if (entry.is_directory() && entry.path().filename() != "house")
                scan(entry.path(), area, entry.path().filename().string());
    }
    return offences;
}

}  // namespace loom::house
