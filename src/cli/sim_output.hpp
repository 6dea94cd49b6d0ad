// How a simulation's results are told.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"
#include "loom/sim/show.hpp"
#include "loom/sim/suffering.hpp"

namespace loom::cli {

// What is shown of a run: all flows where they are few, else the slowest.
struct SimResult {
    const sim::Setup& setup;
    const sim::Recording& recording;
    std::vector<std::size_t> slowest;
    std::vector<sim::PortLoad> hottest;
    std::vector<sim::Sufferer> sufferers;
};

void print_sim(const SimResult& result);
[[nodiscard]] nlohmann::ordered_json sim_json(const SimResult& result);
// "2,400 events and 1,200 packets in 0.01 s, 240,000 events a second".
[[nodiscard]] std::string sim_speed(const sim::Recording& recording);

}  // namespace loom::cli
