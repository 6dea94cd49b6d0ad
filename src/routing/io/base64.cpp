#include "routing/io/base64.hpp"

#include <array>

namespace loom::routing::io {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 0xff;

constexpr std::array<std::uint8_t, 256> digit_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(no_digit);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        values[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
    return values;
}();

}  // namespace

void append_base64(std::string& out, std::span<const std::uint8_t> bytes) {
    const std::size_t start = out.size();
    out.resize(start + (bytes.size() + 2) / 3 * 4, '=');
    char* to = out.data() + start;
    std::size_t i = 0;
    for (; i + 3 <= bytes.size(); i += 3) {
        const std::uint32_t group = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *to++ = alphabet[group >> shift & 63];
    }
    if (const std::size_t left = bytes.size() - i; left != 0) {
        const std::uint32_t group = bytes[i] << 16 | (left == 2 ? bytes[i + 1] << 8 : 0);
        for (int shift = 18; shift >= (left == 2 ? 6 : 12); shift -= 6) *to++ = alphabet[group >> shift & 63];
    }
}

std::optional<std::vector<std::uint8_t>> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
    std::vector<std::uint8_t> bytes(text.size() / 4 * 3 - padding);
    std::size_t written = 0;
    for (std::size_t i = 0; i < text.size(); i += 4) {
        std::uint32_t group = 0;
        const std::size_t digits = i + 4 == text.size() ? 4 - padding : 4;
        for (std::size_t k = 0; k < 4; ++k) {
            const std::uint8_t value =
                k < digits ? digit_values[static_cast<std::uint8_t>(text[i + k])] : std::uint8_t{0};
            if (value == no_digit) return std::nullopt;
            group = group << 6 | value;
        }
        for (std::size_t k = 0; k + 1 < digits; ++k)
            bytes[written++] = static_cast<std::uint8_t>(group >> (16 - 8 * k));
        // Bits beyond the last byte must be 0, so that a row has one spelling.
        if (digits < 4 && (group & (digits == 3 ? 0xffu : 0xffffu)) != 0) return std::nullopt;
    }
    return bytes;
}

}  // namespace loom::routing::io
