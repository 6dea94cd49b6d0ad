// Max-min fair rates by progressive filling over all links, again from nothing each time.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace loom::reference {

// rates[i] of the stream over paths[i]. In each round the links with the smallest share, to a whole number, stop all
// their streams. `held_up`: at which hop of its path each stream was stopped, the first of several.
inline std::vector<std::int64_t> fair_rates(std::vector<std::int64_t> capacities,
                                            const std::vector<std::vector<std::uint32_t>>& paths,
                                            std::vector<std::size_t>* held_up = nullptr) {
    if (held_up != nullptr) held_up->assign(paths.size(), 0);
    std::vector<std::int64_t> rates(paths.size(), -1);
    std::vector<std::int64_t> streams(capacities.size(), 0);
    for (const auto& path : paths)
        for (const std::uint32_t link : path) ++streams[link];
    for (;;) {
        std::int64_t level = std::numeric_limits<std::int64_t>::max();
        for (std::size_t link = 0; link < capacities.size(); ++link)
            if (streams[link] != 0) level = std::min(level, capacities[link] / streams[link]);
        if (level == std::numeric_limits<std::int64_t>::max()) return rates;
        std::vector<bool> full(capacities.size());
        for (std::size_t link = 0; link < capacities.size(); ++link)
            full[link] = streams[link] != 0 && capacities[link] / streams[link] == level;
        for (std::size_t i = 0; i < paths.size(); ++i) {
            std::size_t hop = 0;
            while (hop < paths[i].size() && !full[paths[i][hop]]) ++hop;
            if (hop == paths[i].size() || rates[i] >= 0) continue;
            rates[i] = level;
            if (held_up != nullptr) (*held_up)[i] = hop;
            for (const std::uint32_t link : paths[i]) {
                capacities[link] -= level;
                --streams[link];
            }
        }
    }
}

}  // namespace loom::reference
