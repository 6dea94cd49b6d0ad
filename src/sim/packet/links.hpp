// Putting a packet on a cable, and giving back the space that it held.
#pragma once

#include "sim/packet/ports.hpp"
#include "sim/packet/worker.hpp"

namespace loom::sim::packet {

struct Links {
    const Plant& plant;
    Ports& ports;

    void transmit(Worker& worker, Port out, const Packet& packet, std::int64_t now) {
        const Plant::PortInfo& info = plant.port[out];
        Output& output = ports.out[out];
        const auto time = static_cast<std::int64_t>((std::uint64_t{packet.wire} * info.rate) >> 8);
        output.busy_until = now + time;
        output.bytes += packet.wire;
        ++output.packets;
        worker.send(info.peer, now + info.reach + (info.to_host ? time : 0), What::arrive, packet);
    }
    // The packet has left the buffer behind `in` at `moment`, through output number `through`.
    void release(Worker& worker, Port in, const Packet& packet, std::uint32_t through, std::int64_t moment) {
        if (ports.endless) return;
        const Port upstream = plant.port[in].peer;
        worker.give_credit(upstream, moment + plant.cable,
                           {ports.slot(upstream, packet.lane, through), packet.blocks()});
    }
    // The packet is gone. Its sender finds out when it misses the acknowledgement; nobody misses a notification.
    void lose(Worker& worker, const Packet& packet, std::int64_t now) {
        if (packet.kind() == Packet::cnp) return;
        const std::uint16_t sender = packet.kind() == Packet::data ? packet.slid : packet.dlid;
        worker.send(plant.port_of_lid[sender], now + plant.options->retries->after.ps, What::retry, packet);
    }
    // Which output of the next switch the packet will take; 0 where nobody asks.
    [[nodiscard]] std::uint32_t onward(Port out, const Packet& packet) const {
        if (ports.slots_a_lane == 1 || plant.port[out].to_host) return 0;
        return plant.switch_info[plant.entity[plant.port[plant.port[out].peer].entity].index].row[packet.dlid];
    }
    [[nodiscard]] bool may_send(Port out, const Packet& packet) const {
        return ports.endless || ports.credits[ports.slot(out, packet.lane, onward(out, packet))] >= packet.blocks();
    }
    void take_credits(Port out, const Packet& packet) {
        if (!ports.endless) ports.credits[ports.slot(out, packet.lane, onward(out, packet))] -= packet.blocks();
    }
    // The output has data and no credit for it.
    void begin_wait(Port out, std::int64_t now) {
        Output& output = ports.out[out];
        if (output.waiting()) return;
        output.wait_since = now;
        output.victim = true;
        if (!ports.marking.empty()) ports.update_congestion(out, now);
    }
    // A packet is about to go.
    void end_wait(Port out, std::int64_t now) {
        Output& output = ports.out[out];
        if (output.waiting()) {
            output.waited += now - output.wait_since;
            output.wait_since = at_no_time;
        } else {
            output.victim = false;
        }
    }
    void wake(Worker& worker, Port out, std::int64_t moment) {
        Output& output = ports.out[out];
        if (output.wake_at <= moment) return;
        output.wake_at = moment;
        worker.remind(out, moment, What::wake, {});
    }
};

}  // namespace loom::sim::packet
