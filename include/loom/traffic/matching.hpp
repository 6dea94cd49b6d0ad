// Sends and receives that do not suit each other, and how to say so.
#pragma once

#include <cstdint>
#include <string>

#include "loom/traffic/schedule.hpp"

namespace loom::traffic {

// About a send or a receive whose other end never comes: "rank 0, operation 2: a receive of 8 bytes from rank 1, tag 5,
// has no message". Logarithmic in ranks.
[[nodiscard]] std::string waiting_text(const Schedule& schedule, OpIndex op);

// Messages that are larger than the receive that they meet, where messages of two ranks and a tag meet receives in the
// order of operations. Receives from anyone or of any tag are not looked at, nor are ranks that have such.
struct Truncations {
    std::uint64_t count = 0;
    OpIndex send = 0, receive = 0;  // of the first, by sender
};
// Cost: n log n in messages, 16 bytes each.
[[nodiscard]] Truncations find_truncations(const Schedule& schedule);
// What to say of them: "2 messages are larger than their receives: ..."; empty for none.
[[nodiscard]] std::string truncation_text(const Schedule& schedule, const Truncations& found);

}  // namespace loom::traffic
