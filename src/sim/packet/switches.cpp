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

void Switches::lose_waiting(Worker& worker, Port out, std::int64_t now) {
    const std::uint32_t s = plant_.entity[plant_.port[out].entity].index;
    const Plant::SwitchInfo& info = plant_.switch_info[s];
    for (unsigned lane = 0; lane < ports_.lanes; ++lane)
        for (std::uint32_t in = 0; in < info.width; ++in)
            while (voq(s, out - info.first, lane, in).head != none)
                lose(worker, info.first + in, dequeue(s, out - info.first, lane, in), now);
    links_.end_wait(out, now);
    if (!ports_.marking.empty()) ports_.update_congestion(out, now);
}

// visit(number) for every output that the packet may take: the table's, and those beside it.
template <class Visit>
void Switches::visit_choices(std::uint32_t s, std::uint32_t by_table, const Packet& packet, Visit&& visit) const {
    visit(by_table);
    if (!plant_.is_straight(s, packet.dlid)) return;  // a table that takes a longer way has its reason
    const Plant::SwitchInfo& info = plant_.switch_info[s];
    const std::uint64_t* near =
        &plant_.near[(std::size_t{s} * plant_.leaves + plant_.leaf_of_lid[packet.dlid]) * plant_.mask_words];
    for (unsigned word = 0; word < plant_.mask_words; ++word)
        for (std::uint64_t rest = near[word]; rest != 0; rest &= rest - 1) {
            const auto number = static_cast<std::uint32_t>(word * 64 + static_cast<unsigned>(std::countr_zero(rest)));
            const Plant::PortInfo& beyond = plant_.port[plant_.port[info.first + number].peer];
            if (plant_.is_straight(plant_.entity[beyond.entity].index, packet.dlid)) visit(number);
        }
}

std::uint32_t Switches::least_queued(std::uint32_t s, std::uint32_t by_table, const Packet& packet) const {
    const Port first = plant_.switch_info[s].first;
    const auto queued = [&](std::uint32_t number) {
        return ports_.queue[std::size_t{first + number} * ports_.lanes + packet.lane].queued;
    };
    const auto busy = [&](std::uint32_t number) { return ports_.out[first + number].busy_until; };
    std::uint32_t best = by_table;
    visit_choices(s, by_table, packet, [&](std::uint32_t number) {
        if (queued(number) != queued(best) ? queued(number) < queued(best) : busy(number) < busy(best)) best = number;
    });
    return best;
}

std::uint32_t Switches::fastest_rate(std::uint32_t s, std::uint32_t by_table, const Packet& packet) const {
    const Port first = plant_.switch_info[s].first;
    std::uint32_t rate = UINT32_MAX;
    visit_choices(s, by_table, packet,
                  [&](std::uint32_t number) { rate = std::min(rate, plant_.port[first + number].rate); });
    return rate;
}

}  // namespace loom::sim::packet
