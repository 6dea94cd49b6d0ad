#include "cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "loom/base/error.hpp"
#include "loom/base/text.hpp"

namespace loom::cli {
namespace {

CLI::Validator validator(std::function<std::string(std::string&)> check) {
    return {std::move(check), std::string()};
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    return text;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
    return validator([least, most](std::string& text) -> std::string {
        const auto value = parse_decimal(text);
        if (value && *value >= least && *value <= most) return {};
        const bool too_large = value && *value > most;
        const std::string range = too_large || most < std::numeric_limits<std::uint32_t>::max()
                                      ? fmt::format(" from {} to {}", least, most)
                                  : least > 0 ? fmt::format(" of at least {}", least)
                                              : std::string();
        return fmt::format("expected a whole number{}, got {}", range, excerpt(text));
    });
}

CLI::Validator any_seed() {
    return whole_number(0, std::numeric_limits<std::uint64_t>::max());
}

CLI::Validator thread_count() {
    return whole_number(0, 4096);
}

CLI::Validator real_number(double least, double most) {
    return validator([least, most](std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        if (!text.empty() && *end == '\0' && std::isfinite(value) && value >= least && value <= most) return {};
        const std::string range = std::isfinite(most) ? fmt::format("from {:g} to {:g}", least, most)
                                                      : fmt::format("of at least {:g}", least);
        return fmt::format("expected a number {}, got {}", range, excerpt(text));
    });
}

CLI::Validator one_of(std::vector<std::string> words) {
    return validator([words = std::move(words)](std::string& text) -> std::string {
        if (std::find(words.begin(), words.end(), text) != words.end()) return {};
        return fmt::format("expected {}, got {}", joined(words), excerpt(text));
    });
}

CLI::Validator not_empty(std::string what) {
    return validator([what = std::move(what)](std::string& text) -> std::string {
        return trim(text).empty() ? fmt::format("expected {}, got nothing", what) : std::string();
    });
}

void check_inputs(std::initializer_list<NamedFile> files) {
    std::string_view first;
    for (const auto& [option, path] : files) {
        if (path != "-") continue;
        if (!first.empty())
            throw UsageError(fmt::format("standard input can be used once; {} and {} are both -", first, option));
        first = option;
    }
}

void check_outputs(std::initializer_list<NamedFile> files, const Common& common) {
    std::string_view first = common.json ? "--json" : "";
    for (const auto& [option, path] : files) {
        if (path != "-") continue;
        if (common.json)
            throw UsageError(fmt::format("--json needs standard output for itself; give {} a file", option));
        if (!first.empty())
            throw UsageError(fmt::format("standard output can be used once; {} and {} are both -", first, option));
        first = option;
    }
}

void check_ending(NamedFile file, std::string_view what, std::initializer_list<std::string_view> own) {
    struct Ending {
        std::string_view text, belongs_to;
    };
    constexpr Ending known[] = {{".svg", "a picture"},
                                {".png", "a picture"},
                                {".pdf", "a document"},
                                {".html", "a page"},
                                {".htm", "a page"},
                                {".lft", "forwarding tables"},
                                {".lfts", "forwarding tables"},
                                {".fdbs", "forwarding tables"},
                                {".net", "a fabric"},
                                {".topo", "a fabric"},
                                {".dot", "a graph"},
                                {".gv", "a graph"},
                                {".csv", "a table of numbers"}};
    for (const Ending& ending : known) {
        if (!file.second.ends_with(ending.text)) continue;
        if (std::find(own.begin(), own.end(), ending.text) != own.end()) return;
        throw UsageError(
            fmt::format("{} {}: the name of {}, but this writes {}", file.first, file.second, ending.belongs_to, what));
    }
}

}  // namespace loom::cli
