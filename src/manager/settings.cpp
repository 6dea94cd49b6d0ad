#include "loom/manager/settings.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "loom/base/error.hpp"
#include "loom/base/text.hpp"

namespace loom::manager {

void check(const Settings& settings) {
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw UsageError(what);
    };
    require(settings.sweep > Time{}, "the sweep interval must be longer than 0");
    require(settings.intervals >= 1, "the low marking rate must last at least 1 sweep");
    require(!settings.normal || *settings.normal >= settings.low,
            "the low marking rate must not exceed the default one (lower rates mark more packets)");
    require(settings.policy.sweeping != Sweeping::two_step || settings.calm_sweep >= settings.sweep,
            "the sweep interval of calm times must not be shorter than the other");
    require(settings.policy.attention != Attention::history || (settings.survey >= 1 && settings.memory >= 1),
            "the history policy must survey all ports and remember for at least 1 sweep");
    require(settings.policy.marking != Marking::proportional || settings.tick > Time{},
            "the tick of the wait counter must be longer than 0");
    require(settings.policy.marking != Marking::proportional || (settings.gain > 0 && settings.gain <= 1),
            "the gain of proportional marking must be above 0 and at most 1");
    require(settings.policy.patience != Patience::backoff || settings.longest_backoff >= 1,
            "the longest backoff must be at least 1 sweep");
}

std::optional<OutOfReach> out_of_reach(const Settings& settings, std::uint64_t Settings::*threshold, Time tick) {
    const auto ticks = static_cast<std::uint64_t>(settings.sweep.ps / tick.ps);
    if (settings.*threshold < ticks) return std::nullopt;
    const Settings usual;
    const double share = settings.sweep.seconds() / usual.sweep.seconds();
    const double as_usual = static_cast<double>(usual.*threshold) * share;
    return OutOfReach{settings.*threshold, ticks, static_cast<std::uint64_t>(std::llround(as_usual))};
}

namespace {

struct Key {
    SettingInfo info;
    void (*set)(Settings&, std::string_view);
    std::string (*get)(const Settings&);
};

[[noreturn]] void refuse(const std::string& expected, std::string_view value) {
    throw UsageError("expected " + expected + ", got " + excerpt(value));
}

std::uint64_t number(std::string_view text, std::uint64_t least, std::uint64_t most) {
    const auto value = parse_decimal(text);
    if (!value || *value < least || *value > most)
        refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most), text);
    return *value;
}

Time time(std::string_view text) {
    const auto value = parse_time(text);
    if (!value || *value == Time{}) refuse("a time like 1.5s or 200us", text);
    return *value;
}

double share(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !(value > 0 && value <= 1))
        refuse("a number above 0, at most 1", text);
    return value;
}

// Exact, unlike to_string(Time).
std::string text_of(Time time) {
    std::int64_t number = time.ps;
    const char* unit = "ps";
    for (const char* larger : {"ns", "us", "ms", "s"}) {
        if (number % 1000 != 0) break;
        number /= 1000;
        unit = larger;
    }
    return std::to_string(number) + unit;
}

Readings readings(std::string_view text) {
    Readings result;
    if (text == "nothing") return result;
    if (text == "all") return as_printed();
    for (std::string_view rest = text;;) {
        const std::string_view word = rest.substr(0, rest.find(','));
        if (word == "victim")
            result.victim = Reading::literal;
        else if (word == "count")
            result.count = Reading::literal;
        else if (word == "restore")
            result.restore = Reading::literal;
        else
            refuse("victim, count, restore (joined by commas), all or nothing", text);
        if (word.size() == rest.size()) return result;
        rest.remove_prefix(word.size() + 1);
    }
}

std::string text_of(const Readings& readings) {
    std::string text;
    const auto add = [&](Reading reading, const char* word) {
        if (reading == Reading::literal) text += (text.empty() ? "" : ",") + std::string(word);
    };
    add(readings.victim, "victim");
    add(readings.count, "count");
    add(readings.restore, "restore");
    return text.empty() ? "nothing" : text;
}

// "two-step, history and backoff joined by +".
std::string joined_policies() {
    const std::span<const std::string_view> names = policy_names().subspan(1);
    std::string words;
    for (std::size_t i = 0; i < names.size(); ++i)
        words += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + std::string(names[i]);
    return words + " joined by +";
}

std::string_view policy_help() {
    static const std::string text = "paper, or any of " + joined_policies();
    return text;
}

constexpr std::uint64_t most32 = UINT32_MAX, most64 = UINT64_MAX;

const std::array keys{
    Key{{"sweep", "TIME", "Interval between sweeps; thresholds are for one of these"},
        [](Settings& s, std::string_view v) { s.sweep = time(v); },
        [](const Settings& s) { return text_of(s.sweep); }},
    Key{{"congestion", "TICKS", "T_C: a port is congested when it spent more ticks of a sweep in the congested state"},
        [](Settings& s, std::string_view v) { s.congestion = number(v, 0, most64); },
        [](const Settings& s) { return std::to_string(s.congestion); }},
    Key{{"wait", "TICKS", "T_W: a port suffers when it waited more ticks of a sweep for credits"},
        [](Settings& s, std::string_view v) { s.wait = number(v, 0, most64); },
        [](const Settings& s) { return std::to_string(s.wait); }},
    Key{{"data", "WORDS", "T_D: a port that sends more words less than in the sweep before is no victim any more"},
        [](Settings& s, std::string_view v) { s.data = number(v, 0, most64); },
        [](const Settings& s) { return std::to_string(s.data); }},
    Key{{"intervals", "N", "T_I: sweeps that a port stays low at most, the lowering one counted"},
        [](Settings& s, std::string_view v) { s.intervals = static_cast<std::uint32_t>(number(v, 1, most32)); },
        [](const Settings& s) { return std::to_string(s.intervals); }},
    Key{{"low", "RATE", "Marking rate of a congested port with victims; 0 marks every packet"},
        [](Settings& s, std::string_view v) { s.low = static_cast<std::uint16_t>(number(v, 0, 65535)); },
        [](const Settings& s) { return std::to_string(s.low); }},
    Key{{"default", "RATE", "Marking rate to restore, or found: what each port had"},
        [](Settings& s, std::string_view v) {
            if (v == "found")
                s.normal.reset();
            else
                s.normal = static_cast<std::uint16_t>(number(v, 0, 65535));
        },
        [](const Settings& s) { return s.normal ? std::to_string(*s.normal) : std::string("found"); }},
    Key{{"policy", "NAME", policy_help()},
        [](Settings& s, std::string_view v) {
            const auto policy = parse_policy(v);
            if (!policy) refuse("paper, or " + joined_policies(), v);
            s.policy = *policy;
        },
        [](const Settings& s) { return to_string(s.policy); }},
    Key{{"calm-sweep", "TIME", "two-step: interval while nothing is congested"},
        [](Settings& s, std::string_view v) { s.calm_sweep = time(v); },
        [](const Settings& s) { return text_of(s.calm_sweep); }},
    Key{{"survey", "N", "history: every so many sweeps all ports are read"},
        [](Settings& s, std::string_view v) { s.survey = static_cast<std::uint32_t>(number(v, 1, most32)); },
        [](const Settings& s) { return std::to_string(s.survey); }},
    Key{{"memory", "N", "history: sweeps after which a congested port is forgotten"},
        [](Settings& s, std::string_view v) { s.memory = static_cast<std::uint32_t>(number(v, 1, most32)); },
        [](const Settings& s) { return std::to_string(s.memory); }},
    Key{{"tick", "TIME", "proportional: what one count of the waiting counter stands for"},
        [](Settings& s, std::string_view v) { s.tick = time(v); },
        [](const Settings& s) { return text_of(s.tick); }},
    Key{{"gain", "SHARE", "proportional: packets marked more for each sweep that a victim waits all the time"},
        [](Settings& s, std::string_view v) { s.gain = share(v); },
        [](const Settings& s) { return fmt::format("{}", s.gain); }},
    Key{{"longest-backoff", "N", "backoff: sweeps that a port without victim flows is left alone at most"},
        [](Settings& s, std::string_view v) { s.longest_backoff = static_cast<std::uint32_t>(number(v, 1, most32)); },
        [](const Settings& s) { return std::to_string(s.longest_backoff); }},
    Key{{"sweeps", "N", "Stop after so many sweeps; 0 goes on"},
        [](Settings& s, std::string_view v) { s.sweeps = number(v, 0, most64); },
        [](const Settings& s) { return std::to_string(s.sweeps); }},
    Key{{"as-printed", "LINES", "Lines of the paper to take as printed: victim, count, restore, all, nothing"},
        [](Settings& s, std::string_view v) { s.readings = readings(v); },
        [](const Settings& s) { return text_of(s.readings); }},
};

const Key& key_named(std::string_view name) {
    for (const Key& key : keys)
        if (key.info.key == name) return key;
    std::string names;
    for (const Key& key : keys) names += (names.empty() ? "" : ", ") + std::string(key.info.key);
    throw UsageError("expected a setting of the manager (" + names + "), got " + excerpt(name));
}

}  // namespace

std::span<const SettingInfo> setting_keys() {
    static const auto infos = [] {
        std::array<SettingInfo, keys.size()> result;
        for (std::size_t i = 0; i < keys.size(); ++i) result[i] = keys[i].info;
        return result;
    }();
    return infos;
}

void set(Settings& settings, std::string_view key, std::string_view value) {
    const Key& found = key_named(key);
    try {
        found.set(settings, value);
    } catch (const UsageError& error) {
        throw UsageError(std::string(key) + ": " + error.what());
    }
}

std::string get(const Settings& settings, std::string_view key) {
    return key_named(key).get(settings);
}

}  // namespace loom::manager
