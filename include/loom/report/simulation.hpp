// The sections of a page that tell what a simulation saw, and what a manager made of it.
#pragma once

#include <span>

#include "loom/manager/dcms.hpp"
#include "loom/report/page.hpp"
#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"
#include "loom/sim/show.hpp"
#include "loom/sim/suffering.hpp"

namespace loom::report {

struct Played {
    const sim::Setup& setup;
    const sim::Recording& recording;
    std::span<const sim::PortLoad> hottest;
    std::span<const sim::Sufferer> sufferers;
};

// Who suffered and why, which level was used and how it ended, throughput over time, what the watched ports sent and
// how long they waited, a table of flows (the slowest where they are many) and of the hottest ports. Names are escaped.
[[nodiscard]] Section simulation_section(const Played& played);

// The same scenario with a manager.
struct Managed {
    const sim::Recording& recording;
    std::span<const sim::Sufferer> sufferers;
    const manager::Settings& settings;
    const manager::Work& work;
    std::span<const manager::Decision> decisions;
};

// Throughput without and with the manager side by side, each flow in both, and what was decided and why (the first 500
// decisions).
[[nodiscard]] Section management_section(const Played& alone, const Managed& managed);

}  // namespace loom::report
