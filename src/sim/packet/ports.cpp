#include "sim/packet/ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "loom/base/error.hpp"

namespace loom::sim::packet {

namespace {

// A full turn through a table: the entry of an eligible lane that still may send, or none. Entries whose lane cannot
// send lose their turn, as the standard says.
int take_turn(const std::vector<LaneWeight>& table, std::uint8_t& at, std::int32_t& left, unsigned eligible) {
    if (table.empty()) return -1;
    if (left > 0 && ((eligible >> table[at].lane) & 1u) != 0) return at;
    for (std::size_t step = 1; step <= table.size(); ++step) {
        const std::size_t next = (at + step) % table.size();
        if (table[next].weight == 0 || ((eligible >> table[next].lane) & 1u) == 0) continue;
        at = static_cast<std::uint8_t>(next);
        left = table[next].weight;
        return at;
    }
    return -1;
}

void check(const std::vector<LaneWeight>& table, const char* name) {
    if (table.size() > 64) throw UsageError(fmt::format("the {} arbitration table has more than 64 entries", name));
    for (const LaneWeight& entry : table)
        if (entry.lane >= max_lanes)
            throw UsageError(fmt::format("the {} arbitration table names lane {}", name, entry.lane));
}

}  // namespace

Ports::Ports(const Plant& plant, const PacketOptions& options) : plant_(&plant), arbitration_(&options.arbitration) {
    lanes = plant.lanes;
    endless = options.flow_control == FlowControl::infinite;
    slots_a_lane = options.buffer_use == BufferUse::shared ? 1 : 256;
    buffer_blocks = static_cast<std::int32_t>(options.buffer_bytes / block_bytes);
    out.resize(plant.ports);
    queue.resize(std::size_t{plant.ports} * lanes);
    mask.assign(std::size_t{plant.switch_ports} * lanes * plant.mask_words, 0);
    credits.assign(std::size_t{plant.ports} * lanes * slots_a_lane, buffer_blocks);
    check(options.arbitration.high, "high");
    check(options.arbitration.low, "low");
    if (lanes > 1 || !options.arbitration.high.empty() || !options.arbitration.low.empty()) {
        turns.resize(plant.ports);
        if (options.arbitration.low.empty()) {
            in_turn_ = options.arbitration;
            for (unsigned v = 0; v < lanes; ++v) in_turn_.low.push_back({static_cast<std::uint8_t>(v), 1});
            arbitration_ = &in_turn_;
        }
        unsigned listed = 0;
        for (const LaneWeight& entry : arbitration_->high)
            if (entry.weight != 0) listed |= 1u << entry.lane;
        for (const LaneWeight& entry : arbitration_->low)
            if (entry.weight != 0) low_lanes_ |= 1u << entry.lane;
        listed |= low_lanes_;
        const auto before_first = [](const std::vector<LaneWeight>& table) {
            return static_cast<std::uint8_t>(table.empty() ? 0 : table.size() - 1);
        };
        for (LaneTurns& t : turns)
            t = {.high_at = before_first(arbitration_->high),
                 .low_at = before_first(arbitration_->low),
                 .high_budget = high_budget()};
        for (unsigned v = 0; v < lanes; ++v)
            if (((listed >> v) & 1u) == 0)
                throw UsageError(fmt::format("lane {} is in neither arbitration table: it could never send", v));
    }
    if (options.congestion.switches.threshold != 0) {
        marking.resize(plant.ports);
        for (Port p = 0; p < plant.switch_ports; ++p) set_marking(p, options.congestion.switches);
    }
}

void Ports::set_marking(Port port, const SwitchControl& control) {
    Marking& m = marking[port];
    const auto buffer = static_cast<std::uint32_t>(buffer_blocks) * block_bytes;
    m.threshold_bytes = control.threshold == 0 ? UINT32_MAX : buffer / 15 * (15u - control.threshold);
    m.rate = control.marking_rate;
    m.floor_bytes = static_cast<std::uint16_t>(control.packet_size * block_bytes);
    m.victim_mask = control.victim_mask;
}

bool Ports::oversubscribed(Port port) const {
    const Port first = plant_->switch_info[plant_->entity[plant_->port[port].entity].index].first;
    const unsigned words = plant_->mask_words;
    std::uint64_t speed = 0;
    for (unsigned w = 0; w < words; ++w) {
        std::uint64_t inputs = 0;  // an input counts once, however many of its lanes wait
        for (unsigned v = 0; v < lanes; ++v) {
            const std::size_t lane = std::size_t{port} * lanes + v;
            inputs |= mask[lane * words + w];
            if (queue[lane].queued != 0 && queue[lane].last / 64 == w)
                inputs |= std::uint64_t{1} << (queue[lane].last % 64);
        }
        for (; inputs != 0; inputs &= inputs - 1) {
            const Port in = first + w * 64 + static_cast<unsigned>(std::countr_zero(inputs));
            speed += plant_->port[in].speed;
            if (speed > plant_->port[port].speed) return true;
        }
    }
    return false;
}

unsigned Ports::choose_lane(Port port, unsigned eligible) {
    if (lanes == 1) return 0;
    LaneTurns& t = turns[port];
    const LaneArbitration& tables = *arbitration_;
    const bool spent = tables.high_limit != 255 && t.high_budget <= 0;
    if (spent) t.high_budget = high_budget();  // low has had its turn, whether it can use it or not
    if (!spent || (eligible & low_lanes_) == 0) {
        const int entry = take_turn(tables.high, t.high_at, t.high_left, eligible);
        t.chose_high = entry >= 0;
        if (entry >= 0) return tables.high[static_cast<std::size_t>(entry)].lane;
    }
    const int entry = take_turn(tables.low, t.low_at, t.low_left, eligible);
    t.chose_high = false;
    t.high_budget = high_budget();
    return tables.low[static_cast<std::size_t>(entry)].lane;
}

void Ports::charge_lane(Port port, std::uint32_t wire) {
    if (lanes == 1) return;
    LaneTurns& t = turns[port];
    const auto blocks = static_cast<std::int32_t>((wire + block_bytes - 1) / block_bytes);
    (t.chose_high ? t.high_left : t.low_left) -= blocks;
    if (t.chose_high && arbitration_->high_limit != 255) t.high_budget -= static_cast<std::int32_t>(wire);
}

}  // namespace loom::sim::packet
