// Looking at a stopped engine: do the books balance, and does anything wait in a circle?
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "sim/packet/engine.hpp"

namespace loom::sim::packet {

// visit(event) for every event and visit(credit) for every credit that is under way.
template <class Program>
template <class Visit>
void EngineOf<Program>::visit_pending(Visit&& visit) const {
    for (const Worker& worker : workers_) {
        for (const Calendar::Slot& slot : worker.calendar.slots()) {
            for (const Event& event : slot.events) visit(event);
            for (const Credit& credit : slot.credits) visit(credit);
        }
        worker.calendar.visit_far([&](const Event& event) {
            if (event.what() == What::credit)
                visit(event.credit());
            else
                visit(event);
        });
    }
}

namespace {

template <class OnEvent, class OnCredit>
struct Sorter {
    OnEvent on_event;
    OnCredit on_credit;
    void operator()(const Event& event) const { on_event(event); }
    void operator()(const Credit& credit) const { on_credit(credit); }
};
template <class A, class B>
Sorter(A, B) -> Sorter<A, B>;

}  // namespace

template <class Program>
std::string EngineOf<Program>::audit() const {
    if (ports_.endless) return {};
    // What each slot's buffer holds or is about to hold.
    std::vector<std::int64_t> held(ports_.credits.size(), 0);
    const auto hold = [&](Port in, const Packet& packet) {
        const Port upstream = plant_.port[in].peer;
        held[ports_.slot(upstream, packet.lane, links_.onward(upstream, packet))] += packet.blocks();
    };
    switches_.visit_waiting([&](Port in, Port, const Packet& packet) { hold(in, packet); });
    visit_pending(Sorter{[&](const Event& event) {
                             if (event.what() == What::arrive || event.what() == What::defer)
                                 hold(event.port(), event.packet);
                         },
                         [&](const Credit& credit) { held[credit.slot] += credit.blocks; }});
    for (std::uint32_t slot = 0; slot < held.size(); ++slot) {
        const std::int32_t credits = ports_.credits[slot];
        if (credits >= 0 && credits + held[slot] == ports_.buffer_blocks) continue;
        return fmt::format("{} has {} credits, and {} blocks are held or under way of a buffer of {}",
                           describe(plant_, ports_.port_of_slot(slot)), credits, held[slot], ports_.buffer_blocks);
    }
    return {};
}

template <class Program>
std::vector<std::string> EngineOf<Program>::find_deadlock() const {
    // By (input, lane): how many packets it holds for which output. A lane of an output is dead when it has not the
    // credits for its next packet, none are under way to it, and the buffer it waits for can only drain through dead
    // lanes.
    const auto lane_of = [&](Port port, unsigned lane) { return port * ports_.lanes + lane; };
    std::unordered_map<std::uint32_t, std::unordered_map<std::uint32_t, std::uint32_t>> buffers;
    std::unordered_set<std::uint32_t> dead;
    switches_.visit_waiting([&](Port in, Port out, const Packet& packet) {
        ++buffers[lane_of(in, packet.lane)][lane_of(out, packet.lane)];
        if (!switches_.may_move(out, packet.lane)) dead.insert(lane_of(out, packet.lane));
    });
    std::unordered_set<std::uint32_t> moving;  // buffers that something is still on its way to
    visit_pending(Sorter{[&](const Event& event) {
                             if (event.what() == What::arrive || event.what() == What::defer)
                                 moving.insert(lane_of(event.port(), event.packet.lane));
                         },
                         [&](const Credit& credit) { dead.erase(credit.slot / ports_.slots_a_lane); }});
    const auto downstream = [&](std::uint32_t lane) {
        return lane_of(plant_.port[lane / ports_.lanes].peer, lane % ports_.lanes);
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (auto at = dead.begin(); at != dead.end();) {
            const auto buffer = buffers.find(downstream(*at));
            const bool drains = buffer == buffers.end() || moving.contains(buffer->first) ||
                                std::any_of(buffer->second.begin(), buffer->second.end(),
                                            [&](const auto& queue) { return !dead.contains(queue.first); });
            changed = changed || drains;
            at = drains ? dead.erase(at) : std::next(at);
        }
    }
    if (dead.empty()) return {};

    // From any dead lane on, always to the lowest-numbered one it waits for: the way must close.
    std::vector<std::uint32_t> way{*std::min_element(dead.begin(), dead.end())};
    std::unordered_map<std::uint32_t, std::size_t> seen;
    while (seen.emplace(way.back(), way.size() - 1).second) {
        std::uint32_t next = none;
        for (const auto& [lane, packets] : buffers.at(downstream(way.back()))) next = std::min(next, lane);
        way.push_back(next);
    }
    std::vector<std::string> lines;
    for (std::size_t i = seen.at(way.back()); i + 1 < way.size(); ++i) {
        const Port out = way[i] / ports_.lanes;
        const std::uint32_t packets = buffers.at(downstream(way[i])).at(way[i + 1]);
        lines.push_back(fmt::format("{} lane {} waits for the buffer of {}, which holds {} packets for {}",
                                    describe(plant_, out), way[i] % ports_.lanes,
                                    describe(plant_, plant_.port[out].peer), packets,
                                    describe(plant_, way[i + 1] / ports_.lanes)));
    }
    return lines;
}

template std::string EngineOf<Executor>::audit() const;
template std::string EngineOf<LiveProgram>::audit() const;
template std::vector<std::string> EngineOf<Executor>::find_deadlock() const;
template std::vector<std::string> EngineOf<LiveProgram>::find_deadlock() const;

}  // namespace loom::sim::packet
