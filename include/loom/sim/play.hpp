// Plays a simulation to its end and records it, with somebody at the controls or without.
#pragma once

#include <functional>
#include <optional>

#include "loom/fabric/living.hpp"
#include "loom/sim/record.hpp"

namespace loom::sim {

// Looks at the fabric while it runs and sets its marking rates, as a congestion manager does. Its clock plays the
// fabric on; what is left when it returns is played without it.
using Control = std::function<void(fabric::CounterSource&, fabric::CongestionParameters&, fabric::Clock&)>;

struct PlayOptions {
    RecordOptions record = {};
    std::optional<Time> until = {};  // nothing: while anything happens
    Control control = {};            // not called where there is no congestion control, or it is off
    Time control_from = {};
};

[[nodiscard]] Recording play(Simulation& simulation, const PlayOptions& options);

}  // namespace loom::sim
