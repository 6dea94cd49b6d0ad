// What a notification says on its way: its window and its tag, in a transport's value or in a word of a lane.
#pragma once

#include <cstdint>
#include <optional>

#include "loom/base/ids.hpp"
#include "loom/window/notification.hpp"

namespace loom::window {

using WindowId = Id<struct WindowIdTag, std::uint32_t>;  // 1 .. most_windows; never used again
inline constexpr std::uint32_t most_windows = (1u << 24) - 1;

struct Stamp {
    WindowId window;
    Tag tag;
    friend bool operator==(const Stamp&, const Stamp&) = default;
};

// 56 bits.
[[nodiscard]] constexpr std::uint64_t to_word(Stamp stamp) {
    return std::uint64_t{stamp.window.value} << 32 | stamp.tag.value;
}
[[nodiscard]] constexpr Stamp from_word(std::uint64_t word) {
    return {WindowId{static_cast<std::uint32_t>(word >> 32 & most_windows)}, Tag{static_cast<std::uint32_t>(word)}};
}

// As a transport's value: below 2^31 for windows below 2^15 and tags below 2^16, which over verbs is one immediate.
inline constexpr std::uint64_t long_form = std::uint64_t{1} << 56;
[[nodiscard]] constexpr std::uint64_t to_value(Stamp stamp) {
    if (stamp.window.value < 1u << 15 && stamp.tag.value < 1u << 16)
        return std::uint64_t{stamp.window.value} << 16 | stamp.tag.value;
    return long_form | to_word(stamp);
}
// Nothing: no stamp is sent as this value.
[[nodiscard]] constexpr std::optional<Stamp> from_value(std::uint64_t value) {
    Stamp stamp{WindowId{static_cast<std::uint32_t>(value >> 16 & 0x7fff)},
                Tag{static_cast<std::uint32_t>(value & 0xffff)}};
    if (value >= long_form) stamp = from_word(value);
    if (stamp.window.value == 0 || to_value(stamp) != value) return {};
    return stamp;
}

}  // namespace loom::window
