// A live simulation with background traffic in it: its caller sees its own ranks alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "loom/sim/live.hpp"
#include "loom/twin/background.hpp"

namespace loom::twin {

// Inside, the flows' ranks follow those of `programs`; flows() and counters() have all of them. It ends when the
// ranks of `programs` have ended, and is stuck when they wait and nothing of theirs is under way, though flows may go
// on: this is looked for every 10 us, so that some traffic is played beyond the end. Throws UsageError for flows that
// make no sense.
[[nodiscard]] std::unique_ptr<sim::LiveSimulation> make_simulation_with(std::span<const BackgroundFlow> background,
                                                                        sim::Level level, sim::Network network,
                                                                        std::uint32_t ranks, sim::Programs& programs,
                                                                        const sim::Options& options);

}  // namespace loom::twin
