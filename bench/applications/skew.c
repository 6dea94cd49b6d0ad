/* Why figures of HPCC's MPIFFT and PTRANS jump where ranks share cores: rank 0 takes the time of an alltoall that
   follows work of MICROSECONDS without a barrier, as HPCC does. Which ranks had the cores first decides what it sees.
     mpicc.openmpi -O1 skew.c -o skew; mpirun.openmpi --oversubscribe -n 4 skew MICROSECONDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 41, BLOCK = 65536 };

static int compare(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int ranks, me, zero = 0, sum;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const double work = (argc > 1 ? atof(argv[1]) : 400) * 1e-6;
    char *in = calloc(ranks, BLOCK), *out = calloc(ranks, BLOCK);
    double times[ROUNDS];
    memset(in, 1, (size_t)ranks * BLOCK);
    memset(out, 1, (size_t)ranks * BLOCK);
    volatile double done = 0;
    double turns = 1e5, begin = MPI_Wtime(); /* how many take as long as the work */
    for (int k = 0; k < turns; ++k) done += k;
    turns *= work / (MPI_Wtime() - begin);
    for (int i = 0; i < ROUNDS; ++i) {
        MPI_Allreduce(&zero, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int k = 0; k < turns; ++k) done += k;
        begin = MPI_Wtime();
        MPI_Alltoall(in, BLOCK, MPI_CHAR, out, BLOCK, MPI_CHAR, MPI_COMM_WORLD);
        times[i] = (MPI_Wtime() - begin) * 1e6;
    }
    qsort(times, ROUNDS, sizeof *times, compare);
    for (int rank = 0; rank < ranks; ++rank) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == me)
            printf("rank %d: a tenth below %.0f us, half below %.0f, nine tenths below %.0f\n", me, times[ROUNDS / 10],
                   times[ROUNDS / 2], times[ROUNDS * 9 / 10]);
    }
    MPI_Finalize();
    return 0;
}
