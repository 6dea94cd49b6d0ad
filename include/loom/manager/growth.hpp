// How much a counter grew between two reads, when counters wrap, are reset, or are read late.
#pragma once

#include <cstdint>

#include "loom/base/time.hpp"

namespace loom::manager {

struct Growth {
    enum class Kind : std::uint8_t {
        exact,
        wrapped,   // exact, past the end of 32 bits
        at_least,  // the counter went backwards: it was reset, and this is what it counted since
    };
    std::uint64_t count = 0;
    Kind kind = Kind::exact;

    friend bool operator==(const Growth&, const Growth&) = default;
};

// A 32-bit counter that stood in its last quarter and now stands in its first has wrapped; one that went backwards
// otherwise was reset. Exact while a sweep counts less than 2^30.
[[nodiscard]] constexpr Growth growth(std::uint64_t before, std::uint64_t now) {
    constexpr std::uint64_t span = std::uint64_t{1} << 32;
    if (now >= before) return {now - before, Growth::Kind::exact};
    if (before < span && before >= span - span / 4 && now < span / 4)
        return {now + span - before, Growth::Kind::wrapped};
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
