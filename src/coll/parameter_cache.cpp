#include "coll/parameter_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/settings.hpp"
#include "loom/model/parameters.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::coll {

namespace {

constexpr std::string_view title = "loomband parameters 2";

// Programs that start again and again on a busy machine shall not measure each time.
constexpr auto busy_age = std::chrono::minutes(10);

std::string processor() {
    try {
        const std::string text = read_file("/proc/cpuinfo");
        Lines lines(text);
        for (std::string_view line; lines.next(line);)
            if (line.starts_with("model name"))
                if (const std::size_t colon = line.find(": "); colon != std::string_view::npos)
                    return std::string(line.substr(colon + 2));
    } catch (const IoError&) {
    }
    return "unknown";
}

std::string host() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    return name.data();
}

std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    return text;
}

}  // namespace

std::uint64_t digest(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

std::string parameter_key(const transport::Transport& transport) {
    const auto hosts = transport.hosts();
    const auto here = std::count(hosts.begin(), hosts.end(), hosts[transport.rank().value]);
    const std::uint32_t cores = transport.cores();
    // Costs change with the turns that ranks take on a core, and little between 5 and 6 of them.
    std::uint64_t shared = 1;
    if (transport.waiting() == transport::Waiting::yield)
        while (shared * cores < static_cast<std::uint64_t>(here)) shared *= 2;
    const bool far = std::any_of(hosts.begin(), hosts.end(), [&](std::uint32_t each) { return each != hosts[0]; });
    return one_line(fmt::format(
        "{} | {} | {} | {} cores, {} | {}", host(), processor(), transport.description(), cores,
        transport.waiting() == transport::Waiting::spin ? "one for each rank" : fmt::format("{} ranks on each", shared),
        far ? "several hosts" : "one host"));
}

std::optional<std::filesystem::path> parameter_file(const std::string& key) {
    const std::string asked = settings::read(Setting::cache).value_or("");
    if (asked == "off") return {};
    std::filesystem::path folder = asked;
    if (asked.empty()) {
        if (const std::string cache = settings::variable("XDG_CACHE_HOME").value_or(""); !cache.empty())
            folder = std::filesystem::path(cache) / "loomband";
        else if (const std::string home = settings::variable("HOME").value_or(""); !home.empty())
            folder = std::filesystem::path(home) / ".cache" / "loomband";
        else
            return {};
    }
    return folder / fmt::format("parameters-{:016x}.txt", digest(key));
}

namespace {

// Title, what it is for, when, charges. Throws for what is damaged.
struct KeptFile {
    std::string about, when, charges;
};

KeptFile open_kept(const std::filesystem::path& file) {
    const std::string text = read_file(file);
    const std::size_t last = text.rfind("check ");
    if (last == std::string::npos || text.substr(last) != fmt::format("check {:016x}\n", digest(text.substr(0, last))))
        throw ParseError(file.string(), 0, "expected its own check sum in the last line");
    Lines lines(text);
    std::string_view first, about, when, charges;
    lines.next(first), lines.next(about), lines.next(when), lines.next(charges);
    if (first != title) throw ParseError(file.string(), 1, fmt::format("expected '{}'", title));
    return {std::string(about), std::string(when), std::string(charges)};
}

}  // namespace

std::optional<Parameters> read_kept_parameters(const std::filesystem::path& file) {
    if (!read_file(file).starts_with("loomband parameters")) return {};
    const KeptFile kept = open_kept(file);
    return Parameters{model::parse_charges(kept.charges, {}), Parameters::Source::given,
                      fmt::format("{}, from {}", kept.when, file.string())};
}

std::optional<Parameters> load_parameters(const std::filesystem::path& file, const std::string& key) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return {};
    std::string why;
    try {
        const KeptFile kept = open_kept(file);
        if (kept.about != "for " + key)
            throw ParseError(file.string(), 2, "expected this machine, transport and crowd");
        if (kept.when.ends_with(busy_words)) {
            const auto age = std::filesystem::file_time_type::clock::now() - std::filesystem::last_write_time(file);
            if (age > busy_age) throw Error(fmt::format("{}: {}", file.string(), kept.when));
        }
        Parameters parameters;
        parameters.charges = model::parse_charges(kept.charges, {});
        parameters.source = Parameters::Source::cached;
        parameters.origin = fmt::format("{}, kept in {}", kept.when, file.string());
        return parameters;
    } catch (const std::exception& error) {  // the file system's own, too
        why = error.what();
    }
    if (settings::read(Setting::verbose))
        fmt::print(stderr, "loom: {}: the parameters of this machine are measured again\n", why);
    return {};
}

void keep_parameters(const std::filesystem::path& file, const std::string& key, const Parameters& parameters) {
    std::string text =
        fmt::format("{}\nfor {}\n{}\n{}\n", title, key, parameters.origin, model::to_text(parameters.charges));
    text += fmt::format("check {:016x}\n", digest(text));
    try {
        std::error_code ignored;
        std::filesystem::create_directories(file.parent_path(), ignored);
        write_file(file, text);
    } catch (const IoError& error) {
        if (settings::read(Setting::verbose))
            fmt::print(stderr, "loom: the measured parameters are not kept: {}\n", error.what());
    }
}

std::string time_of_day() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &utc);
    return text.data();
}

}  // namespace loom::coll
