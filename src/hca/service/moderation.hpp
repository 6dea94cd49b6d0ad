// How long the thread may stay away while a long message is under way, as adapters moderate their interrupts: packets
// in the middle of a message need nobody's attention, and every look costs the program a switch.
#pragma once

#include <algorithm>
#include <cstdint>

namespace loom::hca {

class Moderation {
public:
    // Bytes, each of the queue pair for which they are fewest; 0: of none.
    struct State {
        std::uint64_t missing = 0;   // of a message that comes
        std::uint64_t followed = 0;  // of ours under way, with more to follow
        std::uint64_t last = 0;      // of ours under way, with nothing to follow
    };

    // Called at each look, with all bytes that have come and that were acknowledged so far. 0: look at once.
    std::uint64_t nap_ns(std::uint64_t came, std::uint64_t acknowledged, const State& state, std::uint64_t now_ns) {
        in_.look(came, state.missing != 0, now_ns);
        out_.look(acknowledged, state.followed + state.last != 0, now_ns);
        // Who only sends hears little, and what would be slept over is the beginning of the other's message. The end of
        // one that comes must not be slept over either: its arrival wakes whoever listens, and costs no more than a
        // timer.
        if (state.missing <= one_arrival) return 0;
        double nap = std::min(most_ns, in_.ns_for(std::min(state.missing - one_arrival, most_waiting)));
        // Half of what is under way may be answers on their way back: before the rest has left, more has to follow.
        if (state.followed != 0) nap = std::min(nap, out_.ns_for(state.followed) * 0.3);
        if (state.last != 0) nap = std::min(nap, out_.ns_for(state.last) * 0.85);
        return nap < least_ns ? 0 : static_cast<std::uint64_t>(nap);
    }

    static constexpr double most_ns = 1'500'000, least_ns = 25'000;
    static constexpr std::uint64_t most_waiting = 256 << 10;  // bytes that may lie in a socket meanwhile
    static constexpr std::uint64_t one_arrival = 64 << 10;    // bytes that come together
    static constexpr std::uint64_t shortest_span_ns = 150'000;

private:
    // Bytes a nanosecond while something is under way. Rather too high than too low: a nap too short costs a look, one
    // too long lets the program wait.
    class Rate {
    public:
        void look(std::uint64_t total, bool under_way, std::uint64_t now_ns) {
            const std::uint64_t span = now_ns - since_;
            if (busy_ && span >= shortest_span_ns) {
                const double rate = static_cast<double>(total - total_) / static_cast<double>(span);
                rate_ = std::max(rate, 0.5 * (rate_ + rate));
            }
            if (!busy_ || span >= shortest_span_ns || !under_way) {
                total_ = total;
                since_ = now_ns;
            }
            busy_ = under_way;
        }
        [[nodiscard]] double ns_for(std::uint64_t bytes) const {
            return rate_ == 0 ? 0 : static_cast<double>(bytes) / rate_;
        }

    private:
        bool busy_ = false;
        std::uint64_t total_ = 0, since_ = 0;
        double rate_ = 0;
    };
    Rate in_, out_;
};

}  // namespace loom::hca
