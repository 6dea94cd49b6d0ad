// What is assumed about hosts, adapters and links where nobody measured them. The only place for such numbers: what
// predicts, exports, plays or emulates a collective takes them from here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "loom/base/time.hpp"

namespace loom::model {

namespace assumed {

// A core's own work, in picoseconds a byte.
inline constexpr std::int64_t copy = 100;
inline constexpr std::int64_t reduce = 200;
inline constexpr Time step = nanoseconds(30);  // any copy or reduction, whatever its length

// A core's work for a message.
inline constexpr Time send = nanoseconds(120);
inline constexpr Time send_first = nanoseconds(60);
inline constexpr Time receive = nanoseconds(120);

// A link of a fabric, and what is on the way.
inline constexpr std::uint32_t megabits = 100'000;
inline constexpr std::uint32_t switches = 3;
inline constexpr Time cable_delay = nanoseconds(50);
inline constexpr Time switch_delay = nanoseconds(100);
inline constexpr Time host_delay = nanoseconds(200);

}  // namespace assumed

// One line of the table, for people.
struct Assumption {
    std::string_view name;
    std::int64_t value = 0;
    std::string_view unit;    // "ps/B", "ps", "Mbit/s", "switches"
    std::string_view reason;  // where the number comes from
};
[[nodiscard]] std::span<const Assumption> assumptions();

}  // namespace loom::model
