// Runs functions as ranks of an MPI program.
#pragma once

#include <mpi.h>

#include <functional>

#include "loom/twin_mpi/run.hpp"

namespace loom::twin_mpi {

inline twin::Options ranks(std::uint32_t count) {
    twin::Options options;
    options.ranks = count;
    options.stack_bytes = 256 << 10;
    return options;
}

// Between MPI_Init and MPI_Finalize.
inline Outcome play(const twin::Options& options, const std::function<void()>& body) {
    return run(options, [&] {
        MPI_Init(nullptr, nullptr);
        body();
        MPI_Finalize();
        return 0;
    });
}

inline int my_rank() {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

}  // namespace loom::twin_mpi
