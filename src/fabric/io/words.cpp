#include "fabric/io/words.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "loom/base/text.hpp"

namespace loom::fabric::io {

std::optional<Guid> guid_in_id(std::string_view id) {
    if (id.size() != 18 || id[1] != '-' || (id[0] != 'S' && id[0] != 'H' && id[0] != 'R')) return std::nullopt;
    const auto value = Cursor(id.substr(2)).take_hex();
    if (!value || id[3] == 'x' || id.find_first_not_of("0123456789abcdefABCDEF", 2) != std::string_view::npos)
        return std::nullopt;
    return Guid{*value};
}

std::string id_of(const Node& node) {
    const char letter = node.kind == NodeKind::switch_ ? 'S' : node.kind == NodeKind::host ? 'H' : 'R';
    return fmt::format("{}-{:016x}", letter, node.guid.value);
}

std::optional<LinkRate> rate_in_word(std::string_view word) {
    if (word.empty() || (!is_digit(word.front()) && word.front() != '?')) return std::nullopt;
    if (word.find('?') == std::string_view::npos) return parse_rate(word);
    LinkRate rate;
    if (is_digit(word.front())) {
        const auto cross = word.find('x');
        if (cross == std::string_view::npos) return std::nullopt;
        const auto width = parse_rate(std::string(word.substr(0, cross)) + "x?");
        if (!width) return std::nullopt;
        rate.width = width->width;
        return rate;
    }
    while (!word.empty() && (word.front() == '?' || word.front() == 'x')) word.remove_prefix(1);
    if (const auto speed = parse_rate("?x" + std::string(word.substr(0, 8)))) rate.speed = speed->speed;
    return rate;
}

std::string width_word(Width width) {
    return width == Width::unknown ? "??" : fmt::format("{}x", static_cast<unsigned>(width));
}

std::string speed_word(Speed speed) {
    return speed == Speed::unknown ? "???" : to_string(LinkRate{Width::unknown, speed}).substr(2);  // without "?x"
}

namespace {
constexpr std::array<std::pair<Speed, std::string_view>, 9> lane_gigabits{{
    {Speed::sdr, "2.5"},
    {Speed::ddr, "5"},
    {Speed::qdr, "10"},
    {Speed::fdr10, "FDR10"},
    {Speed::fdr, "14"},
    {Speed::edr, "25"},
    {Speed::hdr, "50"},
    {Speed::ndr, "100"},
    {Speed::xdr, "200"},
}};
}

std::string_view gigabits_word(Speed speed) {
    for (const auto& [known, word] : lane_gigabits)
        if (known == speed) return word;
    return "??";
}

std::optional<Speed> speed_from_gigabits(std::string_view word) {
    for (const auto& [speed, known] : lane_gigabits)
        if (known == word) return speed;
    return std::nullopt;
}

std::string printable(std::string_view name) {
    std::string result(name);
    for (char& c : result)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
    return result;
}

unsigned width_bits(Width width) {
    switch (width) {
        case Width::x1:
            return 1;
        case Width::x4:
            return 2;
        case Width::x8:
            return 4;
        case Width::x12:
            return 8;
        case Width::x2:
            return 16;
        case Width::unknown:
            break;
    }
    return 0;
}

unsigned speed_bits(Speed speed) {
    switch (speed) {
        case Speed::unknown:
            return 0;
        case Speed::sdr:
            return 1;
        case Speed::ddr:
            return 2;
        default:
            return 4;
    }
}

}  // namespace loom::fabric::io
