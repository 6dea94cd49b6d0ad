// Work beside which something else should make progress: it needs a core and nothing else.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace loom::bench {

using Clock = std::chrono::steady_clock;

inline double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// In units of about 0.1 us.
inline void compute(std::uint64_t units) {
    std::uint64_t state = units | 1;
    for (std::uint64_t step = units * 64; step > 0; --step) state = state * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : : "r"(state));
}

// Units that an undisturbed core does in a second. Takes some 10 ms.
inline double computing_rate() {
    constexpr std::uint64_t units = 2000;
    double best = 1;
    for (int i = 0; i < 40; ++i) {
        const auto begin = Clock::now();
        compute(units);
        best = std::min(best, since(begin));
    }
    return static_cast<double>(units) / best;
}

}  // namespace loom::bench
