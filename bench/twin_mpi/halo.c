/* Heat on a plate that is divided among the ranks, until it changes little: halo [SIDE] [MOST STEPS]. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int side;
static double *now, *next;

static double* at(double* plate, int row, int column) {
    return &plate[row * (side + 2) + column];
}

static double relax(void) {
    double change = 0;
    for (int row = 1; row <= side; ++row)
        for (int column = 1; column <= side; ++column) {
            const double value = 0.5 * *at(now, row, column) +
                                 0.125 * (*at(now, row - 1, column) + *at(now, row + 1, column) +
                                          *at(now, row, column - 1) + *at(now, row, column + 1));
            change = fmax(change, fabs(value - *at(now, row, column)));
            *at(next, row, column) = value;
        }
    double* const swap = now;
    now = next;
    next = swap;
    return change;
}

int main(int argc, char** argv) {
    int rank, size, dims[2] = {0, 0}, periods[2] = {1, 1}, up, down, left, right;
    MPI_Comm grid;
    MPI_Datatype column;
    MPI_Init(&argc, &argv);
    side = argc > 1 ? atoi(argv[1]) : 16;
    const int most = argc > 2 ? atoi(argv[2]) : 100;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    MPI_Type_vector(side, 1, side + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    now = calloc((size_t)((side + 2) * (side + 2)), sizeof(double));
    next = calloc((size_t)((side + 2) * (side + 2)), sizeof(double));
    if (rank == 0) *at(now, 1, 1) = 1000;
    double change = 1000;
    int step = 0;
    const double begin = MPI_Wtime();
    for (; change > 1 && step < most; ++step) {
        MPI_Request requests[8];
        MPI_Irecv(at(now, 0, 1), side, MPI_DOUBLE, up, 0, grid, &requests[0]);
        MPI_Irecv(at(now, side + 1, 1), side, MPI_DOUBLE, down, 1, grid, &requests[1]);
        MPI_Irecv(at(now, 1, 0), 1, column, left, 2, grid, &requests[2]);
        MPI_Irecv(at(now, 1, side + 1), 1, column, right, 3, grid, &requests[3]);
        MPI_Isend(at(now, side, 1), side, MPI_DOUBLE, down, 0, grid, &requests[4]);
        MPI_Isend(at(now, 1, 1), side, MPI_DOUBLE, up, 1, grid, &requests[5]);
        MPI_Isend(at(now, 1, side), 1, column, right, 2, grid, &requests[6]);
        MPI_Isend(at(now, 1, 1), 1, column, left, 3, grid, &requests[7]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
        const double mine = relax();
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
    }
    const double end = MPI_Wtime();
    double heat = 0, all = 0;
    for (int i = 1; i <= side; ++i)
        for (int j = 1; j <= side; ++j) heat += *at(now, i, j);
    MPI_Reduce(&heat, &all, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
    const int wrong = rank == 0 && fabs(all - 1000) > 1e-6;
    if (rank == 0) printf("%s %.9f after %d steps\n", wrong ? "wrong" : "right", end - begin, step);
    MPI_Type_free(&column);
    MPI_Comm_free(&grid);
    free(now);
    free(next);
    MPI_Finalize();
    return wrong;
}
