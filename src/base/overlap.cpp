#include "loom/base/overlap.hpp"

#include <algorithm>

namespace loom {

std::vector<std::uint32_t> group_by_overlap(std::span<const std::vector<std::uint32_t>> sets, std::uint32_t universe) {
    constexpr std::uint32_t ungrouped = 0xffffffffu;
    std::vector<std::vector<std::uint32_t>> holders(universe);
    for (std::uint32_t i = 0; i < sets.size(); ++i)
        for (const std::uint32_t member : sets[i]) holders[member].push_back(i);

    std::vector<std::uint32_t> group(sets.size(), ungrouped), shared(sets.size(), 0), touched;
    std::uint32_t groups = 0;
    for (std::uint32_t first = 0; first < sets.size(); ++first) {
        if (group[first] != ungrouped) continue;
        group[first] = groups;
        touched.clear();
        for (const std::uint32_t member : sets[first])
            for (const std::uint32_t other : holders[member])
                if (group[other] == ungrouped && shared[other]++ == 0) touched.push_back(other);
        for (const std::uint32_t other : touched) {
            if (2 * std::size_t{shared[other]} >= std::min(sets[first].size(), sets[other].size()))
                group[other] = groups;
            shared[other] = 0;
        }
        ++groups;
    }
    return group;
}

}  // namespace loom
