// How many packets of a queue pair may be under way unacknowledged: enough to keep the wire busy, and no more than it
// carries within some milliseconds. What is sent beyond that waits in queues in front of the wire, and the other
// direction's acknowledgements behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hca/protocol/packet.hpp"

namespace loom::hca::roce {

class Window {
public:
    static constexpr double first = 64, most = 1024, least = 4;  // packets
    // Where two share a queue (data both ways, each other's acknowledgements behind it), both see the same waits: what
    // is added must not depend on what one has, and what is taken away must, or who has more keeps it.
    static constexpr double step_a_round = 32;
    static constexpr double narrow = 32;  // waits alone never make it narrower
    // Of both directions together: where data goes both ways, acknowledgements wait behind the other's data and come in
    // bunches, and a shorter queue runs dry between them.
    static constexpr std::uint64_t longest_queue_ns = 20'000'000;
    static constexpr std::uint64_t epoch_ns =
        10'000'000'000;  // the shortest round trip of this and the last one counts

    explicit Window(double packets = first) : packets_(packets) {}

    [[nodiscard]] std::uint32_t packets() const { return static_cast<std::uint32_t>(packets_); }

    // Everything before `end` is on the wire, since now.
    void sent(Psn end, std::uint64_t now_ns) {
        newest_ = end;
        if (timed_ == timings_.size()) return;  // the next flight is timed
        timings_[(oldest_ + timed_++) % timings_.size()] = {end, now_ns};
    }

    // `count` more packets are acknowledged, all before `unacked` now.
    void acknowledged(std::uint32_t count, Psn unacked, std::uint64_t now_ns) {
        if (recovering_ && !unacked.before(recovered_)) recovering_ = false;
        if (narrowed_ && unacked.after(narrowed_until_)) narrowed_ = false;
        // One answer may be to several: the last of them has waited for the wire, the others for the answer too.
        std::uint64_t sent_at = 0;
        for (; timed_ != 0 && !unacked.before(timings_[oldest_].end); --timed_) {
            sent_at = timings_[oldest_].at_ns;
            oldest_ = (oldest_ + 1) % timings_.size();
        }
        if (sent_at != 0) took(now_ns - sent_at, now_ns);
        if (full_) return;
        const double step = opening_ ? 1 : (lossy_ ? 1 : step_a_round) / packets_;
        packets_ = std::min(most, packets_ + step * count);
    }

    // Packets between `unacked` and `sent` are lost. More losses of the same flight are the same event.
    void lost(Psn unacked, Psn sent) {
        repeated();
        opening_ = false;
        lossy_ = true;
        if (recovering_ && unacked.before(recovered_)) return;
        recovering_ = true;
        recovered_ = sent;
        packets_ = std::max(least, packets_ / 2);
    }

    // Something is sent again, lost or not. After Karn: what is sent twice tells nothing about times.
    void repeated() { timed_ = 0; }
    void repeated(Psn from) {
        while (timed_ != 0 && timings_[(oldest_ + timed_ - 1) % timings_.size()].end.after(from)) --timed_;
    }

private:
    void took(std::uint64_t ns, std::uint64_t now_ns) {
        if (now_ns - epoch_since_ >= epoch_ns) {
            shortest_before_ = shortest_;
            shortest_ = std::numeric_limits<std::uint64_t>::max();
            epoch_since_ = now_ns;
        }
        shortest_ = std::min(shortest_, ns);
        const std::uint64_t longest = std::min(shortest_, shortest_before_) + longest_queue_ns;
        full_ = ns > longest;
        if (!full_) return;
        opening_ = false;
        if (narrowed_) return;  // these were sent before it
        narrowed_ = true;
        narrowed_until_ = newest_;
        const double fits = static_cast<double>(longest) / static_cast<double>(ns);
        if (packets_ > narrow) packets_ = std::max(narrow, packets_ * std::clamp(fits, 0.5, 0.7));
    }

    double packets_;
    bool opening_ = true;    // nothing lost and no queue yet: the window doubles with every round
    bool lossy_ = false;     // it grows by a packet a round
    bool full_ = false;      // the last round trip was too long
    bool narrowed_ = false;  // once a round: until `narrowed_until_` is reached, waits are those of the wider window
    Psn narrowed_until_;
    Psn newest_;
    bool recovering_ = false;  // from a loss, until `recovered_` is reached
    Psn recovered_;
    struct Timing {
        Psn end;
        std::uint64_t at_ns = 0;
    };
    std::array<Timing, 16> timings_;
    std::size_t oldest_ = 0, timed_ = 0;
    std::uint64_t epoch_since_ = 0;
    std::uint64_t shortest_ = std::numeric_limits<std::uint64_t>::max(), shortest_before_ = shortest_;
};

}  // namespace loom::hca::roce
