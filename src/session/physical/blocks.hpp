// The free blocks of a send buffer, in the order in which they were set free: the one that was used longest ago goes
// next.
#pragma once

#include <cstdint>
#include <vector>

namespace loom::session {

// A linked list in an array. All blocks are free at first, in their order.
class Blocks {
public:
    explicit Blocks(std::uint32_t count) : next_(count), first_(0), last_(count - 1), free_(count) {
        for (std::uint32_t i = 0; i < count; ++i) next_[i] = i + 1;
    }

    [[nodiscard]] bool any() const { return free_ > 0; }
    [[nodiscard]] std::uint32_t free() const { return free_; }
    [[nodiscard]] std::uint32_t head() const { return first_; }  // while there are any
    void take() {
        first_ = next_[first_];
        --free_;
    }
    // At the end of the list.
    void put(std::uint32_t block) {
        if (free_ == 0)
            first_ = block;
        else
            next_[last_] = block;
        last_ = block;
        ++free_;
    }

private:
    std::vector<std::uint32_t> next_;
    std::uint32_t first_, last_, free_;
};

}  // namespace loom::session
