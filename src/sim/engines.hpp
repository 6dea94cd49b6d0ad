// The engines behind make_simulation and make_live_simulation, which have checked that network and schedule belong
// together.
#pragma once

#include <memory>

#include "loom/sim/live.hpp"

namespace loom::sim {

[[nodiscard]] std::unique_ptr<Simulation> make_packet_simulation(const Network& network,
                                                                 const traffic::Schedule& schedule,
                                                                 const Options& options);
[[nodiscard]] std::unique_ptr<Simulation> make_flow_simulation(const Network& network,
                                                               const traffic::Schedule& schedule,
                                                               const Options& options);
[[nodiscard]] std::unique_ptr<Simulation> make_message_simulation(const traffic::Schedule& schedule,
                                                                  const Options& options);

[[nodiscard]] std::unique_ptr<LiveSimulation> make_live_packet_simulation(const Network& network, std::uint32_t ranks,
                                                                          Programs& programs, const Options& options);
[[nodiscard]] std::unique_ptr<LiveSimulation> make_live_flow_simulation(const Network& network, std::uint32_t ranks,
                                                                        Programs& programs, const Options& options);
[[nodiscard]] std::unique_ptr<LiveSimulation> make_live_message_simulation(std::uint32_t ranks, Programs& programs,
                                                                           const Options& options);

}  // namespace loom::sim
