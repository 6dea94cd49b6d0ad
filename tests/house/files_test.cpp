#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "house/sources.hpp"

namespace {

using testing::IsEmpty;

constexpr std::ptrdiff_t longest = 600;

template <class Visit>
void each_source(Visit&& visit) {
    loom::house::each_file({"include", "src", "tests", "bench", "cmake"}, {".cpp", ".hpp", ".cmake", ".sh"}, visit);
}

TEST(Files, AreShortOrSayWhyNot) {
    std::vector<std::string> too_long;
    auto allowed = loom::house::allowed_in("long_files.txt");

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
