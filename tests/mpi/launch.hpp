// How the tests start MPI programs.
#pragma once

#include <string>

namespace loom::test {

// `env` sets variables for the program alone, the launcher being an MPI program too.
inline std::string mpirun(const std::string& mpi, int ranks) {
    const std::string start = mpi == "openmpi" ? "mpirun.openmpi --allow-run-as-root --oversubscribe" : "mpirun.mpich";
    return "timeout 100 " + start + " -n " + std::to_string(ranks) + " ";
}

// Memory that the MPI libraries keep is not ours to find.
inline constexpr const char* without_leaks = "env ASAN_OPTIONS=detect_leaks=0 ";

inline std::string with_library(const std::string& mpi, const std::string& report) {
    return without_leaks + std::string("LD_PRELOAD=" LOOM_SANITIZER_FIRST LOOM_LIBRARIES "/libloom-mpi-") + mpi +
           ".so LOOM_MPI_REPORT=" + report + " ";
}

}  // namespace loom::test
