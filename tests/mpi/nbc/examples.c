/* The examples of LibNBC's appendix written anew against loom/nbc.h, and what they leave out: operations, copies, types
 * with gaps, lists of handles. Linked with libloom-mpi. */
#include <loom/nbc.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, failures;

static void expect(int good, const char* what) {
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        ++failures;
    }
}

static NBC_Schedule* new_schedule(void) {
    NBC_Schedule* schedule = malloc(sizeof *schedule);
    expect(NBC_Sched_create(schedule) == NBC_OK, "a schedule cannot be created");
    return schedule;
}

/* The dissemination barrier: in round k everyone tells the rank 2^k behind it. */
static int my_barrier(MPI_Comm comm, NBC_Handle* handle) {
    NBC_Schedule* schedule = new_schedule();
    handle->tmpbuf = NULL;
    for (int distance = 1; distance < size; distance *= 2) {
        if (distance > 1) NBC_Sched_barrier(schedule);
        NBC_Sched_send(NULL, 0, MPI_BYTE, (rank + distance) % size, schedule);
        NBC_Sched_recv(NULL, 0, MPI_BYTE, (rank + size - distance) % size, schedule);
    }
    NBC_Sched_commit(schedule);
    return NBC_Start(handle, comm, schedule);
}

/* An allreduce: everything to rank 0, added there one after another, and back. Copies, operations, memory of its own. */
static int my_sum(const int* in, int* out, int count, MPI_Comm comm, NBC_Handle* handle) {
    NBC_Schedule* schedule = new_schedule();
    int* parts = malloc((size_t)size * (size_t)count * sizeof *parts);
    handle->tmpbuf = parts;
    if (rank == 0) {
        NBC_Sched_copy(in, count, MPI_INT, out, count, MPI_INT, schedule);
        for (int from = 1; from < size; ++from)
            NBC_Sched_recv(parts + from * count, count, MPI_INT, from, schedule);
        NBC_Sched_barrier(schedule);
        for (int from = 1; from < size; ++from)
            NBC_Sched_op(out, out, parts + from * count, count, MPI_INT, MPI_SUM, schedule);
        NBC_Sched_barrier(schedule);
        for (int to = 1; to < size; ++to) NBC_Sched_send(out, count, MPI_INT, to, schedule);
    } else {
        NBC_Sched_send(in, count, MPI_INT, 0, schedule);
        NBC_Sched_recv(out, count, MPI_INT, 0, schedule);
    }
    NBC_Sched_commit(schedule);
    return NBC_Start(handle, comm, schedule);
}

static void barriers(void) {
    NBC_Handle handles[3];
    for (int i = 0; i < 3; ++i) expect(my_barrier(MPI_COMM_WORLD, &handles[i]) == NBC_OK, "my barrier is refused");
    expect(NBC_Waitall(3, handles) == NBC_OK, "my barriers fail");
    expect(NBC_Ibarrier(MPI_COMM_WORLD, &handles[0]) == NBC_OK, "the barrier is refused");
    int code = NBC_CONTINUE;
    while (code == NBC_CONTINUE) code = NBC_Testold(&handles[0]);
    expect(code == NBC_OK, "the barrier fails");
}

static void sums(void) {
    enum { count = 100 };
    int in[count], out[count], theirs[count];
    NBC_Handle handle, other;
    for (int i = 0; i < count; ++i) in[i] = rank + i;
    expect(my_sum(in, out, count, MPI_COMM_WORLD, &handle) == NBC_OK, "my sum is refused");
    expect(NBC_Iallreduce(in, theirs, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other) == NBC_OK, "the sum is refused");
    expect(NBC_Wait(&other, MPI_STATUS_IGNORE) == NBC_OK && NBC_Wait(&handle, MPI_STATUS_IGNORE) == NBC_OK, "a sum fails");
    for (int i = 0; i < count; ++i)
        expect(out[i] == theirs[i] && out[i] == size * i + size * (size - 1) / 2, "a sum is wrong");
}

/* Double buffering: one buffer is on its way while the other is computed on. */
static void pipeline(void) {
    double buffers[2][1000];
    NBC_Handle handle;
    for (int step = 0; step < 10; ++step) {
        double *travelling = buffers[step % 2], *computed = buffers[(step + 1) % 2];
        for (int i = 0; i < 1000; ++i) travelling[i] = rank == 0 ? step : -1;
        NBC_Ibcast(travelling, 1000, MPI_DOUBLE, 0, MPI_COMM_WORLD, &handle);
        for (int i = 0; i < 1000; ++i) computed[i] = i;
        NBC_Testold(&handle);
        NBC_Wait(&handle, MPI_STATUS_IGNORE);
        expect(travelling[999] == step, "the broadcast is wrong");
    }
}

/* A column goes round the ring: every second int, twice to the same rank. */
static void columns(void) {
    MPI_Datatype column;
    MPI_Type_vector(50, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    int sent[2][100], got[2][100];
    for (int i = 0; i < 100; ++i) {
        sent[0][i] = rank;
        sent[1][i] = rank + 1000;
        got[0][i] = got[1][i] = -1;
    }
    NBC_Schedule* schedule = new_schedule();
    for (int k = 0; k < 2; ++k) {
        NBC_Sched_send(sent[k], 1, column, (rank + 1) % size, schedule);
        NBC_Sched_recv(got[k], 1, column, (rank + size - 1) % size, schedule);
    }
    NBC_Sched_commit(schedule);
    NBC_Handle handle = {NULL, NULL, NULL};
    expect(NBC_Start(&handle, MPI_COMM_WORLD, schedule) == NBC_OK, "the schedule is refused");
    int index = -1;
    expect(NBC_Waitany(1, &handle, &index) == NBC_OK && index == 0, "the schedule fails");
    const int before = (rank + size - 1) % size;
    expect(got[0][0] == before && got[0][98] == before && got[1][98] == before + 1000, "a column is wrong");
    expect(got[0][1] == -1 && got[1][99] == -1, "a gap was written");
    MPI_Type_free(&column);
}

static void neighbours(void) {
    int dims[1] = {size}, wrapped[1] = {1}, sent[2] = {rank, rank + 100}, got[2] = {-1, -1};
    MPI_Comm ring;
    NBC_Handle handle;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, wrapped, 0, &ring);
    expect(NBC_Ineighbor_xchg(sent, 1, MPI_INT, got, 1, MPI_INT, ring, &handle) == NBC_OK, "neighbours are refused");
    expect(NBC_Wait(&handle, MPI_STATUS_IGNORE) == NBC_OK, "neighbours fail");
    expect(got[0] == (rank + size - 1) % size + 100 && got[1] == (rank + 1) % size, "a neighbour is wrong");
    expect(NBC_Ineighbor_xchg(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, &handle) == NBC_INVALID_TOPOLOGY_COMM,
           "there are no neighbours");
    MPI_Comm_free(&ring);
}

static void mistakes(void) {
    NBC_Schedule none = NULL;
    NBC_Handle handle = {NULL, NULL, NULL};
    expect(NBC_Sched_barrier(&none) == NBC_BAD_SCHED, "there is no schedule");
    expect(NBC_Start(&handle, MPI_COMM_WORLD, &none) == NBC_BAD_SCHED, "there is no schedule");
    NBC_Schedule* schedule = new_schedule();
    expect(NBC_Sched_send(NULL, -1, MPI_BYTE, 0, schedule) == NBC_INVALID_PARAM, "a negative count");
    NBC_Sched_send(NULL, 0, MPI_BYTE, size, schedule);
    expect(NBC_Start(&handle, MPI_COMM_WORLD, schedule) == NBC_BAD_SCHED, "there is no such rank");
    handle.schedule = schedule;
    NBC_Free(&handle);
    int a[2] = {1, 2}, b[2] = {10, 20};
    expect(NBC_Operation(a, a, b, MPI_SUM, MPI_INT, 2) == NBC_OK && a[0] == 11 && a[1] == 22, "an operation is wrong");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    barriers();
    sums();
    pipeline();
    columns();
    neighbours();
    mistakes();
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("all right\n");
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
