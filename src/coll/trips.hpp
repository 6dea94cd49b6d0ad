// What round trips of messages say about the costs of one way between two ranks.
#pragma once

#include <cstdint>

#include "loom/base/time.hpp"
#include "loom/model/walk.hpp"

namespace loom::coll {

// There and back, typical ones over rounds.
struct Trip {
    Time whole;
    Time first;  // the call of the first send
    Time rest;   // of each other
};

class Trips {
public:
    virtual ~Trips() = default;
    // `count` messages of `bytes` there and one of them back, out of and into memory of the transport if `shared`.
    [[nodiscard]] virtual Trip trip(std::uint32_t count, std::uint64_t bytes, std::uint32_t most_rounds,
                                    bool shared) = 0;
    // The largest message that a send is over with before it is received, to within 1/16.
    [[nodiscard]] virtual std::uint64_t eager_limit() = 0;
};

// Near: cores copy, and what the slower end takes is its own work. Far: what limits is the adapter or the wire.
enum class Way : std::uint8_t { near, far };

struct Circumstances {
    Way way = Way::near;
    bool crowded = false;  // ranks take turns on cores
    Time clock{};          // what a look at the clock takes, which is in every time of a call
    Time round_trip{};     // of a small message, where a single partner's tells too little; 0: that one's
};

// Of so many in that time: picoseconds, not below 0.
[[nodiscard]] std::int64_t cost_of_byte(Time time, std::uint64_t bytes);

// `free` is how many messages leave as fast as the core posts them.
[[nodiscard]] model::WayCosts costs_of_way(Trips& meter, const Circumstances& about, std::uint32_t& free);

// A machine busy with something else gives numbers that say nothing about this one.
[[nodiscard]] bool plausible(const model::WayCosts& way, Way kind, bool crowded);

}  // namespace loom::coll
