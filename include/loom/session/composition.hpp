// What a session runs at present, why, and how it came to that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/base/time.hpp"
#include "loom/session/context.hpp"

namespace loom::session {

struct Composition {
    Place place = Place::elsewhere;
    Settings settings;
    std::vector<Micro> micros;  // in the order of Table I
    std::uint32_t epoch = 0;    // of the data channel; each change begins a new one
    std::string why;            // one sentence for each choice

    [[nodiscard]] Context context() const { return {settings.scheme, reach_of(place), settings.network}; }
};

// "synchronous, between clusters, over ethernet: TransportDrive Resize Synchronous ..."
[[nodiscard]] std::string to_string(const Composition& composition);

struct Change {
    Time when{};  // by loom::now()
    Composition now;
    std::string reason;  // what asked for it, at this end or the other
};

// What has gone over the data channel so far.
struct Counters {
    std::uint64_t messages_sent = 0, messages_received = 0;
    std::uint64_t messages_replaced = 0;  // asynchronous ones that a newer overtook before they left or were taken
    std::uint64_t segments_sent = 0, segments_received = 0;
    std::uint64_t segments_again = 0;    // retransmissions
    std::uint64_t segments_dropped = 0;  // of another epoch, repeated, or not to be understood
    std::uint64_t changes = 0;
};

}  // namespace loom::session
