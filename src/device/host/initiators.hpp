// The pool of initiators of 002, Listing 4.1: which queue pair sends to which process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace loom::device {

// A destination keeps its initiator until another took it, else it gets the next in turn. As printed, a destination may
// come back on another initiator while what it was sent before is still under way on the old one, and overtake it:
// here it waits until that is complete. Connections of an initiator are reliable, so complete means arrived.
class Initiators {
public:
    Initiators(std::uint32_t destinations, std::uint32_t pool) : last_of_(destinations), last_to_(pool) {}

    // The initiator for a message to `to`, which is under way from now on; nothing: wait for completions first.
    [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t to) {
        Last& last = last_of_[to];
        if (last.under_way != 0 && last_to_[last.initiator] != to) return {};
        if (!last.used || last_to_[last.initiator] != to) {
            last.initiator = next_;
            last.used = true;
            last_to_[next_] = to;
            next_ = (next_ + 1) % static_cast<std::uint32_t>(last_to_.size());
        }
        ++last.under_way;
        return last.initiator;
    }
    void complete(std::uint32_t to) { --last_of_[to].under_way; }

private:
    struct Last {
        std::uint32_t initiator = 0;
        std::uint32_t under_way = 0;
        bool used = false;
    };
    std::vector<Last> last_of_;           // by destination
    std::vector<std::uint32_t> last_to_;  // by initiator
    std::uint32_t next_ = 0;
};

}  // namespace loom::device
