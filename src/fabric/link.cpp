#include "loom/fabric/link.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace loom::fabric {
namespace {

struct SpeedInfo {
    Speed speed;
    std::string_view name;
    std::uint32_t lane_megabits;  // payload, after 8b/10b up to QDR and 64b/66b from FDR10 on
};

// FEC on HDR and faster links is inside the signalling rate that the name counts.
constexpr std::array speeds{
    SpeedInfo{Speed::unknown, "?", 0},        SpeedInfo{Speed::sdr, "SDR", 2'000},
    SpeedInfo{Speed::ddr, "DDR", 4'000},      SpeedInfo{Speed::qdr, "QDR", 8'000},
    SpeedInfo{Speed::fdr10, "FDR10", 10'000}, SpeedInfo{Speed::fdr, "FDR", 13'636},
    SpeedInfo{Speed::edr, "EDR", 25'000},     SpeedInfo{Speed::hdr, "HDR", 50'000},
    SpeedInfo{Speed::ndr, "NDR", 100'000},    SpeedInfo{Speed::xdr, "XDR", 200'000},
};

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

}  // namespace

std::uint32_t LinkRate::megabits() const {
    return static_cast<std::uint32_t>(width) * speeds[static_cast<std::size_t>(speed)].lane_megabits;
}

std::string to_string(LinkRate rate) {
    std::string text = rate.width == Width::unknown ? "?" : std::to_string(static_cast<unsigned>(rate.width));
    text += 'x';
    text += speeds[static_cast<std::size_t>(rate.speed)].name;
    return text;
}

std::optional<LinkRate> parse_rate(std::string_view text) {
    const auto cross = text.find_first_of("xX");
    if (cross == std::string_view::npos) return std::nullopt;
    LinkRate rate;
    const std::string_view width = text.substr(0, cross);
    bool known = width == "?";
    for (const Width w : {Width::x1, Width::x2, Width::x4, Width::x8, Width::x12})
        if (width == std::to_string(static_cast<unsigned>(w))) {
            rate.width = w;
            known = true;
        }
    if (!known) return std::nullopt;
    const auto found = std::find_if(speeds.begin(), speeds.end(),
                                    [&](const SpeedInfo& s) { return same_word(s.name, text.substr(cross + 1)); });
    if (found == speeds.end()) return std::nullopt;
    rate.speed = found->speed;
    return rate;
}

}  // namespace loom::fabric
