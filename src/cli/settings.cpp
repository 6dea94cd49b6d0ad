// loom settings: every variable of the environment that Loomband reads.
#include "cli/settings.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "loom/base/settings.hpp"
#include "loom/base/table.hpp"

namespace loom::cli {

namespace {

using settings::Info;
using settings::Use;

struct Options {
    Common common;
    bool all = false, page = false;
};

const char* to_string(Use use) {
    switch (use) {
        case Use::user:
            return "user";
        case Use::started:
            return "started";
        case Use::test:
            break;
    }
    return "test";
}

void print(const Options& options) {
    Table table({{"setting"}, {"value"}, {"default"}, {"meaning"}});
    for (const Info& each : settings::all())
        if (options.all || each.use == Use::user)
            table.row({each.name, settings::read(each.setting).value_or("-"), each.otherwise, each.help});
    table.print();
}

nlohmann::ordered_json to_json() {
    nlohmann::ordered_json known = nlohmann::ordered_json::array(), unknown = nlohmann::ordered_json::array();
    for (const Info& each : settings::all()) {
        nlohmann::ordered_json object{{"name", each.name}, {"room", each.room},         {"use", to_string(each.use)},
                                      {"type", each.type}, {"default", each.otherwise}, {"help", each.help}};
        const auto value = settings::read(each.setting);
        object["value"] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
        known.push_back(std::move(object));
    }
    for (const settings::Unknown& each : settings::unknown())
        unknown.push_back({{"name", each.name}, {"nearest", settings::name(each.nearest)}});
    return {{"settings", known}, {"unknown", unknown}};
}

std::string in_cell(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
    return text;
}

void print_section(Use use, const char* title) {
    fmt::print("\n## {}\n\n| setting | value | default | meaning | read by |\n|---|---|---|---|---|\n", title);
    for (const Info& each : settings::all())
        if (each.use == use)
            fmt::print("| `{}` | {} | {} | {} | {} |\n", each.name, in_cell(each.type), each.otherwise,
                       in_cell(each.help), each.room);
}

// docs/settings.md
void print_page() {
    fmt::print(
        "# Settings\n\n"
        "<!-- Made by `loom settings --page` from src/base/settings_table.cpp; a test compares the two. -->\n\n"
        "Variables of the environment that change how Loomband works. `loom settings` prints them with their present\n"
        "values, `--all` those of the last two tables too, `--json` everything as one object.\n\n"
        "- An empty value counts as not set. A value that cannot be used is refused in one sentence, which says what "
        "was\n"
        "  expected.\n"
        "- A setting is read once, when what it governs is opened: the first use of a device, a world, a transport.\n"
        "  Later changes have no effect on what is open.\n"
        "- A name that begins with `LOOM_` and is not listed here is remarked on, once, with the name that was "
        "probably\n"
        "  meant: by `loom`, else by rank 0 or by the software HCA that is preloaded.\n");
    print_section(Use::user, "For everybody");
    print_section(Use::started, "Set by Loomband for the processes that it starts");
    print_section(Use::test, "For tests and benchmarks");
}

}  // namespace

void remark_on_settings() {
    const std::vector<settings::Unknown> unknown = settings::unknown();
    if (unknown.empty()) return;
    std::string all = settings::read(Setting::remarked).value_or("");
    for (const settings::Unknown& each : unknown) {
        fmt::print(stderr, "loom: {}\n", settings::remark(each));
        all += (all.empty() ? "" : ",") + each.name;
    }
    setenv(settings::name(Setting::remarked), all.c_str(), 1);
}

void add_settings(CLI::App& program, int&) {
    const auto options = std::make_shared<Options>();
    CLI::App* app =
        program.add_subcommand("settings", "List the variables of the environment: value, default, meaning");
    app->add_flag("--all", options->all, "Those too that Loomband sets for its processes, and those of tests");
    app->add_flag("--page", options->page, "Print docs/settings.md");
    add_common(*app, options->common);
    app->footer(
        "A misspelled name that begins with LOOM_ is remarked on, here and by every command.\n"
        "\n"
        "  LOOM_WAITING=yield loom settings");
    app->callback([options] {
        if (options->common.json) return print_json(to_json());
        if (options->page) return print_page();
        print(*options);
    });
}

}  // namespace loom::cli
