// A scenario played with a manager, or without one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loom/manager/dcms.hpp"
#include "loom/sim/play.hpp"
#include "loom/sim/setup.hpp"

namespace loom::report {

// What the scenario's `manager` lines say, on top of the defaults; marking rates go back to what the scenario gives its
// switches. Throws ParseError with the line.
[[nodiscard]] manager::Settings scenario_settings(const sim::Setup& setup);

struct ManagedRun {
    std::string policy;  // "none" where nobody managed
    std::unique_ptr<sim::Simulation> simulation;
    sim::Recording recording;
    manager::Work work;
    std::vector<manager::Decision> decisions;

    // The traffic deadlocked or is stuck.
    [[nodiscard]] bool failed() const;
};

// Plays to the scenario's end. Without settings nobody manages. `decided` is told as it happens.
[[nodiscard]] ManagedRun play_managed(const sim::Setup& setup, const std::optional<manager::Settings>& settings,
                                      const sim::RecordOptions& how, const manager::OnDecision& decided = {});

}  // namespace loom::report
