// What collectives choose their algorithms by in a run: the costs that the simulation will charge, as far as a model
// without a fabric can say them.
#include <algorithm>

#include "loom/model/parameters.hpp"
#include "loom/routing/switch_graph.hpp"
#include "twin/endpoint.hpp"
#include "twin/job.hpp"

namespace loom::twin {

namespace {

// A message between hosts of a tree as the packet level plays it without contention: no core is busy with it, and it
// passes three switches in the mean.
model::LogGops of_fabric(const Options& options) {
    constexpr std::int64_t switches = 3;
    const sim::PacketOptions& packet = options.simulation.packet;
    std::uint32_t megabits = 0;
    const fabric::Fabric& fabric = options.network.graph->fabric();
    for (const PortIndex host : options.network.placement.hosts)
        megabits = std::max(megabits, fabric.port(host).rate.megabits());
    if (megabits == 0) megabits = 32'000;
    model::LogGops parameters;
    parameters.L = packet.host_delay * 2 + packet.cable_delay * (switches + 1) + packet.switch_delay * switches;
    parameters.o = Time{};
    parameters.g = Time{};
    parameters.G = 8'000'000 / megabits;
    parameters.S = UINT64_MAX;
    return parameters;
}

}  // namespace

std::string parameters_text(const Options& options) {
    const sim::LocalCosts& costs = options.simulation.local;
    const model::LogGops parameters =
        options.level == sim::Level::message ? options.simulation.message.parameters : of_fabric(options);
    return model::to_text(model::charges(parameters, {costs.copy, costs.reduce}));
}

}  // namespace loom::twin
