#include "loom/base/nearest.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace loom {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

Nearest find_nearest(std::string_view word, std::span<const std::string> names) {
    Nearest best{names.size(), false};
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool begins = word.size() >= 3 && names[i].starts_with(word);
        const std::size_t distance = begins ? 1 : edit_distance(word, names[i]);
        if (distance < least) least = distance, best.index = i;
    }
    best.near = least <= std::max<std::size_t>(1, word.size() / 3);
    return best;
}

std::string nearest(std::string_view word, std::span<const std::string> names) {
    const Nearest found = find_nearest(word, names);
    return found.near ? names[found.index] : std::string();
}

}  // namespace loom
