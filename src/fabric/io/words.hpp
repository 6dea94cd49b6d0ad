// Words that several of the formats share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "loom/fabric/fabric.hpp"

namespace loom::fabric::io {

// "S-0008f10400410015" (S, H or R) as ibnetdiscover names nodes.
[[nodiscard]] std::optional<Guid> guid_in_id(std::string_view id);
[[nodiscard]] std::string id_of(const Node& node);

// "4xQDR", and with unknown parts as ibnetdiscover prints them ("4x???", "??SDR"); nullopt for other words.
[[nodiscard]] std::optional<LinkRate> rate_in_word(std::string_view word);

// "4x" and "QDR", or "??" and "???".
[[nodiscard]] std::string width_word(Width width);
[[nodiscard]] std::string speed_word(Speed speed);

// A lane's signalling rate in gigabits, as OpenSM and IBDM write speeds: 2.5 5 10 FDR10 14 25 50 100 200, or "??".
[[nodiscard]] std::string_view gigabits_word(Speed speed);
[[nodiscard]] std::optional<Speed> speed_from_gigabits(std::string_view word);

// Control characters, which would break lines, become spaces.
[[nodiscard]] std::string printable(std::string_view name);

// How InfiniBand's registers write a width (1x 1, 4x 2, 8x 4, 12x 8, 2x 16) and a speed up to QDR (1, 2, 4; faster
// ones appear as QDR there). 0 when unknown.
[[nodiscard]] unsigned width_bits(Width width);
[[nodiscard]] unsigned speed_bits(Speed speed);

}  // namespace loom::fabric::io
