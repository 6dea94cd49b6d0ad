// The one registry of settings: what reads the environment, which names there are, the page that is made from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "house/sources.hpp"
#include "support/process.hpp"

namespace {

using loom::house::each_file;
using loom::test::loom_program;
using loom::test::Outcome;
using testing::IsEmpty;

std::set<std::string> names_in(const std::string& text, const std::regex& name) {
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) names.insert((*at)[1]);
    return names;
}

TEST(Settings, AreReadInOnePlace) {
    std::vector<std::string> readers;

    each_file({"include", "src"}, {".cpp", ".hpp", ".h"}, [&](const std::string& path, const std::string& text) {
        if (std::regex_search(text, std::regex(R"(\b(secure_)?getenv\b)"))) readers.push_back(path);
    });

    EXPECT_THAT(readers, testing::ElementsAre("src/base/settings.cpp")) << "use settings::read or settings::variable";
}

// Macros and what the build defines.
std::set<std::string> names_of_the_build() {
    static const std::regex macro(R"(#\s*define (LOOM_\w+))");
    static const std::regex variable(
        R"re((?:\b(?:option|set|find_path|find_library)\(|PROPERTY |PRIVATE |-D)(LOOM_\w+))re");
    static const std::regex definition(R"re(\b(LOOM_\w+)=\\?")re");
    std::set<std::string> names;
    each_file({"include", "src", "tests", "bench", "examples", "cmake"},
              {".cpp", ".hpp", ".h", ".cmake", "CMakeLists.txt"},
              [&](const std::string& path, const std::string& text) {
                  names.merge(names_in(text, macro));
                  if (path.ends_with("pp") || path.ends_with(".h")) return;
                  names.merge(names_in(text, variable));
                  names.merge(names_in(text, definition));
              });
    const std::string root = loom::test::slurp(LOOM_SOURCE_DIR "/CMakeLists.txt");
    names.merge(names_in(root, variable));
    names.merge(names_in(root, definition));
    return names;
}

TEST(Settings, InCodeAndDocumentsAreInTheTable) {
    const std::set<std::string> misspelled{"LOOM_WAITNG", "LOOM_EGER", "LOOM_VERBS_HCA", "LOOM_X",
                                           "LOOM_FROBNICATION_OF_TEAPOTS"};  // on purpose
    std::set<std::string> known = names_of_the_build(), in_use;
    std::vector<std::string> unknown, unused;
    std::set<std::string> settings;
    const auto listed = nlohmann::json::parse(loom_program("settings --json").out);
    for (const auto& each : listed["settings"]) settings.insert(each["name"]);

    const auto look = [&](const std::string& path, const std::string& text) {
        for (const std::string& name : names_in(text, std::regex(R"(\b(LOOM_[A-Z0-9_]*[A-Z0-9])\b)"))) {
            if (path != "docs/settings.md" && path != "src/base/settings_table.cpp") in_use.insert(name);
            if (!settings.contains(name) && !known.contains(name) && !misspelled.contains(name))
                unknown.push_back(path + ": " + name);
        }
    };
    each_file({"include", "src", "tests", "bench", "examples", "cmake", "docs"}, {""}, look);
    for (const char* file : {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "loom"})
        look(file, loom::test::slurp(std::string(LOOM_SOURCE_DIR "/") + file));
    for (const std::string& name : settings)
        if (!in_use.contains(name)) unused.push_back(name);

    EXPECT_GT(settings.size(), 50u);
    EXPECT_THAT(unknown, IsEmpty()) << "misspelled, or missing in src/base/settings_table.cpp";
    EXPECT_THAT(unused, IsEmpty()) << "no code, test or document names it";
}

TEST(Settings, HaveAPageMadeFromTheirTable) {
    const Outcome page = loom_program("settings --page");

    EXPECT_EQ(page.exit_code, 0);
    EXPECT_EQ(page.out, loom::test::slurp(LOOM_SOURCE_DIR "/docs/settings.md"))
        << "write it anew: loom settings --page > docs/settings.md";
}

}  // namespace
