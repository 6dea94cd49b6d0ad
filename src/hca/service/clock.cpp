#include "hca/service/clock.hpp"

#include <ctime>

namespace loom::hca {

namespace {

std::uint64_t read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t now_ns() {
    return read_clock(CLOCK_MONOTONIC);
}
std::uint64_t coarse_now_ns() {
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

}  // namespace loom::hca
