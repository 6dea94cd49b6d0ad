// Reading numbers off the front of a line, and quoting what was found instead.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loom::routing::io {

inline void skip_space(std::string_view& text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    skip_space(text);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Digits in the base, consumed; nothing (and text untouched) when there are none or they overflow.
[[nodiscard]] inline std::optional<std::uint64_t> take_number(std::string_view& text, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

// "0x" and hexadecimal digits.
[[nodiscard]] inline std::optional<std::uint64_t> take_hex(std::string_view& text) {
    if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
    std::string_view rest = text.substr(2);
    const auto value = take_number(rest, 16);
    if (value) text = rest;
    return value;
}

// For messages: at most 40 characters, printable, in quotes.
[[nodiscard]] inline std::string shown(std::string_view text) {
    std::string out = "'";
    for (const char c : text.substr(0, 40)) out += c >= ' ' && c != 127 ? c : '?';
    out += text.size() > 40 ? "...'" : "'";
    return out;
}

}  // namespace loom::routing::io
