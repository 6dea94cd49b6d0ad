// Vector clocks: what each rank, and each way from rank to rank, has done as far as somebody knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace loom::device {

// Components 0 .. n-1 are the ranks; n + source * n + target is the way of remote puts from source to target, whose
// writes happen some time after the call that started them.
class VectorClock {
public:
    explicit VectorClock(std::size_t components = 0) : at_(components, 0) {}
    [[nodiscard]] std::uint32_t operator[](std::uint32_t component) const { return at_[component]; }
    void set(std::uint32_t component, std::uint32_t value) { at_[component] = std::max(at_[component], value); }
    void join(const VectorClock& other) {
        for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = std::max(at_[i], other.at_[i]);
    }

private:
    std::vector<std::uint32_t> at_;
};

}  // namespace loom::device
