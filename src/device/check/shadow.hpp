// Who touched which byte of the devices' memories last, as far as it can still matter.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "device/check/clocks.hpp"

namespace loom::device {

struct Touch {
    std::uint32_t component;  // of the clock: who
    std::uint32_t clock;      // when
    bool write;
    std::uint32_t site;
};

class Shadow {
public:
    // Notes an access to bytes from `address` on by somebody who knows what `seen` says. The site of an earlier access
    // that nothing orders before it, if there is one. Cost: a look-up for every eight bytes.
    [[nodiscard]] std::optional<std::uint32_t> touch(std::uint64_t address, std::uint64_t bytes, const Touch& touch,
                                                     const VectorClock& seen);

private:
    struct Record {
        Touch touch;
        std::uint8_t mask;  // bytes of the eight
    };
    std::unordered_map<std::uint64_t, std::vector<Record>> cells_;
};

}  // namespace loom::device
