// All known answers as a program, for this library and others: rank 0 prints which held.
#include <cstdio>
#include <exception>

#include "twin_mpi/answers/cases.hpp"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (const answers::Case& each : answers::all_cases()) {
        try {
            each.run();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", each.name, error.what());
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (answers::rank() == 0) std::printf("%s: %d ranks agree\n", each.name, answers::size());
    }
    MPI_Finalize();
    return 0;
}
