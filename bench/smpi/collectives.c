/* MPI's 22 collectives of some sizes, timed: the same source runs under mpirun and in a simulation under smpirun.
 *   collectives ROUNDS SIZE...     a line "operation bytes microseconds" for each, the median over rounds of the
 *                                  slowest rank
 *   collectives pingpong ROUNDS SIZE...   "bytes one-way send receive": half a round trip, and the calls' own times
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static char *in, *out;
static MPI_Comm ring;
static int counts[64], places[64], bytes_at[64], doubles[64];
static MPI_Datatype types[64];

static int before(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return x < y ? -1 : x > y;
}

enum {
    barrier, bcast, gather, gatherv, scatter, scatterv, allgather, allgatherv, alltoall, alltoallv, alltoallw,
    reduce, allreduce, reduce_scatter, reduce_scatter_block, scan, exscan, neighbor_allgather, neighbor_allgatherv,
    neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw, operations
};
static const char* const names[] = {
    "barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall",
    "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan",
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"};

static void blocks(int bytes) {
    for (int i = 0; i < 64; ++i) {
        counts[i] = bytes;
        places[i] = bytes_at[i] = i * bytes;
        doubles[i] = bytes / 8;
        types[i] = MPI_BYTE;
    }
}

#ifndef NO_NEIGHBOURS
static void with_neighbours(int what, int bytes) {
    static MPI_Aint at[64];
    for (int i = 0; i < 64; ++i) at[i] = (MPI_Aint)i * bytes;
    switch (what) {
        case neighbor_allgather: MPI_Neighbor_allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, ring); break;
        case neighbor_allgatherv:
            MPI_Neighbor_allgatherv(in, bytes, MPI_BYTE, out, counts, places, MPI_BYTE, ring);
            break;
        case neighbor_alltoall: MPI_Neighbor_alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, ring); break;
        case neighbor_alltoallv:
            MPI_Neighbor_alltoallv(in, counts, places, MPI_BYTE, out, counts, places, MPI_BYTE, ring);
            break;
        default: MPI_Neighbor_alltoallw(in, counts, at, types, out, counts, at, types, ring);
    }
}
#endif

static void run(int what, int bytes) {
    const MPI_Comm all = MPI_COMM_WORLD;
    switch (what) {
        case barrier: MPI_Barrier(all); break;
        case bcast: MPI_Bcast(out, bytes, MPI_BYTE, 0, all); break;
        case gather: MPI_Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, all); break;
        case gatherv: MPI_Gatherv(in, bytes, MPI_BYTE, out, counts, places, MPI_BYTE, 0, all); break;
        case scatter: MPI_Scatter(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, 0, all); break;
        case scatterv: MPI_Scatterv(in, counts, places, MPI_BYTE, out, bytes, MPI_BYTE, 0, all); break;
        case allgather: MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, all); break;
        case allgatherv: MPI_Allgatherv(in, bytes, MPI_BYTE, out, counts, places, MPI_BYTE, all); break;
        case alltoall: MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, all); break;
        case alltoallv: MPI_Alltoallv(in, counts, places, MPI_BYTE, out, counts, places, MPI_BYTE, all); break;
        case alltoallw: MPI_Alltoallw(in, counts, bytes_at, types, out, counts, bytes_at, types, all); break;
        case reduce: MPI_Reduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, all); break;
        case allreduce: MPI_Allreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, all); break;
        case reduce_scatter: MPI_Reduce_scatter(in, out, doubles, MPI_DOUBLE, MPI_SUM, all); break;
        case reduce_scatter_block: MPI_Reduce_scatter_block(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, all); break;
        case scan: MPI_Scan(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, all); break;
        case exscan: MPI_Exscan(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, all); break;
        default:
#ifndef NO_NEIGHBOURS
            with_neighbours(what, bytes);
#endif
            break;
    }
}

static double median(double* times, int count) {
    qsort(times, (size_t)count, sizeof *times, before);
    return times[count / 2];
}

static void time_one(int what, int bytes, int rounds) {
    double* const times = malloc(sizeof(double) * (size_t)rounds);
    blocks(bytes);
    for (int round = -3; round < rounds; ++round) {
        double mine, slowest;
        MPI_Barrier(MPI_COMM_WORLD);
        mine = MPI_Wtime();
        run(what, bytes);
        mine = MPI_Wtime() - mine;
        MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (round >= 0) times[round] = slowest;
    }
    if (rank == 0) printf("%s %d %.4f\n", names[what], what == barrier ? 0 : bytes, 1e6 * median(times, rounds));
    free(times);
}

static void ping(int bytes, int rounds) {
    double* const whole = malloc(sizeof(double) * (size_t)rounds);
    double* const sending = malloc(sizeof(double) * (size_t)rounds);
    for (int round = -3; round < rounds; ++round) {
        const double begin = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(in, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            const double sent = MPI_Wtime();
            MPI_Recv(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (round >= 0) whole[round] = (MPI_Wtime() - begin) / 2, sending[round] = sent - begin;
        } else if (rank == 1) {
            MPI_Recv(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) printf("%d %.4f %.4f\n", bytes, 1e6 * median(whole, rounds), 1e6 * median(sending, rounds));
    free(whole);
    free(sending);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int pings = argc > 2 && strcmp(argv[1], "pingpong") == 0;
    const int rounds = atoi(argv[pings ? 2 : 1]);
    int most = 8;
    for (int i = pings ? 3 : 2; i < argc; ++i) most = atoi(argv[i]) > most ? atoi(argv[i]) : most;
    const size_t room = (size_t)most * (size_t)(ranks < 4 ? 4 : ranks);
    in = malloc(room);
    out = malloc(room);
    memset(in, 0, room);
    memset(out, 0, room);
#ifndef NO_NEIGHBOURS
    int dims[2] = {0, 0}, periods[2] = {1, 1};
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &ring);
#endif
    for (int i = pings ? 3 : 2; i < argc; ++i) {
        const int bytes = atoi(argv[i]);
        if (pings) {
            ping(bytes, bytes > 1000000 ? rounds / 4 + 3 : rounds);
            continue;
        }
        for (int what = 0; what < operations; ++what) {
#ifdef NO_NEIGHBOURS
            if (what >= neighbor_allgather) continue;
#endif
            if (what != barrier || i == 2) time_one(what, bytes, bytes > 1000000 ? rounds / 4 + 3 : rounds);
        }
    }
    MPI_Finalize();
    return 0;
}
