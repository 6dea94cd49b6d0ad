#include "sim/packet/switches.hpp"

namespace loom::sim::packet {

Switches::Switches(const Plant& plant, Ports& ports, Links& links)
    : plant_(plant),
      ports_(ports),
      links_(links),
      adaptive_(plant.options->paths == PathChoice::adaptive),
      pools_(plant.switches) {
    std::size_t total = 0;
    for (const Plant::SwitchInfo& info : plant.switch_info) {
        first_voq_.push_back(total);
        total += std::size_t{info.width} * info.width * ports.lanes;
    }
    voqs_.resize(total);
}

std::uint32_t Switches::next_input_wide(const std::uint64_t* mask, std::uint32_t last) const {
    const std::uint32_t bits = plant_.mask_words * 64;
    for (std::uint32_t step = 1; step <= bits; ++step) {
        const std::uint32_t in = (last + step) % bits;
        if (mask[in / 64] == 0) {
            step += 63 - in % 64;  // on to the next word
            continue;
        }
        if (((mask[in / 64] >> (in % 64)) & 1u) != 0) return in;
    }
    return last;
}

std::uint32_t Switches::least_queued(std::uint32_t s, std::uint32_t by_table, const Packet& packet) const {
    const Plant::SwitchInfo& info = plant_.switch_info[s];
    const std::uint64_t* near =
        &plant_.near[(std::size_t{s} * plant_.leaves + plant_.leaf_of_lid[packet.dlid]) * plant_.mask_words];
    // A table that takes a longer way has its reason.
    if (((near[by_table / 64] >> (by_table % 64)) & 1u) == 0) return by_table;
    const auto queued = [&](std::uint32_t number) {
        return ports_.queue[std::size_t{info.first + number} * ports_.lanes + packet.lane].queued;
    };
    const auto busy = [&](std::uint32_t number) { return ports_.out[info.first + number].busy_until; };
    std::uint32_t best = by_table;
    for (unsigned word = 0; word < plant_.mask_words; ++word)
        for (std::uint64_t rest = near[word]; rest != 0; rest &= rest - 1) {
            const auto number = static_cast<std::uint32_t>(word * 64 + static_cast<unsigned>(std::countr_zero(rest)));
            if (queued(number) != queued(best) ? queued(number) < queued(best) : busy(number) < busy(best))
                best = number;
        }
    return best;
}

}  // namespace loom::sim::packet
