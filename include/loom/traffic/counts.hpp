// What a schedule adds up to.
#pragma once

#include <cstdint>

#include "loom/traffic/schedule.hpp"

namespace loom::traffic {

struct Counts {
    std::uint64_t messages = 0, bytes = 0;  // sent by all ranks
    std::uint64_t copies = 0, copied = 0;   // and their bytes
    std::uint64_t reductions = 0, reduced = 0;
    std::uint64_t most_sent = 0;  // bytes of one rank
    std::uint64_t most_messages = 0;
};

// One pass over the operations.
[[nodiscard]] Counts count(const Schedule& schedule);

}  // namespace loom::traffic
