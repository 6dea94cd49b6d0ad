// How much a counter grew between two reads, when counters are reset or read late.
#pragma once

#include <cstdint>

#include "loom/base/time.hpp"

namespace loom::manager {

struct Growth {
    enum class Kind : std::uint8_t {
        exact,
        at_least,  // the counter went backwards: it was reset, and this is what it counted since
    };
    std::uint64_t count = 0;
    Kind kind = Kind::exact;

    friend bool operator==(const Growth&, const Growth&) = default;
};

// InfiniBand's counters never wrap: those of 32 bits stand still at their end, and those of 64 do not get there. So one
// that went backwards was reset, wherever it stood before.
[[nodiscard]] constexpr Growth growth(std::uint64_t before, std::uint64_t now) {
    if (now >= before) return {now - before, Growth::Kind::exact};
    return {now, Growth::Kind::at_least};
}

// What `count` in `elapsed` is in `sweep`, rounded down; the largest number when it does not fit. elapsed > 0.
[[nodiscard]] constexpr std::uint64_t scaled(std::uint64_t count, Time elapsed, Time sweep) {
    __extension__ typedef unsigned __int128 Wide;
    if (elapsed == sweep) return count;
    const Wide result = Wide{count} * static_cast<std::uint64_t>(sweep.ps) / static_cast<std::uint64_t>(elapsed.ps);
    return result > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(result);
}

}  // namespace loom::manager
