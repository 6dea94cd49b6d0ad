/* Borders between ranks of a grid, in plain MPI: `loom twin cc mpi_halo.c -o mpi_halo`, then
   `loom twin run -n 12 --mpi ./mpi_halo`. It compiles with any MPI. */
#include <mpi.h>
#include <stdio.h>

static double mean;  /* each rank has its own */

int main(int argc, char** argv) {
    int rank, size, dims[2] = {0, 0}, periods[2] = {1, 0}, near[4];
    MPI_Comm grid;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_shift(grid, 0, 1, &near[0], &near[1]);
    MPI_Cart_shift(grid, 1, 1, &near[2], &near[3]);
    mean = rank;
    double change = 1;
    int step = 0;
    for (; change > 0.01; ++step) {
        double in[4] = {mean, mean, mean, mean}, before = mean, mine;
        MPI_Request requests[8];
        for (int i = 0; i < 4; ++i) MPI_Irecv(&in[i], 1, MPI_DOUBLE, near[i], 0, grid, &requests[i]);
        for (int i = 0; i < 4; ++i) MPI_Isend(&before, 1, MPI_DOUBLE, near[i], 0, grid, &requests[4 + i]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        mean = 0.5 * before + 0.125 * (in[0] + in[1] + in[2] + in[3]);
        mine = mean > before ? mean - before : before - mean;
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
    }
    if (rank == 0) printf("%d x %d ranks: %d steps take %.1f us\n", dims[0], dims[1], step, MPI_Wtime() * 1e6);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
