// What changes about ports while packets pass: who may send next, and what each has counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/packet/plant.hpp"

namespace loom::sim::packet {

inline constexpr std::int64_t at_no_time = INT64_MAX;

// The sending side of a port: one cache line.
struct alignas(64) Output {
    std::int64_t busy_until = 0;
    std::int64_t wake_at = at_no_time;     // the earliest wake event that is under way
    std::int64_t wait_since = at_no_time;  // since when it has had data and no credits
    std::int64_t waited = 0;               // picoseconds, all waits that are over
    std::uint64_t bytes = 0;               // sent, headers included
    std::uint64_t packets = 0;
    std::uint16_t active = 0;  // lanes that have packets waiting
    bool victim = false;       // its last packet had to wait for credits
    [[nodiscard]] bool waiting() const { return wait_since != at_no_time; }
};

// One lane of an output.
struct LaneQueue {
    std::uint32_t queued = 0;   // bytes waiting in this switch for this output and lane
    std::uint32_t excused = 0;  // of these, the packet right behind the one sent last, from the same input
    std::uint32_t last = 0;     // the input that was served last
};

// Turns of a VL arbitration table pair, as the standard has them.
struct LaneTurns {
    std::uint8_t high_at = 0;
    std::uint8_t low_at = 0;
    std::int32_t high_left = 0;    // x 64 bytes
    std::int32_t low_left = 0;     // x 64 bytes
    std::int32_t high_budget = 0;  // bytes of high priority before a low packet has its turn
    bool chose_high = false;
};

// Congestion control at an output: settings and state.
struct Marking {
    std::uint32_t threshold_bytes = UINT32_MAX;
    std::uint16_t rate = 0;
    std::uint16_t unmarked = 0;     // since the last mark
    std::uint16_t floor_bytes = 0;  // smaller packets stay unmarked
    bool victim_mask = false;
    bool congested = false;
    std::int64_t since = 0;  // when it became congested
    std::int64_t total = 0;  // picoseconds congested before that
    std::uint64_t marked = 0;
};

// All ports of the fabric. A port is touched by the worker that plays its entity, except for credits, which are
// applied at the start of a window by the same worker.
struct Ports {
    Ports(const Plant& plant, const PacketOptions& options);

    std::vector<Output> out;            // by port
    std::vector<LaneQueue> queue;       // by port x lane
    std::vector<std::uint64_t> mask;    // by port x lane: inputs that have packets for it, `mask_words` words each
    std::vector<std::int32_t> credits;  // by slot
    std::vector<LaneTurns> turns;       // by port; only with several lanes
    std::vector<Marking> marking;       // by port; empty without congestion control
    std::vector<std::uint8_t> failed;   // by port; empty as long as nothing has failed
    std::uint32_t slots_a_lane = 1;     // 1: inputs share their buffer; 256: a buffer for each output behind it
    std::int32_t buffer_blocks = 0;
    bool endless = false;  // no flow control
    unsigned lanes = 1;

    // Where the credits are counted that `port` needs to send a packet which will leave the next switch by `onward`.
    [[nodiscard]] std::uint32_t slot(Port port, unsigned lane, std::uint32_t onward) const {
        return (port * lanes + lane) * slots_a_lane + (slots_a_lane == 1 ? 0 : onward);
    }
    [[nodiscard]] Port port_of_slot(std::uint32_t s) const { return s / slots_a_lane / lanes; }

    // The lane whose turn it is among the eligible ones (a bit each, not none), and the note that `wire` bytes went.
    [[nodiscard]] unsigned choose_lane(Port port, unsigned eligible);
    void charge_lane(Port port, std::uint32_t wire);

    // Brings the congested state up to date after the queue or the victim flag changed.
    void update_congestion(Port port, std::int64_t now) {
        Marking& m = marking[port];
        std::uint32_t queued = 0;
        for (unsigned v = 0; v < lanes; ++v) {
            const LaneQueue& lane = queue[port * lanes + v];
            queued = std::max(queued, lane.queued - lane.excused);
        }
        const bool congested =
            queued > m.threshold_bytes && (!out[port].victim || m.victim_mask) && oversubscribed(port);
        if (congested == m.congested) return;
        m.congested = congested;
        if (congested)
            m.since = now;
        else
            m.total += now - m.since;
    }
    void set_marking(Port port, const SwitchControl& control);

private:
    // The links whose packets wait here, or were served last, are together faster than this one. Where they are not, a
    // packet only waits for another that came at the same moment.
    [[nodiscard]] bool oversubscribed(Port port) const;

    // Bytes of high priority before low has its turn; a limit of 0 stands for one packet.
    [[nodiscard]] std::int32_t high_budget() const { return std::max(1, arbitration_->high_limit * 4096); }

    const Plant* plant_;
    const LaneArbitration* arbitration_;
    LaneArbitration in_turn_;
    unsigned low_lanes_ = 0;
};

}  // namespace loom::sim::packet
