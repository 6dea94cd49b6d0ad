// The one place that reads the environment.
#include "loom/base/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "loom/base/error.hpp"
#include "loom/base/nearest.hpp"

namespace loom::settings {

namespace {

constexpr std::string_view prefix = "LOOM_";

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> words;
    std::istringstream in{std::string(text)};
    for (std::string word; std::getline(in, word, separator);) words.push_back(word);
    return words;
}

// "auto, system or soft"
std::string in_words(const std::vector<std::string>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    return text;
}

std::vector<std::string> names_without_prefix() {
    std::vector<std::string> names;
    for (const Info& each : all()) names.push_back(std::string(each.name).substr(prefix.size()));
    return names;
}

bool is_known(std::string_view name) {
    return std::any_of(all().begin(), all().end(), [&](const Info& each) { return each.name == name; });
}

}  // namespace

const char* name(Setting setting) {
    return info(setting).name;
}

std::optional<std::string> variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
}

std::optional<std::string> read(Setting setting) {
    std::optional<std::string> value = variable(name(setting));
    if (value && value->empty()) value.reset();
    return value;
}

std::optional<std::string> read_word(Setting setting) {
    const std::optional<std::string> value = read(setting);
    if (!value) return value;
    const std::vector<std::string> words = split(info(setting).type, '|');
    if (std::find(words.begin(), words.end(), *value) == words.end()) refuse(setting, *value, in_words(words));
    return value;
}

bool as_switch(Setting setting, std::string_view value) {
    if (value == "1" || value == "on" || value == "yes") return true;
    if (value == "0" || value == "off" || value == "no") return false;
    refuse(setting, value, "0 or 1");
}

void refuse(Setting setting, std::string_view value, std::string_view expected) {
    throw UsageError(std::string(name(setting)) + "='" + std::string(value) + "': expected " + std::string(expected));
}

std::vector<Unknown> unknown() {
    std::vector<Unknown> found;
    std::vector<std::string> names, remarked;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
        const std::string_view entry = *each;
        const std::string_view word = entry.substr(0, entry.find('='));
        if (!word.starts_with(prefix) || is_known(word)) continue;
        if (names.empty()) {
            names = names_without_prefix();
            remarked = split(read(Setting::remarked).value_or(""), ',');
        }
        if (std::find(remarked.begin(), remarked.end(), word) != remarked.end()) continue;
        const Nearest nearest = find_nearest(word.substr(prefix.size()), names);
        found.push_back({std::string(word), all()[nearest.index].setting, nearest.near});
    }
    return found;
}

std::string remark(const Unknown& unknown) {
    return "no such setting: " + unknown.name +
           (unknown.near ? "; did you mean " + std::string(name(unknown.nearest)) + '?' : " (loom settings lists all)");
}

}  // namespace loom::settings
