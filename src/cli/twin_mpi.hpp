// loom twin with MPI programs: compiled for ranks in one process, and run there.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "loom/twin/run.hpp"

namespace loom::cli {

void add_twin_cc(CLI::App& twin, int& exit_code);

struct TwinMpi {
    bool on = false;
    std::string stack = "1MiB";
};
void add_twin_mpi_options(CLI::App& run, TwinMpi& options);

struct TwinMpiPlayed {
    twin::Result result;
    int exit_code = 0;
    double seconds = 0;  // of the machine
};
// Beside its result, says on standard error what ended the job early. `output_on_error`: what the ranks print goes
// there too.
[[nodiscard]] TwinMpiPlayed play_mpi(const TwinMpi& mpi, twin::Options options, const std::vector<std::string>& program,
                                     bool output_on_error, const std::function<void(sim::Simulation&)>& look_at);

}  // namespace loom::cli
