// Which of a rank's operations are complete, as one number.
#pragma once

#include <cstdint>
#include <deque>

namespace loom::device {

// Completions come out of order where there are several initiators; a rank waits for the number up to which all are
// complete. Numbers begin with 1, without gaps, modulo 2^32.
class FlushCounter {
public:
    void complete(std::uint32_t number) {
        const std::uint32_t place = number - done_ - 1;
        if (place >= beyond_.size()) beyond_.resize(place + 1, false);
        beyond_[place] = true;
        while (!beyond_.empty() && beyond_.front()) {
            beyond_.pop_front();
            ++done_;
        }
    }
    [[nodiscard]] std::uint32_t done() const { return done_; }  // this one and all before it

private:
    std::uint32_t done_ = 0;
    std::deque<bool> beyond_;
};

}  // namespace loom::device
