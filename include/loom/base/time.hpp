// Points in time and spans of it: integer picoseconds, so that sums are exact and order is total.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loom {

// 63 bits of picoseconds reach 106 days.
struct Time {
    std::int64_t ps = 0;

    friend constexpr auto operator<=>(const Time&, const Time&) = default;
    constexpr Time& operator+=(Time other) {
        ps += other.ps;
        return *this;
    }
    constexpr Time& operator-=(Time other) {
        ps -= other.ps;
        return *this;
    }
    friend constexpr Time operator+(Time a, Time b) { return {a.ps + b.ps}; }
    friend constexpr Time operator-(Time a, Time b) { return {a.ps - b.ps}; }
    friend constexpr Time operator*(Time a, std::int64_t n) { return {a.ps * n}; }
    friend constexpr Time operator*(std::int64_t n, Time a) { return {a.ps * n}; }
    friend constexpr std::int64_t operator/(Time a, Time b) { return a.ps / b.ps; }

    [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
    [[nodiscard]] constexpr double microseconds() const { return static_cast<double>(ps) * 1e-6; }
    [[nodiscard]] constexpr double nanoseconds() const { return static_cast<double>(ps) * 1e-3; }
};

inline constexpr Time never{INT64_MAX};

[[nodiscard]] constexpr Time picoseconds(std::int64_t n) {
    return {n};
}
[[nodiscard]] constexpr Time nanoseconds(std::int64_t n) {
    return {n * 1'000};
}
[[nodiscard]] constexpr Time microseconds(std::int64_t n) {
    return {n * 1'000'000};
}
[[nodiscard]] constexpr Time milliseconds(std::int64_t n) {
    return {n * 1'000'000'000};
}
// Rounded to the nearest picosecond; the caller keeps |s| below 9 million.
[[nodiscard]] constexpr Time seconds(double s) {
    return {static_cast<std::int64_t>(s * 1e12 + (s < 0 ? -0.5 : 0.5))};
}

// "1.5 ms": three significant digits and the unit that suits (ps, ns, us, ms, s).
[[nodiscard]] std::string to_string(Time time);
// "250ns", "1.5 ms", "2s"; the unit is required except for 0. Nothing for anything else, for a negative
// number and for what does not fit.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text);
// "4096", "4KiB", "128 MiB", "1GB" (thousands), "2k" (1024), a fraction only with a unit; a whole number of bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace loom
