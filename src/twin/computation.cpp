#include "twin/computation.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom::twin {

namespace {

// Streams of the seed that nobody else draws from.
constexpr std::uint64_t noise_streams = 0x6e6f697365000000u;
constexpr std::uint64_t straggler_stream = 0x7374726167000000u;

void check(const Computing& computing, std::uint32_t ranks) {
    const auto makes_sense = [](double factor) { return factor >= 0 && factor <= 1e6; };
    const auto refuse = [](double factor) {
        throw UsageError(fmt::format("computation times {}: expected 0 to 1000000", factor));
    };
    if (!makes_sense(computing.factor)) refuse(computing.factor);
    if (!makes_sense(computing.random_factor)) refuse(computing.random_factor);
    if (!(computing.noise >= 0 && computing.noise <= 1)) throw UsageError("noise must be between 0 and 100 %");
    for (const Straggler& each : computing.stragglers) {
        if (!makes_sense(each.factor)) refuse(each.factor);
        if (each.rank.value >= ranks)
            throw UsageError(fmt::format("rank {} of {} cannot be a straggler", each.rank.value, ranks));
    }
    if (computing.charges.ranks.size() > ranks)
        throw UsageError(fmt::format("charges for rank {} of {}", computing.charges.ranks.size() - 1, ranks));
}

Time processor_time() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return nanoseconds(used.tv_sec * 1'000'000'000 + used.tv_nsec);
}

}  // namespace

std::vector<double> factors_of_ranks(const Computing& computing, std::uint64_t seed, std::uint32_t ranks) {
    check(computing, ranks);
    std::vector<double> factors(ranks, computing.factor);
    for (const Straggler& each : computing.stragglers) factors[each.rank.value] *= each.factor;
    Random random = random_stream(seed, straggler_stream);
    std::vector<std::uint32_t> others(ranks);
    std::iota(others.begin(), others.end(), 0u);
    for (std::uint32_t drawn = 0; drawn < std::min(computing.random_stragglers, ranks); ++drawn) {
        std::swap(others[drawn], others[drawn + random.below(ranks - drawn)]);
        factors[others[drawn]] *= computing.random_factor;
    }
    return factors;
}

Computation::Computation(const Computing& computing, double factor, std::uint64_t seed, Rank me)
    : computing_(computing),
      seed_(random_stream(seed, noise_streams + me.value)()),
      factor_(factor),
      measures_(computing.how == Computing::How::measured) {
    if (computing.how == Computing::How::charged) {
        const auto& charges = computing.charges;
        charges_ = charges.others;
        if (me.value < charges.ranks.size() && !charges.ranks[me.value].empty()) charges_ = charges.ranks[me.value];
    }
    plain_ = factor_ == 1 && computing.noise == 0;
}

Time Computation::scaled(Time duration) {
    if (plain_ || duration <= Time{}) return duration;
    double factor = factor_;
    if (computing_.noise != 0) factor *= 1 + computing_.noise * (2 * random_stream(seed_, count_).unit() - 1);
    ++count_;
    constexpr double longest = 4e18;
    return {static_cast<std::int64_t>(std::min(static_cast<double>(duration.ps) * factor, longest))};
}

Time Computation::declared(Time duration) {
    if (computing_.how == Computing::How::none) return {};
    if (!charges_.empty()) duration = charges_[charged_++ % charges_.size()];
    return scaled(duration);
}

void Computation::start() {
    since_ = processor_time();
}

Time Computation::measured() {
    const Time now = processor_time();
    return scaled(now - std::exchange(since_, now));
}

}  // namespace loom::twin
