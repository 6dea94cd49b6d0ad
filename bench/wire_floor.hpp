// What a wire leaves free at best: bytes through bare UDP sockets beside a computation, without acknowledgements,
// checks or any library. A collective over that wire cannot free more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/network/namespaces.hpp"

namespace loom::bench {

enum class Ways : std::uint8_t { one, both };  // left to right; or both at once

struct WireFloor {
    std::vector<double> blocking;  // seconds until all bytes have arrived, nothing computed; by round
    std::vector<double> freed;     // share of it, by an amount of work that takes as long
    std::string failure;
};

// Two processes, each on a core of its own, with a thread that sends (60 KiB at a time, cut by segmentation offload)
// and one that receives. The first `bytes` of up to 64 KiB are sent by the computing thread itself: a thread for those
// costs more. Needs two cores. Some milliseconds a round.
[[nodiscard]] WireFloor wire_floor(const test::TwoHosts& hosts, std::uint64_t bytes, Ways ways, unsigned rounds);

}  // namespace loom::bench
