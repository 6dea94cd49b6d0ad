/* Sums that overlap: iallreduce [BYTES] [ROUNDS]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int count = (argc > 1 ? atoi(argv[1]) : 8192) / 8, rounds = argc > 2 ? atoi(argv[2]) : 20;
    double* in = malloc(sizeof(double) * (size_t)count);
    double* out = malloc(2 * sizeof(double) * (size_t)count);
    int wrong = 0;
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) {
        MPI_Request requests[2];
        for (int i = 0; i < count; ++i) in[i] = rank + round;
        MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Iallreduce(in, out + count, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        wrong += out[count - 1] != size * (size - 1) / 2.0 + (double)round * size;
        wrong += out[count] != size - 1 + round;
    }
    const double end = MPI_Wtime();
    if (rank == 0) printf("%s %.9f\n", wrong ? "wrong" : "right", end - begin);
    free(in);
    free(out);
    MPI_Finalize();
    return wrong != 0;
}
