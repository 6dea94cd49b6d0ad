#include "loom/sim/simulation.hpp"

#include <algorithm>

#include "loom/base/error.hpp"
#include "sim/engines.hpp"
#include "sim/paths.hpp"

namespace loom::sim {

std::uint64_t count_packets(const traffic::Schedule& schedule, const fabric::Placement& placement, std::uint32_t mtu) {
    std::uint64_t packets = 0;
    for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank)
        for (const traffic::Op& op : schedule.ops(Rank{rank}))
            if (op.kind == traffic::OpKind::send && placement.hosts[rank] != placement.hosts[op.peer.value])
                packets += std::max<std::uint64_t>(1, (op.amount + mtu - 1) / mtu);
    return packets;
}

std::unique_ptr<Simulation> make_simulation(Level level, const Network& network, const traffic::Schedule& schedule,
                                            const Options& options) {
    switch (level) {
        case Level::packet:
            check_network(network, schedule, options.packet.lids, Answers::back);
            return make_packet_simulation(network, schedule, options);
        case Level::flow:
            check_network(network, schedule, options.flow.lids, Answers::none);
            return make_flow_simulation(network, schedule, options);
        case Level::message:
            return make_message_simulation(schedule, options);
    }
    throw UsageError("no such level");
}

void LiveSimulation::fail(std::span<const PortIndex>) {
    throw UsageError("nothing can fail at level " + std::string(to_string(level())));
}

void LiveSimulation::use_tables(const routing::Tables&) {
    throw UsageError("there are no tables at level " + std::string(to_string(level())));
}

std::unique_ptr<LiveSimulation> make_live_simulation(Level level, const Network& network, std::uint32_t ranks,
                                                     Programs& programs, const Options& options) {
    switch (level) {
        case Level::packet:
            check_network(network, ranks);
            return make_live_packet_simulation(network, ranks, programs, options);
        case Level::flow:
            check_network(network, ranks);
            return make_live_flow_simulation(network, ranks, programs, options);
        case Level::message:
            return make_live_message_simulation(ranks, programs, options);
    }
    throw UsageError("no such level");
}

}  // namespace loom::sim
