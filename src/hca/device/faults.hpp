// Faults that were asked for (LOOM_VERBS_FAULT).
#pragma once

#include <algorithm>

#include "hca/device/config.hpp"
#include "loom/base/random.hpp"

namespace loom::hca {

class Faults {
public:
    explicit Faults(const FaultConfig& config)
        : config_(config), any_(config.any()), drops_(config.seed), errors_(~config.seed) {}

    [[nodiscard]] bool any() const { return any_; }
    [[nodiscard]] bool lose_packets() const { return config_.drop > 0; }
    [[nodiscard]] std::uint64_t completion_delay_ns() const {
        return static_cast<std::uint64_t>(config_.delay.count());
    }

    // Whether the next packet is not sent.
    bool lose_packet(bool datagram) {
        if (!any_) return false;
        return (datagram && happens(config_.datagrams, drops_)) || happens(config_.drop, drops_);
    }
    // The same for one copy of a datagram to a group.
    bool lose_copy() { return happens(std::max(config_.drop, config_.datagrams), drops_); }
    // Whether the next send completes with an error.
    bool doom_request() { return happens(config_.error, errors_); }

private:
    static bool happens(double probability, Random& random) { return probability > 0 && random.unit() < probability; }

    FaultConfig config_;
    bool any_;
    Random drops_, errors_;  // one each: when packets go must not change which requests fail
};

}  // namespace loom::hca
