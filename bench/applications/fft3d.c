/* FFTW-MPI: 3-D complex transforms n^3, forward and backward, repeated. */
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ptrdiff_t n = argc > 1 ? atoi(argv[1]) : 128;
    int times = argc > 2 ? atoi(argv[2]) : 20;
    ptrdiff_t n0, start, count = fftw_mpi_local_size_3d(n, n, n, MPI_COMM_WORLD, &n0, &start);
    unsigned rigor =
        FFTW_ESTIMATE; /* fft3d N TIMES wisdom-file: plans from there; made with FFTW_MEASURE where there is none */
    const char* wisdom = argc > 3 ? argv[3] : NULL;
    int known = 0;
    if (wisdom) {
        if (rank == 0) known = fftw_import_wisdom_from_filename(wisdom);
        fftw_mpi_broadcast_wisdom(MPI_COMM_WORLD);
        MPI_Bcast(&known, 1, MPI_INT, 0, MPI_COMM_WORLD);
        rigor = FFTW_MEASURE | (known ? FFTW_WISDOM_ONLY : 0);
    }
    fftw_complex *in = fftw_alloc_complex(count), *out = fftw_alloc_complex(count);
    fftw_plan f = fftw_mpi_plan_dft_3d(n, n, n, in, out, MPI_COMM_WORLD, FFTW_FORWARD,
                                       rigor | FFTW_DESTROY_INPUT | FFTW_MPI_TRANSPOSED_OUT);
    fftw_plan b = fftw_mpi_plan_dft_3d(n, n, n, out, in, MPI_COMM_WORLD, FFTW_BACKWARD,
                                       rigor | FFTW_DESTROY_INPUT | FFTW_MPI_TRANSPOSED_IN);
    if (!f || !b) {
        if (rank == 0) printf("no plan\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (wisdom && !known) {
        fftw_mpi_gather_wisdom(MPI_COMM_WORLD);
        if (rank == 0) fftw_export_wisdom_to_filename(wisdom);
    }
    if (argc > 4 && rank == 0) fftw_print_plan(f), printf("\n"), fftw_print_plan(b), printf("\n");
    for (ptrdiff_t i = 0; i < n0 * n * n; ++i) in[i][0] = (double)((i + start * n * n) % 1009) / 1009, in[i][1] = 0;
    fftw_execute(f);
    fftw_execute(b);
    const double scale = 1.0 / ((double)n * n * n);
    for (ptrdiff_t i = 0; i < n0 * n * n; ++i) in[i][0] *= scale, in[i][1] *= scale;
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    for (int k = 0; k < times; ++k) {
        fftw_execute(f);
        fftw_execute(b);
        for (ptrdiff_t i = 0; i < n0 * n * n; ++i) in[i][0] *= scale, in[i][1] *= scale;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    t = MPI_Wtime() - t;
    double worst = 0, all;
    for (ptrdiff_t i = 0; i < n0 * n * n; ++i)
        worst = fmax(worst, fabs(in[i][0] - (double)((i + start * n * n) % 1009) / 1009));
    MPI_Reduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("fft3d n=%td times=%d time=%.4f s, Gflops=%.4f error=%.2e %s\n", n, times, t,
               2.0 * times * 5 * n * n * n * log2((double)n * n * n) / t * 1e-9, all,
               all < 1e-10 ? "correct" : "WRONG");
    MPI_Finalize();
    return 0;
}
