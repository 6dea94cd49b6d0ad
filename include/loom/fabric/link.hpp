// Width and speed of a link, as InfiniBand names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace loom::fabric {

enum class Width : std::uint8_t { unknown = 0, x1 = 1, x2 = 2, x4 = 4, x8 = 8, x12 = 12 };
enum class Speed : std::uint8_t { unknown, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };

struct LinkRate {
    Width width = Width::unknown;
    Speed speed = Speed::unknown;
    friend constexpr bool operator==(const LinkRate&, const LinkRate&) = default;

    // Payload rate in megabits a second after line coding (4xQDR: 32,000); 0 when unknown.
    [[nodiscard]] std::uint32_t megabits() const;
};

// "4xQDR"; unknown parts print as "?", so an entirely unknown rate is "?x?".
[[nodiscard]] std::string to_string(LinkRate rate);
// Reads what to_string writes and what ibnetdiscover prints ("4xFDR10", "12xSDR", case ignored).
[[nodiscard]] std::optional<LinkRate> parse_rate(std::string_view text);

}  // namespace loom::fabric
