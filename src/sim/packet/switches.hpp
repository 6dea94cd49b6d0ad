// What switches do: take packets in, queue them by output, send them on in turn, mark them when it is crowded.
#pragma once

#include <bit>
#include <vector>

#include "sim/packet/links.hpp"

namespace loom::sim::packet {

class Switches {
public:
    Switches(const Plant& plant, Ports& ports, Links& links);

    void handle(Worker& worker, std::uint32_t index, const Event& event, std::int64_t now) {
        switch (event.what()) {
            case What::arrive:
                arrive(worker, index, event.port(), event.packet, now, false);
                return;
            case What::defer:
                arrive(worker, index, event.port(), event.packet, now, true);
                return;
            default:  // wake
                if (ports_.out[event.port()].wake_at == now) ports_.out[event.port()].wake_at = at_no_time;
                arbitrate(worker, index, event.port(), now);
        }
    }

    // For audits and the search for deadlocks: every packet that waits, with its input and output.
    template <class Visit>
    void visit_waiting(Visit&& visit) const {
        for (std::uint32_t s = 0; s < plant_.switches; ++s) {
            const Plant::SwitchInfo& info = plant_.switch_info[s];
            for (std::uint32_t out = 0; out < info.width; ++out)
                for (unsigned lane = 0; lane < ports_.lanes; ++lane)
                    for (std::uint32_t in = 0; in < info.width; ++in)
                        for (std::uint32_t n = voq(s, out, lane, in).head; n != none; n = pools_[s].nodes[n].next)
                            visit(info.first + in, info.first + out, pools_[s].nodes[n].packet);
        }
    }

    // The output has failed: what waits for it is lost.
    void lose_waiting(Worker& worker, Port out, std::int64_t now);

    // Has the lane of an output, which holds packets, the credits for the next one?
    [[nodiscard]] bool may_move(Port out, unsigned lane) const {
        const std::uint32_t s = plant_.entity[plant_.port[out].entity].index;
        return ready_input(s, out - plant_.switch_info[s].first, out, lane) != none;
    }

private:
    struct Queue {
        std::uint32_t head = none;
        std::uint32_t tail = none;
    };
    struct Node {
        Packet packet;
        std::uint32_t next;
    };
    struct Pool {
        std::vector<Node> nodes;
        std::uint32_t free = none;
    };

    [[nodiscard]] std::size_t voq_index(std::uint32_t s, std::uint32_t out, unsigned lane, std::uint32_t in) const {
        const std::uint32_t width = plant_.switch_info[s].width;
        return first_voq_[s] + (std::size_t{out} * ports_.lanes + lane) * width + in;
    }
    [[nodiscard]] const Queue& voq(std::uint32_t s, std::uint32_t out, unsigned lane, std::uint32_t in) const {
        return voqs_[voq_index(s, out, lane, in)];
    }

    void arrive(Worker& worker, std::uint32_t s, Port in, const Packet& packet, std::int64_t now, bool deferred) {
        const Plant::SwitchInfo& info = plant_.switch_info[s];
        std::uint32_t number = info.row[packet.dlid];
        if (!ports_.failed.empty() && leads_nowhere(info, number)) return lose(worker, in, packet, now);
        const bool chooses = adaptive_ && packet.kind() == Packet::data;
        // A packet from a slow link must not run dry on a fast one, whichever it will be.
        if (!deferred) {
            const std::uint32_t rate =
                chooses ? fastest_rate(s, number, packet) : plant_.port[info.first + number].rate;
            if (plant_.port[in].rate > rate) {
                const std::int64_t wait = plant_.serialise(in, packet.wire) - Plant::serialise_at(rate, packet.wire);
                worker.remind(in, now + wait, What::defer, packet);
                return;
            }
        }
        if (chooses) number = least_queued(s, number, packet);
        const Port out = info.first + number;
        Output& output = ports_.out[out];
        if (output.active == 0 && output.busy_until <= now && links_.may_send(out, packet)) {
            output.victim = false;
            if (ports_.lanes > 1) (void)ports_.choose_lane(out, 1u << packet.lane);
            ports_.queue[std::size_t{out} * ports_.lanes + packet.lane].last = in - info.first;
            send(worker, out, in, number, packet, now);
            return;
        }
        enqueue(s, in - info.first, number, packet);
        if (!ports_.marking.empty()) ports_.update_congestion(out, now);
        if (output.busy_until > now)
            links_.wake(worker, out, output.busy_until);
        else if (output.wake_at == at_no_time && (!output.waiting() || ports_.lanes > 1 || ports_.slots_a_lane > 1))
            arbitrate(worker, s, out, now);
    }

    [[nodiscard]] bool leads_nowhere(const Plant::SwitchInfo& info, std::uint32_t number) const {
        return number == 0 || number >= info.width || ports_.failed[info.first + number] != 0;
    }
    void lose(Worker& worker, Port in, const Packet& packet, std::int64_t now) {
        links_.release(worker, in, packet, 0, now);
        links_.lose(worker, packet, now);
    }

    void enqueue(std::uint32_t s, std::uint32_t in, std::uint32_t out, const Packet& packet) {
        Pool& pool = pools_[s];
        std::uint32_t n = pool.free;
        if (n == none) {
            n = static_cast<std::uint32_t>(pool.nodes.size());
            pool.nodes.push_back({packet, none});
        } else {
            pool.free = pool.nodes[n].next;
            pool.nodes[n] = {packet, none};
        }
        Queue& queue = voqs_[voq_index(s, out, packet.lane, in)];
        const Port port = plant_.switch_info[s].first + out;
        const std::size_t lane = std::size_t{port} * ports_.lanes + packet.lane;
        if (queue.head == none) {
            queue.head = n;
            if (ports_.queue[lane].last == in) ports_.queue[lane].excused = packet.wire;
            ports_.mask[lane * plant_.mask_words + in / 64] |= std::uint64_t{1} << (in % 64);
            ports_.out[port].active |= static_cast<std::uint16_t>(1u << packet.lane);
        } else {
            pool.nodes[queue.tail].next = n;
        }
        queue.tail = n;
        ports_.queue[lane].queued += packet.wire;
    }

    // The next input after `last` that has packets for this lane.
    [[nodiscard]] std::uint32_t next_input(std::size_t lane, std::uint32_t last) const {
        const std::uint64_t* mask = &ports_.mask[lane * plant_.mask_words];
        if (plant_.mask_words == 1) {
            const std::uint64_t above = last >= 63 ? 0 : mask[0] & (~std::uint64_t{0} << (last + 1));
            return static_cast<std::uint32_t>(std::countr_zero(above != 0 ? above : mask[0]));
        }
        return next_input_wide(mask, last);
    }
    [[nodiscard]] std::uint32_t next_input_wide(const std::uint64_t* mask, std::uint32_t last) const;

    // The input whose head packet may go now, in turn; none when credits lack.
    [[nodiscard]] std::uint32_t ready_input(std::uint32_t s, std::uint32_t number, Port out, unsigned lane) const {
        const std::size_t index = std::size_t{out} * ports_.lanes + lane;
        const std::uint32_t first = next_input(index, ports_.queue[index].last);
        std::uint32_t in = first;
        do {
            const Packet& head = pools_[s].nodes[voq(s, number, lane, in).head].packet;
            if (links_.may_send(out, head)) return in;
            if (ports_.slots_a_lane == 1)
                return none;  // whoever's turn it is waits, or small packets would starve large
            in = next_input(index, in);
        } while (in != first);
        return none;
    }

    void arbitrate(Worker& worker, std::uint32_t s, Port out, std::int64_t now) {
        Output& output = ports_.out[out];
        if (output.busy_until > now) {
            if (output.active != 0) links_.wake(worker, out, output.busy_until);
            return;
        }
        if (output.active == 0) return;
        const std::uint32_t number = out - plant_.switch_info[s].first;
        unsigned lane = 0;
        std::uint32_t in = none;
        if (ports_.lanes == 1) {
            in = ready_input(s, number, out, 0);
        } else {
            unsigned eligible = 0;
            for (unsigned rest = output.active; rest != 0; rest &= rest - 1) {
                const auto v = static_cast<unsigned>(std::countr_zero(rest));
                if (ready_input(s, number, out, v) != none) eligible |= 1u << v;
            }
            if (eligible != 0) {
                lane = ports_.choose_lane(out, eligible);
                in = ready_input(s, number, out, lane);
            }
        }
        if (in == none) {
            links_.begin_wait(out, now);
            return;
        }
        links_.end_wait(out, now);
        if (!ports_.marking.empty()) ports_.update_congestion(out, now);  // with the packet still in the queue
        Packet packet = dequeue(s, number, lane, in);
        if (!ports_.marking.empty()) mark(out, packet);
        if (!ports_.marking.empty()) ports_.update_congestion(out, now);
        send(worker, out, plant_.switch_info[s].first + in, number, packet, now);
        if (output.active != 0) links_.wake(worker, out, output.busy_until);
    }

    Packet dequeue(std::uint32_t s, std::uint32_t out, unsigned lane, std::uint32_t in) {
        Pool& pool = pools_[s];
        Queue& queue = voqs_[voq_index(s, out, lane, in)];
        const std::uint32_t n = queue.head;
        const Packet packet = pool.nodes[n].packet;
        queue.head = pool.nodes[n].next;
        pool.nodes[n].next = pool.free;
        pool.free = n;
        const Port port = plant_.switch_info[s].first + out;
        const std::size_t index = std::size_t{port} * ports_.lanes + lane;
        LaneQueue& line = ports_.queue[index];
        line.queued -= packet.wire;
        line.last = in;
        line.excused = queue.head == none ? 0 : pool.nodes[queue.head].packet.wire;
        if (queue.head == none) {
            ports_.mask[index * plant_.mask_words + in / 64] &= ~(std::uint64_t{1} << (in % 64));
            bool any = false;
            for (unsigned w = 0; w < plant_.mask_words; ++w)
                any = any || ports_.mask[index * plant_.mask_words + w] != 0;
            if (!any) ports_.out[port].active &= static_cast<std::uint16_t>(~(1u << lane));
        }
        return packet;
    }

    void mark(Port out, Packet& packet) {
        Marking& marking = ports_.marking[out];
        if (marking.congested && packet.kind() == Packet::data && packet.wire >= marking.floor_bytes) {
            if (marking.unmarked >= marking.rate) {
                marking.unmarked = 0;
                if (!packet.has(Packet::fecn)) ++marking.marked;
                packet.bits |= Packet::fecn;
            } else {
                ++marking.unmarked;
            }
        }
    }

    void send(Worker& worker, Port out, Port in, std::uint32_t number, const Packet& packet, std::int64_t now) {
        links_.take_credits(out, packet);
        ports_.charge_lane(out, packet.wire);
        links_.transmit(worker, out, packet, now);
        links_.release(worker, in, packet, number, ports_.out[out].busy_until);
    }

    template <class Visit>
    void visit_choices(std::uint32_t s, std::uint32_t by_table, const Packet& packet, Visit&& visit) const;
    [[nodiscard]] std::uint32_t least_queued(std::uint32_t s, std::uint32_t by_table, const Packet& packet) const;
    [[nodiscard]] std::uint32_t fastest_rate(std::uint32_t s, std::uint32_t by_table, const Packet& packet) const;

    const Plant& plant_;
    Ports& ports_;
    Links& links_;
    bool adaptive_;
    std::vector<std::size_t> first_voq_;  // by switch
    std::vector<Queue> voqs_;
    std::vector<Pool> pools_;  // by switch
};

}  // namespace loom::sim::packet
