// When streams end that share links fairly: all rates from nothing at each arrival and departure.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/fair_share.hpp"

namespace loom::reference {

struct Stream {
    std::int64_t start = 0;  // ps
    std::uint64_t bytes = 0;
    std::vector<std::uint32_t> path;
};

// The picosecond in which each stream's last byte has left. Capacities are in thousandths of a bit a second.
inline std::vector<std::int64_t> stream_ends(const std::vector<std::int64_t>& capacities,
                                             const std::vector<Stream>& streams) {
    __extension__ using Wide = __int128;
    std::vector<std::int64_t> ends(streams.size(), -1);
    std::vector<Wide> left(streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) left[i] = Wide{8'000'000'000'000'000} * streams[i].bytes;
    for (std::int64_t now = 0;;) {
        std::vector<std::size_t> active;
        std::vector<std::vector<std::uint32_t>> paths;
        std::int64_t next = INT64_MAX;
        for (std::size_t i = 0; i < streams.size(); ++i) {
            if (streams[i].start > now) next = std::min(next, streams[i].start);
            if (streams[i].start > now || ends[i] >= 0) continue;
            active.push_back(i);
            paths.push_back(streams[i].path);
        }
        const auto rates = fair_rates(capacities, paths);
        for (std::size_t k = 0; k < active.size(); ++k)
            next = std::min(next, now + static_cast<std::int64_t>((left[active[k]] + rates[k] - 1) / rates[k]));
        if (next == INT64_MAX) return ends;
        for (std::size_t k = 0; k < active.size(); ++k) {
            left[active[k]] -= Wide{rates[k]} * (next - now);
            if (left[active[k]] <= 0) ends[active[k]] = next;
        }
        now = next;
    }
}

}  // namespace loom::reference
