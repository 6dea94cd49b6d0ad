// What the computations of one rank take.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loom/twin/computing.hpp"

namespace loom::twin {

// By how much each rank is slower, stragglers that the seed draws among them. Throws UsageError for what makes no
// sense.
[[nodiscard]] std::vector<double> factors_of_ranks(const Computing& computing, std::uint64_t seed, std::uint32_t ranks);

// Depends on the seed, the rank and the number of the computation alone: threads do not matter.
class Computation {
public:
    // `computing` must outlive it.
    Computation(const Computing& computing, double factor, std::uint64_t seed, Rank me);

    // The next computation, for which the program declares `duration`.
    [[nodiscard]] Time declared(Time duration);

    // Between start() and what comes next the rank has this thread.
    [[nodiscard]] bool measures() const { return measures_; }
    void start();
    // Since start(), which it calls.
    [[nodiscard]] Time measured();

private:
    [[nodiscard]] Time scaled(Time duration);

    const Computing& computing_;
    std::span<const Time> charges_;
    std::uint64_t seed_;
    double factor_;
    bool plain_;  // declared times are taken as they are
    bool measures_;
    std::uint64_t count_ = 0;  // of computations
    std::uint64_t charged_ = 0;
    Time since_{};
};

}  // namespace loom::twin
