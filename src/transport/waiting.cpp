#include "loom/transport/waiting.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <bit>

#include "loom/base/scheduling.hpp"
#include "loom/base/settings.hpp"
#include "loom/transport/transport.hpp"

namespace loom::transport {

CoreSet own_cores() {
    static const CoreSet cores = [] {
        CoreSet found;
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_SET(0, &set);
        for (std::size_t core = 0; core < 1024; ++core)
            if (CPU_ISSET(core, &set)) found.words[core / 64] |= std::uint64_t{1} << core % 64;
        return found;
    }();
    return cores;
}

std::uint32_t count(const CoreSet& cores) {
    std::uint32_t sum = 0;
    for (const std::uint64_t word : cores.words) sum += static_cast<std::uint32_t>(std::popcount(word));
    return sum;
}

std::uint32_t usable_cores() {
    static const std::uint32_t cores = std::max(1u, count(own_cores()));
    return cores;
}

Waiting choose_waiting(std::span<const std::uint32_t> hosts, Rank rank, const CoreSet& together) {
    if (const auto asked = settings::read_word(Setting::waiting))
        return *asked == "spin" ? Waiting::spin : Waiting::yield;
    const auto here = std::count(hosts.begin(), hosts.end(), hosts[rank.value]);
    return here > count(together) ? Waiting::yield : Waiting::spin;
}

Waiting choose_waiting(std::span<const std::uint32_t> hosts, Rank rank) {
    return choose_waiting(hosts, rank, own_cores());
}

void pause(Waiting how) {
    if (how == Waiting::spin)
        pause_core();
    else
        sched_yield();
}

void Pauses::nap() {
    const timespec shortest{0, 1};
    nanosleep(&shortest, nullptr);
}

void Pauses::rest() const {
    if (transport_ != nullptr)
        transport_->rest();
    else
        pause(how_);
}

}  // namespace loom::transport
