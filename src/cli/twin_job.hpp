// What a job in virtual time runs on: a fabric and its tables, or a scenario with all that happens there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "loom/manager/settings.hpp"
#include "loom/routing/routed.hpp"
#include "loom/sim/setup.hpp"
#include "loom/twin/run.hpp"

namespace loom::cli {

// As the command line says.
struct TwinSources {
    std::string scenario;
    std::vector<std::string> lines;  // of a scenario, on top of the file
    std::string fabric, tables, engine, place, hosts, level, look = "50ns";
    std::uint64_t seed = 1;
    std::uint32_t ranks = 0;     // 0: one, or as many as the scenario has places for
    std::uint32_t per_host = 0;  // 0: as few as fit
    bool manage = false;
    std::uint64_t disturb = 0;
    std::string longest_delay;
};

void add_twin_sources(CLI::App& app, TwinSources& sources);

// Stays where it is while the job runs.
struct TwinJob {
    TwinJob() = default;
    TwinJob(const TwinJob&) = delete;
    TwinJob& operator=(const TwinJob&) = delete;

    twin::Options run;
    std::unique_ptr<sim::Setup> setup;          // of a scenario
    routing::RoutedFabric routed;               // without one
    std::optional<manager::Settings> settings;  // of the congestion manager, where there is one
    std::vector<std::string> decisions;         // of it, a line each; of the last run

    [[nodiscard]] const routing::RoutedFabric& fabric() const { return setup ? *setup : routed; }
};

void set_up(TwinJob& job, const TwinSources& sources, const Common& common);

}  // namespace loom::cli
