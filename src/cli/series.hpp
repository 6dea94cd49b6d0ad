// What loom sim and loom manage write about a run in time: options, files, and what has to be sampled for them.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "loom/sim/record.hpp"
#include "loom/sim/setup.hpp"

namespace loom::cli {

struct SeriesFiles {
    std::vector<std::string> watch;  // NODE:PORT
    std::string csv_flows, csv_ports, plot, plot_ports;

    [[nodiscard]] bool any_file() const;
    [[nodiscard]] bool on_stdout() const;
};

void add_series_options(CLI::App& app, SeriesFiles& files, const char* group);

// Throws UsageError for names of other kinds of files and when standard output is asked for twice.
void check_series(const SeriesFiles& files, const Common& common);

// Adds the ports of --watch to the scenario.
void watch_ports(sim::Scenario& scenario, const SeriesFiles& files);

// Ports, flows and interval to sample. Without watched ports the tables and pictures of ports are about the connected
// ports of switches; throws UsageError where those are too many.
[[nodiscard]] sim::RecordOptions record_options(const sim::Setup& setup, const SeriesFiles& files);

void write_series(const sim::Setup& setup, const sim::Recording& recording, const SeriesFiles& files);

}  // namespace loom::cli
