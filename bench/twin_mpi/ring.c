/* Everybody passes a message to the next: ring [BYTES] [ROUNDS]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int bytes = argc > 1 ? atoi(argv[1]) : 4096, rounds = argc > 2 ? atoi(argv[2]) : 256;
    char* out = malloc((size_t)bytes);
    char* in = malloc((size_t)bytes);
    memset(out, rank & 127, (size_t)bytes);
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) {
        char* swap;
        MPI_Sendrecv(out, bytes, MPI_CHAR, (rank + 1) % size, 0, in, bytes, MPI_CHAR, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        swap = in;
        in = out;
        out = swap;
    }
    const double end = MPI_Wtime();
    const int from = ((rank - rounds) % size + size) % size;
    const int wrong = out[bytes - 1] != (from & 127);
    if (rank == 0) printf("%s %.9f\n", wrong ? "wrong" : "right", end - begin);
    free(in);
    free(out);
    MPI_Finalize();
    return wrong;
}
