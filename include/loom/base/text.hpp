// Scanning text without copying it: what the readers of line-based formats share.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace loom {

[[nodiscard]] constexpr bool is_blank(char c) {
    return c == ' ' || c == '\t';
}
[[nodiscard]] constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Without spaces, tabs and carriage returns at both ends.
[[nodiscard]] constexpr std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// All of `text` as a number, no sign, no blanks; nullopt also when it does not fit 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> parse_decimal(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 10);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Hexadecimal digits with or without 0x in front.
[[nodiscard]] inline std::optional<std::uint64_t> parse_hex(std::string_view text) {
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Hexadecimal after 0x, decimal otherwise.
[[nodiscard]] inline std::optional<std::uint64_t> parse_number(std::string_view text) {
    const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    return hex ? parse_hex(text) : parse_decimal(text);
}

// For messages: at most 40 characters between quotes, what cannot be printed as '?'.
[[nodiscard]] std::string excerpt(std::string_view text);

// A position in one line. Every take… moves past what it returns, and stays put when it returns
// nothing (nullopt, false or an empty view).
class Cursor {
public:
    explicit constexpr Cursor(std::string_view text) : rest_(text) {}

    [[nodiscard]] constexpr bool done() const { return rest_.empty(); }
    [[nodiscard]] constexpr std::string_view rest() const { return rest_; }
    // '\0' at the end.
    [[nodiscard]] constexpr char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

    constexpr Cursor& skip_blanks() {
        while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
        return *this;
    }
    constexpr bool take(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    constexpr bool take(std::string_view expected) {
        if (!rest_.starts_with(expected)) return false;
        rest_.remove_prefix(expected.size());
        return true;
    }
    // Up to the next blank.
    constexpr std::string_view take_word() { return take_front(rest_.find_first_of(" \t")); }
    // Up to the first of `stops`, which stays; all that is left when there is none.
    constexpr std::string_view take_until(std::string_view stops) { return take_front(rest_.find_first_of(stops)); }
    // The longest run of digits; nullopt when there is none or it does not fit 64 bits.
    std::optional<std::uint64_t> take_decimal() { return take_base(10); }
    // The same in hexadecimal; a leading 0x is passed over.
    std::optional<std::uint64_t> take_hex() {
        const std::string_view before = rest_;
        if (!take(std::string_view("0x"))) (void)take(std::string_view("0X"));
        const auto value = take_base(16);
        if (!value) rest_ = before;
        return value;
    }
    // What stands between a double quote here and the next one, without the quotes. No escapes.
    constexpr std::optional<std::string_view> take_quoted() {
        if (peek() != '"') return std::nullopt;
        const auto end = rest_.find('"', 1);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view inside = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return inside;
    }

private:
    constexpr std::string_view take_front(std::size_t count) {
        const std::string_view front = rest_.substr(0, count);
        rest_.remove_prefix(front.size());
        return front;
    }
    std::optional<std::uint64_t> take_base(int base) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
        if (error != std::errc{}) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return value;
    }

    std::string_view rest_;
};

}  // namespace loom
