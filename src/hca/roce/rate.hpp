// Congestion control in the manner of DCQCN (Zhu et al. 2015): a notification cuts a flow's rate, quiet time and sent
// bytes raise it again. Pure: time comes from the caller.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "hca/protocol/numbers.hpp"

namespace loom::hca::roce {

using Time = std::chrono::nanoseconds;  // of any clock that does not go back

struct RateOptions {
    double line_rate = 12.5e9;  // bytes a second: as fast as a flow ever goes
    double minimum_rate = 5e6;
    double additive_step = 50e6;          // bytes a second per step once the old rate is reached again
    double hyper_step = 500e6;            // after five steps by time and by bytes
    double gain = 1.0 / 16;               // g: weight of the newest sight of the marks
    Time alpha_period{55'000};            // without a notification, alpha shrinks this often
    Time rate_period{300'000};            // a step by time
    std::uint64_t rate_bytes = 10 << 20;  // a step by bytes
    Time burst{100'000};                  // how far sending may catch up after a pause
};

// The rate of one flow. A flow that never saw a notification is not held back at all.
class RateControl {
public:
    explicit RateControl(const RateOptions& options = {}) : options_(options) {}

    // The earliest time at which the next packet may leave; in the past or `now`: at once.
    [[nodiscard]] Time next(Time now);
    void sent(std::size_t bytes, Time now);
    void notified(Time now);

    [[nodiscard]] double rate() const;  // bytes a second
    [[nodiscard]] bool limited() const { return limited_; }

private:
    void advance(Time now);
    void raise();

    RateOptions options_;
    bool limited_ = false;
    double current_ = 0;
    double target_ = 0;
    double alpha_ = 1;
    int time_steps_ = 0;
    int byte_steps_ = 0;
    std::uint64_t bytes_ = 0;  // since the last step by bytes
    Time alpha_at_{};          // when alpha shrinks next
    Time step_at_{};           // when the next step by time comes
    Time next_{};
};

// Says when a marked packet is to be answered with a notification: at most one per flow and period.
class NotificationPacer {
public:
    explicit NotificationPacer(Time period = Time(50'000)) : period_(period) {}

    // Flow: the number of its queue pair. Keeps at most 4096 flows.
    bool due(QpNumber flow, Time now);

private:
    Time period_;
    std::unordered_map<QpNumber, Time> last_;
};

}  // namespace loom::hca::roce
