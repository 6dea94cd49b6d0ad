// mpi_workout [SEED]: a small parallel program whose results are known, to see that an MPI library on the software HCA
// computes what it should. Rank 0 prints one JSON line; the exit status is 0 when every rank found everything right.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "hca/mpi/workout.hpp"

int main(int argc, char** argv) {
    using namespace loom::workout;
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    try {
        const auto bytes = ring(seed);
        const auto iterations = conjugate_gradients(96);
        const auto sorted = sample_sort(50000, seed);
        const auto operations = windows(seed);
        if (rank == 0)
            fmt::print(
                "{{\"ranks\": {}, \"ring_bytes\": {}, \"iterations\": {}, \"sorted\": {}, \"window_operations\": "
                "{}}}\n",
                ranks, bytes, iterations, sorted, operations);
    } catch (const std::exception& error) {
        fmt::print(stderr, "mpi_workout: rank {}: {}\n", rank, error.what());
        std::fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
