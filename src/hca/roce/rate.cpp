#include "hca/roce/rate.hpp"

#include <algorithm>

namespace loom::hca::roce {
namespace {

constexpr int quick_steps = 5;  // halving the way back to the old rate, before it is exceeded
constexpr std::size_t most_flows = 4096;

}  // namespace

double RateControl::rate() const {
    return limited_ ? current_ : options_.line_rate;
}

// All steps by time that lie before now. A flow back at its full rate forgets that it was ever cut.
void RateControl::advance(Time now) {
    if (!limited_) return;
    while (limited_ && step_at_ <= now) {
        step_at_ += options_.rate_period;
        ++time_steps_;
        raise();
    }
    while (alpha_at_ <= now && alpha_ > 1e-9) {
        alpha_at_ += options_.alpha_period;
        alpha_ *= 1 - options_.gain;
    }
}

void RateControl::raise() {
    if (std::min(time_steps_, byte_steps_) > quick_steps)
        target_ += options_.hyper_step;
    else if (std::max(time_steps_, byte_steps_) > quick_steps)
        target_ += options_.additive_step;
    target_ = std::min(target_, options_.line_rate);
    current_ = (current_ + target_) / 2;
    if (current_ < 0.99 * options_.line_rate) return;
    limited_ = false;
    alpha_ = 1;
}

void RateControl::notified(Time now) {
    advance(now);
    if (!limited_) {
        limited_ = true;
        current_ = options_.line_rate;
        next_ = now;
    }
    alpha_ = (1 - options_.gain) * alpha_ + options_.gain;
    target_ = current_;
    current_ = std::max(current_ * (1 - alpha_ / 2), options_.minimum_rate);
    time_steps_ = 0;
    byte_steps_ = 0;
    bytes_ = 0;
    alpha_at_ = now + options_.alpha_period;
    step_at_ = now + options_.rate_period;
}

void RateControl::sent(std::size_t bytes, Time now) {
    advance(now);
    if (!limited_) return;
    const double nanoseconds = static_cast<double>(bytes) / current_ * 1e9;
    next_ = std::max(next_, now - options_.burst) + Time(static_cast<Time::rep>(nanoseconds));
    for (bytes_ += bytes; limited_ && bytes_ >= options_.rate_bytes; bytes_ -= options_.rate_bytes) {
        ++byte_steps_;
        raise();
    }
}

Time RateControl::next(Time now) {
    advance(now);
    return limited_ ? std::max(next_, now - options_.burst) : now;
}

bool NotificationPacer::due(QpNumber flow, Time now) {
    if (last_.size() >= most_flows && !last_.contains(flow))
        std::erase_if(last_, [&](const auto& entry) { return now - entry.second >= period_; });
    const auto [at, added] = last_.try_emplace(flow, now);
    if (added) {
        if (last_.size() <= most_flows) return true;
        last_.erase(at);  // so many flows were marked within one period that this one waits
        return false;
    }
    if (now - at->second < period_) return false;
    at->second = now;
    return true;
}

}  // namespace loom::hca::roce
