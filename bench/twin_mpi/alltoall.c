/* Everybody to everybody: alltoall [BYTES] [ROUNDS]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int count = (argc > 1 ? atoi(argv[1]) : 1024) / 4, rounds = argc > 2 ? atoi(argv[2]) : 4;
    int* out = malloc(sizeof(int) * (size_t)(count * size));
    int* in = malloc(sizeof(int) * (size_t)(count * size));
    for (int i = 0; i < count * size; ++i) out[i] = 1000 * rank + i / count;
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round)
        MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    const double end = MPI_Wtime();
    for (int i = 0; i < count * size; ++i) wrong |= in[i] != 1000 * (i / count) + rank;
    if (rank == 0) printf("%s %.9f\n", wrong ? "wrong" : "right", end - begin);
    free(in);
    free(out);
    MPI_Finalize();
    return wrong;
}
