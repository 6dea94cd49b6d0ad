// Runs MPI programs in virtual time: all ranks in this process, on the simulated fabric of twin::run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "loom/twin/run.hpp"

namespace loom::twin_mpi {

// What `loom twin cc` made: a shared object with a main() and the names of loom/twin_mpi/mpi.h left open.
struct Program {
    std::filesystem::path file;
    std::vector<std::string> arguments;  // without the program's name
};

struct Outcome {
    twin::Result result;
    int exit_code = 0;  // of the first rank, by number, whose is not 0; that of MPI_Abort
    // What ended the job before its end, in words: "rank 3: MPI_Recv: ...". Empty when nothing did.
    std::string failure;
};

// Loads the program once for each rank, so that its globals, and thread_local variables, are the rank's own. The stack
// of a rank is Options::stack_bytes. A call that MPI calls erroneous, a rank that ends without MPI_Finalize and
// MPI_Abort end the job. Its clocks and sleeps are virtual as Processes' are (loom/twin/processes.hpp). Throws
// UsageError for a file that is no such program, and names what it needs that is not there. Cost: besides twin::run's,
// a load of some 100 us and the loaded part of the file for each rank.
[[nodiscard]] Outcome run(const twin::Options& options, const Program& program,
                          const std::function<void(sim::Simulation&)>& look_at = {});

// The same with a function as each rank's main(): for tests. Globals are shared then.
[[nodiscard]] Outcome run(const twin::Options& options, const std::function<int()>& main_of_rank,
                          const std::function<void(sim::Simulation&)>& look_at = {});

}  // namespace loom::twin_mpi
