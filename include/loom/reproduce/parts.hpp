// What the reproductions stand on, one function each, so that a test can put a broken one in its place.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "loom/congestion/bisection.hpp"
#include "loom/congestion/contention.hpp"
#include "loom/congestion/forwarding.hpp"
#include "loom/congestion/mapping.hpp"
#include "loom/fabric/presets.hpp"
#include "loom/manager/dcms.hpp"
#include "loom/model/walk.hpp"
#include "loom/routing/engine.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::reproduce {

// A ping-pong of two ranks of dCUDA's CPU device.
struct DevicePing {
    enum class Path : std::uint8_t { device, peer, remote };  // the same device, another of this node, of another node
    Path path = Path::device;
    bool two_messages = false;  // a put as over MPI; else one RDMA write with an immediate
    std::uint64_t bytes = 4;    // 0: notifications alone
    double bus_us = 0;          // delays that are put in: a write between device and host
    double direct_us = 0;       // the adapter's access to device memory
    double wire_us = 0;         // of a remote node
    double rate = 0;            // bytes a second between adapter and device memory; 0: no limit
    std::uint32_t rounds = 1000;
};

// A ping-pong between host and device through two flags or queues.
struct DeviceQueue {
    bool ping_on_device = false;  // where the host's writes go
    bool pong_on_device = false;  // where the device's go
    bool queue = true;            // else a flag
    double bus_us = 0;
};

struct Parts {
    std::function<fabric::Fabric(const fabric::TreePreset&)> tree;
    std::function<fabric::Fabric(const fabric::Clos&)> clos;
    std::function<fabric::Fabric(const fabric::Pgft&)> pgft;
    std::function<routing::Routing(std::string_view engine, const routing::SwitchGraph&, const routing::RouteOptions&)>
        route;
    std::function<congestion::Contention(const congestion::Routes&, const traffic::Pattern&,
                                         const congestion::ContentionOptions&)>
        contention;
    std::function<congestion::ForwardingIndex(const congestion::Routes&, unsigned threads)> forwarding_index;
    std::function<congestion::Bisection(const congestion::Routes&, const congestion::BisectionOptions&)> bisection;
    std::function<congestion::Remapping(const congestion::Routes&, const traffic::Pattern&,
                                        const congestion::MapOptions&)>
        remap;
    std::function<congestion::MapMetrics(const congestion::Routes&, const traffic::Pattern&,
                                         std::span<const std::uint32_t>, congestion::Duplex)>
        measure_mapping;
    // A test switches mechanisms off by changing the options on their way in.
    std::function<std::unique_ptr<sim::Simulation>(sim::Level, const sim::Network&, const traffic::Schedule&,
                                                   const sim::Options&)>
        simulation;
    // As manager::run_manager; a test changes the settings on their way in.
    std::function<manager::Work(const fabric::Fabric&, fabric::CounterSource&, fabric::CongestionParameters&,
                                fabric::Clock&, const manager::Settings&, const manager::OnDecision&)>
        manage;
    // The whole dissemination barrier with so many ways.
    std::function<traffic::Schedule(std::uint32_t ranks, std::uint32_t ways)> barrier;
    std::function<model::Prediction(const traffic::Schedule&, const model::Charges&)> walk;
    // By place in the chain of the multicast broadcast, when a share of the datagrams is lost.
    std::function<std::vector<double>(double lost, std::uint32_t ranks, std::uint32_t broadcasts)> penalty_rounds;
    // Microseconds of half a round trip, the least of many batches; null where the room device is left out.
    std::function<double(const DevicePing&)> device_ping;
    // Microseconds of a round trip.
    std::function<double(const DeviceQueue&)> device_queue;
};

// Loomband's own.
[[nodiscard]] Parts standard_parts();

}  // namespace loom::reproduce
