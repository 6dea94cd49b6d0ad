/* MUMPS: factorise and solve a 3-D Laplacian n^3, `times` times. */
#include <dmumps_c.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ICNTL(i) icntl[(i)-1]
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int n = argc > 1 ? atoi(argv[1]) : 30, times = argc > 2 ? atoi(argv[2]) : 3, N = n * n * n;
    DMUMPS_STRUC_C id;
    memset(&id, 0, sizeof id);
    id.comm_fortran = MPI_Comm_c2f(MPI_COMM_WORLD);
    id.par = 1;
    id.sym = 0;
    id.job = -1;
    dmumps_c(&id);
    double* rhs = NULL;
    if (rank == 0) {
        MUMPS_INT *irn = malloc(sizeof *irn * 7 * N), *jcn = malloc(sizeof *jcn * 7 * N);
        double* a = malloc(sizeof *a * 7 * N);
        long nz = 0;
        rhs = malloc(sizeof *rhs * N);
        for (int z = 0; z < n; ++z)
            for (int y = 0; y < n; ++y)
                for (int x = 0; x < n; ++x) {
                    int row = (z * n + y) * n + x + 1,
                        d[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
                    irn[nz] = jcn[nz] = row;
                    a[nz++] = 6;
                    double sum = 6;
                    for (int k = 0; k < 6; ++k) {
                        int X = x + d[k][0], Y = y + d[k][1], Z = z + d[k][2];
                        if (X < 0 || Y < 0 || Z < 0 || X >= n || Y >= n || Z >= n) continue;
                        irn[nz] = row;
                        jcn[nz] = (Z * n + Y) * n + X + 1;
                        a[nz++] = -1;
                        sum -= 1;
                    }
                    rhs[row - 1] = sum; /* the solution is all ones */
                }
        id.n = N;
        id.nnz = nz;
        id.irn = irn;
        id.jcn = jcn;
        id.a = a;
    }
    id.ICNTL(1) = id.ICNTL(2) = id.ICNTL(3) = -1;
    id.ICNTL(4) = 0;
    id.ICNTL(14) = 50;
    double analyse = 0, factor = 0, solve = 0, worst = 0, *copy = NULL;
    if (rank == 0) {
        copy = malloc(sizeof *copy * N);
        id.rhs = copy;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    analyse -= MPI_Wtime();
    id.job = 1;
    dmumps_c(&id);
    MPI_Barrier(MPI_COMM_WORLD);
    analyse += MPI_Wtime();
    for (int k = 0; k < times && id.infog[0] == 0; ++k) {
        if (rank == 0) memcpy(copy, rhs, sizeof *copy * N);
        MPI_Barrier(MPI_COMM_WORLD);
        factor -= MPI_Wtime();
        id.job = 2;
        dmumps_c(&id);
        MPI_Barrier(MPI_COMM_WORLD);
        factor += MPI_Wtime();
        solve -= MPI_Wtime();
        id.job = 3;
        dmumps_c(&id);
        MPI_Barrier(MPI_COMM_WORLD);
        solve += MPI_Wtime();
        if (rank == 0)
            for (int i = 0; i < N; ++i) worst = fmax(worst, fabs(copy[i] - 1));
    }
    if (rank == 0)
        printf("mumps n=%d^3 times=%d infog1=%d analyse=%.4f factor=%.4f solve=%.4f time=%.4f s error=%.2e %s\n", n,
               times, id.infog[0], analyse, factor, solve, factor + solve, worst,
               id.infog[0] == 0 && worst < 1e-8 ? "correct" : "WRONG");
    id.job = -2;
    dmumps_c(&id);
    MPI_Finalize();
    return 0;
}
