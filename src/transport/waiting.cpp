#include "loom/transport/waiting.hpp"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "loom/base/error.hpp"

namespace loom::transport {

std::uint32_t usable_cores() {
    static const std::uint32_t cores = [] {
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(0, sizeof set, &set) != 0) return 1u;
        return std::max(1u, static_cast<std::uint32_t>(CPU_COUNT(&set)));
    }();
    return cores;
}

Waiting choose_waiting(std::span<const std::uint32_t> hosts, Rank rank) {
    if (const char* asked = std::getenv("LOOM_WAITING"); asked != nullptr) {
        const std::string how = asked;
        if (how == "spin") return Waiting::spin;
        if (how == "yield") return Waiting::yield;
        throw UsageError("LOOM_WAITING=" + how + ": expected spin or yield");
    }
    const auto here = std::count(hosts.begin(), hosts.end(), hosts[rank.value]);
    return here > usable_cores() ? Waiting::yield : Waiting::spin;
}

void pause(Waiting how) {
    if (how == Waiting::spin)
        _mm_pause();
    else
        sched_yield();
}

}  // namespace loom::transport
