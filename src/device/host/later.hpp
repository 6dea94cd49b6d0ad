// What is to be done after a delay, in order.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "loom/base/clock.hpp"

namespace loom::device {

template <class What>
class Later {
public:
    // Not before those that were added earlier, even if its own delay is shorter: order matters more.
    void add(Time from, Time delay, What what) {
        last_ = std::max(last_, from + delay);
        waiting_.push_back({last_, std::move(what)});
    }
    [[nodiscard]] bool empty() const { return waiting_.empty(); }
    // Takes what is due. True: there was something.
    template <class Do>
    bool take_due(const Do& act) {
        bool any = false;
        while (!waiting_.empty() && (waiting_.front().due.ps == 0 || waiting_.front().due <= now())) {
            const Item item = std::move(waiting_.front());
            waiting_.pop_front();
            act(item.what);
            any = true;
        }
        return any;
    }

private:
    struct Item {
        Time due;
        What what;
    };
    std::deque<Item> waiting_;
    Time last_{};
};

}  // namespace loom::device
