// What a bad wire does to each frame, by seed alone: the n-th frame of a direction always meets the same fate.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "loom/base/random.hpp"

namespace loom::test {

struct Faults {
    std::uint64_t seed = 1;
    double loss = 0;       // probability that a frame is dropped
    double duplicate = 0;  // ... that it is sent twice
    double reorder = 0;    // ... that later frames may overtake it: it is held back by `reorder_delay`
    std::chrono::nanoseconds delay{0};
    std::chrono::nanoseconds jitter{0};  // uniform in [0, jitter] on top of the delay; frames keep their order
    std::chrono::nanoseconds reorder_delay{std::chrono::milliseconds{1}};
    double bits_per_second = 0;             // 0: as fast as it goes
    std::size_t queue_bytes = 1024 * 1024;  // waiting for the rate, a direction; beyond it frames are dropped
    // Only frames to this UDP port (either IP version) meet loss, duplication and reordering: a test's own set-up over
    // TCP then stays quick. Delay, jitter and rate are for all. Fragments have no port and meet none.
    std::optional<std::uint16_t> only_udp_port;
};

// "seed=7,loss=0.01,duplicate=0.01,reorder=0.02,delay=50us,jitter=20us,reorder-delay=1ms,rate=1e9,queue=65536,port=4791";
// times in ns, us, ms or s. Throws loom::Error naming the part it does not understand.
[[nodiscard]] Faults parse_faults(std::string_view text);

struct Fate {
    bool lost = false;
    bool duplicated = false;
    bool reordered = false;
    std::chrono::nanoseconds jitter{0};

    bool operator==(const Fate&) const = default;
};

// The fates of one direction's frames, in their order.
class Dice {
public:
    Dice(const Faults& faults, unsigned direction) : faults_(faults), random_(random_stream(faults.seed, direction)) {}

    [[nodiscard]] Fate next();

private:
    Faults faults_;
    Random random_;
};

// Destination port of an Ethernet frame with an unfragmented IPv4 or IPv6 UDP datagram.
[[nodiscard]] std::optional<std::uint16_t> udp_port(std::span<const std::uint8_t> frame);

}  // namespace loom::test
