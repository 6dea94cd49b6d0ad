// Which name was meant by a misspelled one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace loom {

// Insertions, deletions, replacements and swaps of neighbours that turn a into b. Cost: the product of their lengths.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

struct Nearest {
    std::size_t index = 0;  // the first of the nearest; the number of names when there is none
    bool near = false;      // at most a third of the letters differ, or the word is the beginning of the name
};

[[nodiscard]] Nearest find_nearest(std::string_view word, std::span<const std::string> names);

// The nearest name, or "" when none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> names);

}  // namespace loom
