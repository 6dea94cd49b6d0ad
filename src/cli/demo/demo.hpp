// What the steps of loom demo share.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "loom/base/table.hpp"
#include "loom/fabric/fabric.hpp"
#include "loom/report/page.hpp"
#include "loom/routing/engine.hpp"
#include "loom/routing/tables.hpp"

namespace loom::cli {

struct DemoOptions {
    Common common;
    std::string folder = "loom-demo";
    unsigned threads = 0;
};

// Where the steps speak, and what they leave for those after them.
struct Demo {
    const DemoOptions& options;
    std::filesystem::path folder;
    int step = 0;
    nlohmann::ordered_json result = {};

    fabric::Fabric tree = {};
    fabric::Fabric damaged = {};
    report::Findings repaired = {};  // of the damaged tree and its repaired tables
    std::vector<report::Section> sections = {};

    template <class... Parts>
    void say(fmt::format_string<Parts...> text, Parts&&... parts) const {
        if (options.common.json) return;
        fmt::print(text, std::forward<Parts>(parts)...);
        std::fflush(stdout);
    }
    // A numbered title and the commands that do the same, to be typed in the demo's folder.
    void heading(std::string_view title, const std::vector<std::string>& commands);
    void show(const Table& table) const;
    [[nodiscard]] routing::RouteOptions route_options() const;
};

// The steps in order. Each writes its files into the folder, says what it found and adds to `result` and `sections`.
void demo_build(Demo& demo);
void demo_route_twice(Demo& demo);
void demo_break_and_repair(Demo& demo);
void demo_map_ranks(Demo& demo);
void demo_victim(Demo& demo);
void demo_ranks(Demo& demo);  // where the room twin is
void demo_verbs(Demo& demo);
void demo_collective(Demo& demo);
#ifdef WITH_DCUDA
void demo_device(Demo& demo);
#endif
void demo_report(Demo& demo);

}  // namespace loom::cli
