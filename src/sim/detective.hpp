// Why a flow was slower than it could be: read from the ports' counters along the routes. Evidence, not proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "loom/sim/suffering.hpp"

namespace loom::sim {

class Detective {
public:
    // What a port's waiting is measured by.
    enum class Measure : std::uint8_t {
        lifetime,  // the flow's, from its beginning to its end: for traffic that always has something to send
        activity,  // the time in which the port had something to send: for messages that come and go
    };
    // All must outlive it. Cost: a walk for each flow.
    Detective(const fabric::Fabric& fabric, const Network& network, const PacketOptions& options,
              const Simulation& simulation, const std::vector<Flow>& flows, Measure measure);

    struct Finding {
        Cause cause = Cause::unclear;
        PortIndex waits_at = no_port;
        double waited = 0;
        PortIndex full = no_port;
    };
    [[nodiscard]] Finding explain(std::size_t flow) const;
    // Flows that cross both ports, `first` before `then`.
    [[nodiscard]] std::vector<std::size_t> through(PortIndex first, PortIndex then) const;
    [[nodiscard]] Time waited(PortIndex port) const;

private:
    struct Use {
        std::size_t flow;
        std::size_t hop;
    };

    [[nodiscard]] double waited(PortIndex port, Time span) const;
    [[nodiscard]] double busy(PortIndex port) const;
    [[nodiscard]] bool can_fill(PortIndex port) const;
    [[nodiscard]] double suspicion(PortIndex port, Time span) const;
    [[nodiscard]] bool notified(PortIndex host) const { return simulation_.counters(host).rcv_becn != 0; }
    [[nodiscard]] double megabits(PortIndex port) const;
    [[nodiscard]] double seconds_of_sending(PortIndex port) const;

    const fabric::Fabric& fabric_;
    const PacketOptions& options_;
    const Simulation& simulation_;
    const std::vector<Flow>& flows_;
    Measure measure_;
    std::vector<std::vector<PortIndex>> paths_;                  // by flow
    std::unordered_map<std::uint32_t, std::vector<Use>> users_;  // by port
};

}  // namespace loom::sim
