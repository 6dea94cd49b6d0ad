// The engine of programs that run.
#include "sim/engines.hpp"
#include "sim/packet/engine_of.hpp"

namespace loom::sim::packet {

template class EngineOf<LiveProgram>;

}  // namespace loom::sim::packet

namespace loom::sim {

std::unique_ptr<LiveSimulation> make_live_packet_simulation(const Network& network, std::uint32_t ranks,
                                                            Programs& programs, const Options& options) {
    return std::make_unique<packet::LiveEngine>(network, LiveProgram::Source{ranks, &programs},
                                                packet::with_useful_threads(options, ranks));
}

}  // namespace loom::sim
