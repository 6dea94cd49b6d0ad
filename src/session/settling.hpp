// When to trust a network again that has failed: after it has worked for a while, and longer after each failure.
#pragma once

#include <algorithm>

#include "loom/base/time.hpp"

namespace loom::session {

class Settling {
public:
    explicit Settling(Time first) : first_(first), wait_(first) {}

    static constexpr std::int64_t most_doublings = 6;

    void failed(Time now) {
        if (failures_ > 0 && now - last_failure_ > 64 * first_) failures_ = 0;  // the one before is forgotten
        wait_ = first_ * (std::int64_t{1} << std::min(failures_, most_doublings));
        ++failures_;
        last_failure_ = now;
        back_ = never;
    }
    void back(Time now) {
        if (failures_ > 0 && back_ == never) back_ = now;
    }
    [[nodiscard]] bool is_back() const { return back_ != never; }
    // When it may be used; never while it is away.
    [[nodiscard]] Time due() const { return back_ == never ? never : back_ + wait_; }
    [[nodiscard]] Time wait() const { return wait_; }
    void used() { back_ = never; }

private:
    Time first_, wait_, back_ = never, last_failure_{};
    std::int64_t failures_ = 0;
};

}  // namespace loom::session
