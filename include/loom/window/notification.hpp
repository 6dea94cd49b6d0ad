// What tells a rank that something was done for it.
#pragma once

#include <cstdint>
#include <optional>

#include "loom/base/ids.hpp"

namespace loom::window {

// Chosen by whoever notifies, counted by whoever waits.
using Tag = Id<struct NotificationTagTag, std::uint32_t>;

// Which notifications a test or a wait counts: those whose tag is `tag` in the bits of `mask`. Converts from a tag.
struct Match {
    Tag tag{};
    std::uint32_t mask = 0;           // 0: any tag
    std::optional<Rank> source = {};  // of the team; nothing: any rank

    Match() = default;
    Match(Tag exactly) : tag(exactly), mask(0xffffffff) {}
    Match(Tag exactly, Rank from) : tag(exactly), mask(0xffffffff), source(from) {}
    Match(Tag bits, std::uint32_t of, std::optional<Rank> from = {}) : tag(bits), mask(of), source(from) {}

    [[nodiscard]] static Match any() { return {}; }
    [[nodiscard]] static Match from(Rank source) { return {Tag{0}, 0, source}; }
};

struct Notification {
    Rank source;  // of the team
    Tag tag;
};

}  // namespace loom::window
