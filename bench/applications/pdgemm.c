/* PBLAS: C = A B with pdgemm, n x n, blocks nb, 2 x 2 grid, `times` times. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
void Cblacs_get(int, int, int*);
void Cblacs_gridinit(int*, const char*, int, int);
void Cblacs_gridinfo(int, int*, int*, int*, int*);
void Cblacs_gridexit(int);
int numroc_(int*, int*, int*, int*, int*);
void descinit_(int*, int*, int*, int*, int*, int*, int*, int*, int*, int*);
void pdgemm_(char*, char*, int*, int*, int*, double*, double*, int*, int*, int*, double*, int*, int*, int*, double*,
             double*, int*, int*, int*);
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 1500, times = argc > 2 ? atoi(argv[2]) : 10, nb = argc > 3 ? atoi(argv[3]) : 64;
    int rank, ctx, P = 2, Q = 2, p, q, zero = 0, one = 1, info;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Cblacs_get(-1, 0, &ctx);
    Cblacs_gridinit(&ctx, "Row", P, Q);
    Cblacs_gridinfo(ctx, &P, &Q, &p, &q);
    int rows = numroc_(&n, &nb, &p, &zero, &P), cols = numroc_(&n, &nb, &q, &zero, &Q), desc[9];
    descinit_(desc, &n, &n, &nb, &nb, &zero, &zero, &ctx, &rows, &info);
    size_t size = (size_t)rows * cols;
    double *a = malloc(8 * size), *b = malloc(8 * size), *c = malloc(8 * size), al = 1, be = 0, worst = 0, all;
    for (size_t i = 0; i < size; ++i) a[i] = 1, b[i] = 0.5, c[i] = 0; /* every element of C is n/2 */
    pdgemm_("N", "N", &n, &n, &n, &al, a, &one, &one, desc, b, &one, &one, desc, &be, c, &one, &one, desc);
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    for (int k = 0; k < times; ++k)
        pdgemm_("N", "N", &n, &n, &n, &al, a, &one, &one, desc, b, &one, &one, desc, &be, c, &one, &one, desc);
    MPI_Barrier(MPI_COMM_WORLD);
    t = MPI_Wtime() - t;
    for (size_t i = 0; i < size; ++i) worst = fmax(worst, fabs(c[i] - n / 2.0));
    MPI_Reduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pdgemm n=%d nb=%d times=%d time=%.4f s Gflops=%.3f error=%.2e %s\n", n, nb, times, t,
               2.0 * n * n * n * times / t * 1e-9, all, all < 1e-8 ? "correct" : "WRONG");
    Cblacs_gridexit(ctx);
    MPI_Finalize();
    return 0;
}
