// The engines behind make_simulation, which has checked that network and schedule belong together, and behind
// make_live_simulation.
#pragma once

#include <cstdint>
#include <memory>

#include "loom/sim/live.hpp"
#include "loom/sim/simulation.hpp"

namespace loom::sim {

[[nodiscard]] std::unique_ptr<Simulation> make_packet_simulation(const Network& network,
                                                                 const traffic::Schedule& schedule,
                                                                 const Options& options);
[[nodiscard]] std::unique_ptr<Simulation> make_flow_simulation(const Network& network,
                                                               const traffic::Schedule& schedule,
                                                               const Options& options);
[[nodiscard]] std::unique_ptr<Simulation> make_message_simulation(const traffic::Schedule& schedule,
                                                                  const Options& options);
[[nodiscard]] std::unique_ptr<LiveSimulation> make_live_message_simulation(std::uint32_t ranks, Programs& programs,
                                                                           const Options& options);

}  // namespace loom::sim
