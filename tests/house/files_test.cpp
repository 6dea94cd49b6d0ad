#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "support/process.hpp"

namespace {

using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr std::ptrdiff_t longest = 600;

// Lines "path: reason".
std::map<std::string, std::string> allowed_long_files() {
    std::map<std::string, std::string> allowed;
    std::ifstream in(fs::path(LOOM_SOURCE_DIR) / "tests/house/long_files.txt");
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(": ");
        if (!line.starts_with('#') && colon != std::string::npos)
            allowed[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return allowed;
}

template <class Visit>
void each_source(Visit&& visit) {
    const fs::path root = LOOM_SOURCE_DIR;
    for (const char* top : {"include", "src", "tests", "bench", "cmake"})
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string extension = entry.path().extension().string();
            if (extension == ".cpp" || extension == ".hpp" || extension == ".cmake" || extension == ".sh")
                visit(fs::relative(entry.path(), root).string(), loom::test::slurp(entry.path()));
        }
}

TEST(Files, AreShortOrSayWhyNot) {
    std::vector<std::string> too_long;
    auto allowed = allowed_long_files();

    each_source([&](const std::string& path, const std::string& text) {
        const auto lines = std::count(text.begin(), text.end(), '\n');
        if (lines > longest && allowed.erase(path) == 0)
            too_long.push_back(path + ": " + std::to_string(lines) + " lines");
    });

    EXPECT_THAT(too_long, IsEmpty()) << "split it, or give a reason in tests/house/long_files.txt";
    EXPECT_THAT(allowed, IsEmpty()) << "no longer needed in tests/house/long_files.txt";
}

TEST(Files, OfPublicHeadersStayFreeOfHeavyIncludes) {
    std::vector<std::string> heavy;
    const std::regex heavy_line(R"(#include <(nlohmann/|CLI/|fmt/))");

    each_source([&](const std::string& path, const std::string& text) {
        if (path.starts_with("include/") && std::regex_search(text, heavy_line)) heavy.push_back(path);
    });

    EXPECT_THAT(heavy, IsEmpty());
}

TEST(Files, OfPublicHeadersAreGuardedAndSayWhatTheyAreFor) {
    std::vector<std::string> offenders;

    each_source([&](const std::string& path, const std::string& text) {
        if (path.starts_with("include/") &&
            (!text.starts_with("// ") || text.find("\n#pragma once\n") == std::string::npos))
            offenders.push_back(path);
    });

    EXPECT_THAT(offenders, IsEmpty()) << "a public header begins with a line of comment and has #pragma once";
}

}  // namespace
