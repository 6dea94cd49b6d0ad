/* ScaLAPACK: LU with pivoting (pdgetrf), n x n, blocks nb, 2 x 2 grid, `times` times; solution checked by pdgetrs. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void Cblacs_get(int, int, int*);
void Cblacs_gridinit(int*, const char*, int, int);
void Cblacs_gridinfo(int, int*, int*, int*, int*);
void Cblacs_gridexit(int);
int numroc_(int*, int*, int*, int*, int*);
void descinit_(int*, int*, int*, int*, int*, int*, int*, int*, int*, int*);
void pdgetrf_(int*, int*, double*, int*, int*, int*, int*, int*);
void pdgetrs_(char*, int*, int*, double*, int*, int*, int*, int*, double*, int*, int*, int*, int*);
void pdgemm_(char*, char*, int*, int*, int*, double*, double*, int*, int*, int*, double*, int*, int*, int*, double*,
             double*, int*, int*, int*);
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 2000, times = argc > 2 ? atoi(argv[2]) : 5, nb = argc > 3 ? atoi(argv[3]) : 64;
    int rank, ctx, P = 2, Q = 2, p, q, zero = 0, one = 1, info, got = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Cblacs_get(-1, 0, &ctx);
    Cblacs_gridinit(&ctx, "Row", P, Q);
    Cblacs_gridinfo(ctx, &P, &Q, &p, &q);
    int rows = numroc_(&n, &nb, &p, &zero, &P), cols = numroc_(&n, &nb, &q, &zero, &Q),
        bcols = numroc_(&one, &nb, &q, &zero, &Q), desc[9], bdesc[9];
    descinit_(desc, &n, &n, &nb, &nb, &zero, &zero, &ctx, &rows, &info);
    descinit_(bdesc, &n, &one, &nb, &nb, &zero, &zero, &ctx, &rows, &info);
    size_t size = (size_t)rows * cols;
    double *a = malloc(8 * size), *lu = malloc(8 * size), *ones = malloc(8 * (size_t)rows), *b = calloc(rows, 8),
           al = 1, be = 0, t = 0, worst = 0, all;
    int* pivots = malloc(sizeof(int) * (rows + nb));
    unsigned long long s = 88172645463325252ull + 7919ull * rank;
    for (size_t i = 0; i < size; ++i) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        a[i] = (double)(s >> 11) / 9007199254740992.0 - 0.5;
    }
    for (int i = 0; i < rows; ++i) ones[i] = 1;
    pdgemm_("N", "N", &n, &one, &n, &al, a, &one, &one, desc, ones, &one, &one, bdesc, &be, b, &one, &one,
            bdesc); /* b = A 1 */
    for (int k = 0; k < times; ++k) {
        memcpy(lu, a, 8 * size);
        MPI_Barrier(MPI_COMM_WORLD);
        t -= MPI_Wtime();
        pdgetrf_(&n, &n, lu, &one, &one, desc, pivots, &info);
        MPI_Barrier(MPI_COMM_WORLD);
        t += MPI_Wtime();
        got |= info;
    }
    pdgetrs_("N", &n, &one, lu, &one, &one, desc, pivots, b, &one, &one, bdesc, &info);
    if (bcols)
        for (int i = 0; i < rows; ++i) worst = fmax(worst, fabs(b[i] - 1));
    MPI_Reduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pdgetrf n=%d nb=%d times=%d time=%.4f s Gflops=%.3f error=%.2e %s\n", n, nb, times, t,
               2.0 / 3 * n * n * n * times / t * 1e-9, all, got == 0 && all < 1e-6 ? "correct" : "WRONG");
    Cblacs_gridexit(ctx);
    MPI_Finalize();
    return 0;
}
