// What the micro-protocols of a data channel share. It outlives every composition: a new one takes over from here what
// the one before has learnt.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "loom/base/time.hpp"
#include "loom/session/composition.hpp"
#include "loom/session/physical.hpp"
#include "session/stack/mail.hpp"

namespace loom::session {

class Sealer;
class Trace;

// Round trips after RFC 6298. The least timeout is far below its second: cluster networks answer in microseconds.
struct RoundTrip {
    Time smoothed{}, deviation{}, least{};  // 0: nothing measured
    Time latest{};
    Time least_timeout = milliseconds(2);
    unsigned backoff = 0;

    void sample(Time trip) {
        latest = trip;
        least = least.ps == 0 ? trip : std::min(least, trip);
        if (smoothed.ps == 0) {
            smoothed = trip;
            deviation = {trip.ps / 2};
        } else {
            const Time off{std::abs(smoothed.ps - trip.ps)};
            deviation = {(3 * deviation.ps + off.ps) / 4};
            smoothed = {(7 * smoothed.ps + trip.ps) / 8};
        }
        backoff = 0;
    }
    [[nodiscard]] Time timeout() const {
        constexpr Time first = milliseconds(200), most = milliseconds(1000);
        const Time once = smoothed.ps == 0 ? first : std::max(least_timeout, smoothed + 4 * deviation);
        return std::min(most, once * (std::int64_t{1} << std::min(backoff, 10u)));
    }
};

// In segments, with fractions of one.
struct Window {
    static constexpr double first = 10, most = 1024;
    double size = first;
    double threshold = most;  // slow start ends there

    [[nodiscard]] bool starting() const { return size < threshold; }
    void set(double wanted) { size = std::clamp(wanted, 1.0, most); }
};

struct Board {
    Time now{};
    Physical* physical = nullptr;
    std::size_t segment_bytes = 0;  // whole segments, headers included; both ends have the same
    std::size_t most_message = 0;   // longer ones are refused
    std::uint16_t own_port = 0, peer_port = 0;
    std::uint32_t epoch = 0;
    Reach reach = Reach::intra;
    bool opener = false;

    Outbox outbox;
    Inbox inbox;
    Resume arrived;           // where the peer would have to begin anew
    Bytes partial;            // ... and what is there of that message
    const char* broken = "";  // not empty: what the peer did that no peer may do

    bool owe_ack = false;    // the peer waits for an acknowledgement
    bool owe_taken = false;  // ... to hear that the program took a message

    RoundTrip trip;
    Window window;
    std::size_t flight = 0;          // segments that left and neither arrived nor are lost, as far as is known
    std::uint64_t sent = 0;          // the last sequence number that left
    std::uint64_t in_sequence = 0;   // all up to this one arrived
    std::uint64_t acknowledged = 0;  // the peer has all up to this one
    Time progress{};                 // when something was last acknowledged, or nothing was under way

    Sealer* sealer = nullptr;  // none without a key
    Trace* trace = nullptr;    // none unless somebody reads it
    Counters counters;
};

}  // namespace loom::session
