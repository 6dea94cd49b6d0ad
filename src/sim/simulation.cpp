#include "loom/sim/simulation.hpp"

#include "loom/base/error.hpp"
#include "sim/engines.hpp"
#include "sim/paths.hpp"

namespace loom::sim {

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

std::unique_ptr<LiveSimulation> make_live_simulation(Level level, const Network&, std::uint32_t ranks,
                                                     Programs& programs, const Options& options) {
    if (level == Level::message) return make_live_message_simulation(ranks, programs, options);
    throw Error("programs can be simulated at the message level only");
}

}  // namespace loom::sim
