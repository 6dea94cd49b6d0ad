// Reductions to rank 0 whose last rank comes late each time, so that the others' messages come early.
//   loom_late_openmpi STEPS MICROSECONDS
// Rank 0 prints its largest memory in KiB and the mean time of a step in microseconds.
#include <mpi.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
    using Clock = std::chrono::steady_clock;
    MPI_Init(&argc, &argv);
    const long steps = argc > 2 ? std::atol(argv[1]) : 0;
    const auto late = std::chrono::microseconds(argc > 2 ? std::atol(argv[2]) : 0);
    if (steps <= 0) {
        std::fputs("usage: loom_late_openmpi STEPS MICROSECONDS\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<double> in(1024, 1.0), out(1024);

    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = Clock::now();
    for (long step = 0; step < steps; ++step) {
        if (rank == ranks - 1)
            for (const auto until = Clock::now() + late; Clock::now() < until;) {
            }
        MPI_Reduce(in.data(), out.data(), 1024, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0 && out[0] != ranks) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    if (rank == 0) std::printf("%ld %.3f\n", used.ru_maxrss, seconds * 1e6 / static_cast<double>(steps));
    MPI_Finalize();
    return 0;
}
