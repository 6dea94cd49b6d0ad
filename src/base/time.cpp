#include "loom/base/time.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "loom/base/text.hpp"

namespace loom {
namespace {

__extension__ using Wide = unsigned __int128;

struct Unit {
    std::string_view name;
    std::uint64_t size;
};

constexpr std::array time_units{Unit{"s", 1'000'000'000'000}, Unit{"ms", 1'000'000'000}, Unit{"us", 1'000'000},
                                Unit{"ns", 1'000}, Unit{"ps", 1}};

constexpr std::array byte_units{
    Unit{"B", 1},
    Unit{"k", 1ull << 10},
    Unit{"K", 1ull << 10},
    Unit{"M", 1ull << 20},
    Unit{"G", 1ull << 30},
    Unit{"T", 1ull << 40},
    Unit{"KiB", 1ull << 10},
    Unit{"MiB", 1ull << 20},
    Unit{"GiB", 1ull << 30},
    Unit{"TiB", 1ull << 40},
    Unit{"kB", 1'000},
    Unit{"KB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
};

std::string_view take_digits(std::string_view& text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count])) ++count;
    const std::string_view digits = text.substr(0, count);
    text.remove_prefix(count);
    return digits;
}

enum class Rest { rounded, refused };  // what happens to a part of the smallest unit

// "12", or "12" and "1.5" before a unit.
std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units, Rest rest) {
    text = trim(text);
    const auto whole = parse_decimal(take_digits(text));
    if (!whole) return std::nullopt;
    std::string_view fraction;
    if (!text.empty() && text.front() == '.') {
        text.remove_prefix(1);
        fraction = take_digits(text);
        if (fraction.empty()) return std::nullopt;
    }
    text = trim(text);
    std::uint64_t size = 1;
    if (text.empty()) {
        if (!fraction.empty()) return std::nullopt;
    } else {
        size = 0;
        for (const Unit& unit : units)
            if (unit.name == text) size = unit.size;
        if (size == 0) return std::nullopt;
    }

    while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
    if (fraction.size() > 18) {
        if (rest == Rest::refused) return std::nullopt;
        fraction = fraction.substr(0, 18);  // beyond any unit's smallest part
    }
    std::uint64_t scale = 1;
    for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
    const Wide part = Wide{fraction.empty() ? 0 : *parse_decimal(fraction)} * size;
    if (rest == Rest::refused && part % scale != 0) return std::nullopt;
    const Wide value = Wide{*whole} * size + (part + (rest == Rest::rounded ? scale / 2 : 0)) / scale;
    if (value > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    return static_cast<std::uint64_t>(value);
}

}  // namespace

std::string to_string(Time time) {
    if (time == never) return "never";
    if (time.ps == 0) return "0 s";
    const double magnitude = std::abs(static_cast<double>(time.ps));
    for (const Unit& unit : time_units) {
        const double value = magnitude / static_cast<double>(unit.size);
        // 999.5 and more would print as 1e+03: that is 1 of the unit above.
        if (value < 0.9995 && unit.size != 1) continue;
        const std::string digits = value < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
        return fmt::format("{}{} {}", time.ps < 0 ? "-" : "", digits, unit.name);
    }
    return {};  // unreachable: the last unit takes all
}

std::optional<Time> parse_time(std::string_view text) {
    const std::string_view trimmed = trim(text);
    if (trimmed.empty() || (is_digit(trimmed.back()) && trimmed.find_first_not_of('0') != std::string_view::npos))
        return std::nullopt;
    const auto value = parse_quantity(trimmed, time_units, Rest::rounded);
    if (!value || *value >= static_cast<std::uint64_t>(never.ps)) return std::nullopt;
    return Time{static_cast<std::int64_t>(*value)};
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    return parse_quantity(text, byte_units, Rest::refused);
}

}  // namespace loom
