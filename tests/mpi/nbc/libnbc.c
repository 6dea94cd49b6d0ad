/* What LibNBC 1.1.1 has and Hoefler's appendix has not, compared with what MPI computes. With the argument "native" the
 * operations are the MPI library's own (LOOM_MPI=off). Linked with libloom-mpi. */
#include <loom/nbc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures, native;

static void expect(int good, const char* what) {
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", rank, what);
        ++failures;
    }
}

static void finish(int started, NBC_Handle* handle, const char* what) {
    MPI_Status status;
    expect(started == NBC_OK, what);
    expect(NBC_Wait(handle, &status) == NBC_OK, what);
    int count = -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(count == 0, "the status is not empty");
}

static void expect_same(const int* ours, const int* theirs, int count, const char* what) {
    expect(memcmp(ours, theirs, (size_t)count * sizeof *ours) == 0, what);
}

/* As a tool does that counts calls. */
static int barriers_seen;
int NBC_Ibarrier(MPI_Comm comm, NBC_Handle* handle) {
    ++barriers_seen;
    return PNBC_Ibarrier(comm, handle);
}

static void tests_and_names(void) {
    NBC_Handle handle;
    NBC_Request other;
    MPI_Status status;
    int flag = -1;
    NBC_Ibarrier(MPI_COMM_WORLD, &handle);
    expect(barriers_seen == 1, "the profiling name");
    do {
        expect(NBC_Test(&handle, &flag, &status) == NBC_OK, "NBC_Test");
        expect(flag == NBC_OK || flag == NBC_CONTINUE, "the flag of NBC_Test");
    } while (flag != NBC_OK);
    expect(handle.schedule == NULL, "an ended handle has a schedule");
    expect(NBC_Wait(&handle, MPI_STATUS_IGNORE) == NBC_OK && NBC_Wait(&handle, NULL) == NBC_OK, "an ended handle");
    expect(NBC_Test(&handle, &flag, NULL) == NBC_OK && flag == NBC_OK, "an ended handle");
    NBC_Ibarrier(MPI_COMM_WORLD, &other);
    handle = other; /* a handle may be moved */
    while (PNBC_Testold(&handle) != NBC_OK) continue;
    memset(&handle, 0x5a, sizeof handle);
    handle.schedule = NULL;
    expect(NBC_Wait(&handle, &status) == NBC_OK && NBC_Testold(&handle) == NBC_OK, "a handle of nothing");
}

/* A zero-byte receive of a higher rank never comes to an end before that rank has started. */
static void unfinished(void) {
    NBC_Handle handle;
    MPI_Status status;
    int flag = NBC_OK;
    if (size < 2) return;
    if (rank == 0) {
        expect(NBC_Ibarrier(MPI_COMM_WORLD, &handle) == NBC_OK, "the barrier");
        expect(NBC_Test(&handle, &flag, &status) == NBC_OK && flag == NBC_CONTINUE, "a barrier without the others");
        expect(NBC_Testold(&handle) == NBC_CONTINUE, "a barrier without the others");
    }
    MPI_Barrier(MPI_COMM_WORLD); /* another barrier than the one that rank 0 has begun */
    if (rank != 0) NBC_Ibarrier(MPI_COMM_WORLD, &handle);
    finish(NBC_OK, &handle, "the barrier");
}

/* In place in LibNBC's ways: the same memory twice, MPI_IN_PLACE as either buffer. */
static void in_place(void) {
    enum { most = 16 };
    int ours[most], theirs[most];
    NBC_Handle handle;
    for (int way = 0; way < 3; ++way) {
        const void* const in = way == 1 ? MPI_IN_PLACE : ours;
        void* const out = way == 2 ? MPI_IN_PLACE : ours;
        for (int i = 0; i < most; ++i) ours[i] = theirs[i] = 100 * rank + i;
        finish(NBC_Iallreduce(in, out, most, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &handle), &handle, "Iallreduce");
        MPI_Allreduce(MPI_IN_PLACE, theirs, most, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect_same(ours, theirs, most, "Iallreduce in place");
        finish(NBC_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD, &handle), &handle, "Ialltoall");
        MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD);
        expect_same(ours, theirs, most, "Ialltoall in place");
        finish(NBC_Iscan(in, out, most, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &handle), &handle, "Iscan");
        MPI_Scan(MPI_IN_PLACE, theirs, most, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect_same(ours, theirs, most, "Iscan in place");
        /* Of the others LibNBC knows one buffer alone. */
        int spare = 0;
        finish(NBC_Ireduce(in, out, most, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD, &handle), &handle, "Ireduce");
        MPI_Reduce(rank == 0 ? MPI_IN_PLACE : theirs, theirs, most, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) expect_same(ours, theirs, most, "Ireduce in place");
        memcpy(ours, theirs, sizeof ours);
        ours[size] = theirs[size] = -1;
        finish(NBC_Igather(rank == 0 ? in : ours, 1, MPI_INT, rank == 0 ? out : &spare, 1, MPI_INT, 0, MPI_COMM_WORLD,
                           &handle),
               &handle, "Igather");
        MPI_Gather(rank == 0 ? MPI_IN_PLACE : theirs, 1, MPI_INT, theirs, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 0) expect_same(ours, theirs, size + 1, "Igather in place");
    }
    for (int i = 0; i < most; ++i) ours[i] = 10 * rank + i;
    int got = -1;
    finish(NBC_Iscatter(ours, 1, MPI_INT, rank == 0 ? ours : &got, 1, MPI_INT, 0, MPI_COMM_WORLD, &handle), &handle,
           "Iscatter");
    expect(rank == 0 ? ours[0] == 0 : got == rank, "Iscatter in place");
}

/* The same arguments again and again, while what their handles mean changes. */
static void repeated(void) {
    int data[12], all[4];
    NBC_Handle handle;
    for (int round = 0; round < 12; ++round) {
        MPI_Comm comm;
        MPI_Datatype type;
        const int colour = round % 3 == 0 ? 0 : rank % 2, length = 2 + round % 2;
        MPI_Comm_split(MPI_COMM_WORLD, colour, rank, &comm);
        MPI_Type_contiguous(length, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int again = 0; again < 3; ++again) {
            int first = 0, members = 0;
            for (int i = 0; i < 12; ++i) data[i] = 100 * rank + 10 * again + i;
            finish(NBC_Ibcast(data, 2, type, 0, comm, &handle), &handle, "Ibcast again");
            first = 100 * (colour == 0 ? 0 : 1) + 10 * again;
            expect(data[0] == first && data[2 * length - 1] == first + 2 * length - 1, "Ibcast again is wrong");
            expect(data[2 * length] == 100 * rank + 10 * again + 2 * length, "Ibcast again went too far");
            all[0] = 1;
            finish(NBC_Iallreduce(&all[0], &all[1], 1, MPI_INT, MPI_SUM, comm, &handle), &handle, "Iallreduce again");
            MPI_Comm_size(comm, &members);
            expect(all[1] == members, "Iallreduce again is wrong");
        }
        MPI_Type_free(&type);
        MPI_Comm_free(&comm);
    }
}

/* Two halves of all ranks, or of one rank nothing. */
static void between(void) {
    NBC_Handle handle;
    int value = rank, theirs = rank;
    expect(NBC_Ibcast_inter(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &handle) == NBC_INVALID_PARAM, "one group alone");
    if (size < 2) return;
    MPI_Comm half, both;
    const int left = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, left, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left ? size / 2 : 0, 1, &both);
    const int root = !left ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    finish(NBC_Ibcast_inter(&value, 1, MPI_INT, root, both, &handle), &handle, "Ibcast_inter");
    MPI_Bcast(&theirs, 1, MPI_INT, root, both);
    expect(value == theirs, "Ibcast_inter is wrong");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* A communicator with neighbours, and how many there are. */
typedef struct {
    MPI_Comm comm;
    int in, out, sources[16], destinations[16];
} Neighbourhood;

static void read_neighbours(Neighbourhood* n) {
    int weighted = -1, weights[16];
    expect(NBC_Comm_neighbors_count(n->comm, &n->in, &n->out, &weighted) == NBC_OK, "the number of neighbours");
    expect(NBC_Comm_neighbors(n->comm, n->in, n->sources, weights, n->out, n->destinations, weights) == NBC_OK,
           "the neighbours");
    if (n->in > 0)
        expect(NBC_Comm_neighbors(n->comm, n->in - 1, n->sources, MPI_UNWEIGHTED, n->out, n->destinations,
                                  MPI_UNWEIGHTED) == NBC_INVALID_PARAM,
               "too many neighbours");
}

enum { most_cells = 64 };

static void fill(int* sent, int* ours, int* theirs) {
    for (int i = 0; i < most_cells; ++i) {
        sent[i] = 1000 * rank + i;
        ours[i] = theirs[i] = -1;
    }
}

/* Every exchange beside MPI's, and in place beside itself with a copy. */
static void exchange(const Neighbourhood* n) {
    int sent[most_cells], ours[most_cells], theirs[most_cells];
    int counts[16], displacements[16], gaps[16];
    MPI_Aint bytes[16];
    MPI_Datatype types[16];
    NBC_Handle handle;
    for (int i = 0; i < 16; ++i) {
        counts[i] = 2;
        displacements[i] = 2 * i;
        gaps[i] = 3 * i + 1;
        bytes[i] = (MPI_Aint)(2 * sizeof(int)) * i;
        types[i] = MPI_INT;
    }
    fill(sent, ours, theirs);
    finish(NBC_Ineighbor_xchg(sent, 2, MPI_INT, ours, 2, MPI_INT, n->comm, &handle), &handle, "Ineighbor_xchg");
    MPI_Neighbor_alltoall(sent, 2, MPI_INT, theirs, 2, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_xchg is wrong");
    fill(sent, ours, theirs);
    finish(NBC_Ineighbor_alltoall(sent, 2, MPI_INT, ours, 2, MPI_INT, n->comm, &handle), &handle, "alltoall");
    MPI_Neighbor_alltoall(sent, 2, MPI_INT, theirs, 2, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_alltoall is wrong");
    fill(sent, ours, theirs);
    finish(NBC_Ineighbor_xchgv(sent, counts, displacements, MPI_INT, ours, counts, gaps, MPI_INT, n->comm, &handle),
           &handle, "xchgv");
    MPI_Neighbor_alltoallv(sent, counts, displacements, MPI_INT, theirs, counts, gaps, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_xchgv is wrong");
    fill(sent, ours, theirs);
    finish(NBC_Ineighbor_alltoallv(sent, counts, gaps, MPI_INT, ours, counts, displacements, MPI_INT, n->comm, &handle),
           &handle, "alltoallv");
    MPI_Neighbor_alltoallv(sent, counts, gaps, MPI_INT, theirs, counts, displacements, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_alltoallv is wrong");
    fill(sent, ours, theirs);
    finish(NBC_Ineighbor_alltoallw(sent, counts, types, ours, counts, types, n->comm, &handle), &handle, "alltoallw");
    MPI_Neighbor_alltoallw(sent, counts, bytes, types, theirs, counts, bytes, types, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_alltoallw is wrong");
    fill(sent, ours, theirs);
    finish(NBC_Ineighbor_allgather(sent, 2, MPI_INT, ours, 2, MPI_INT, n->comm, &handle), &handle, "allgather");
    MPI_Neighbor_allgather(sent, 2, MPI_INT, theirs, 2, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_allgather is wrong");
    fill(sent, ours, theirs);
    finish(NBC_Ineighbor_allgatherv(sent, 2, MPI_INT, ours, counts, gaps, MPI_INT, n->comm, &handle), &handle, "v");
    MPI_Neighbor_allgatherv(sent, 2, MPI_INT, theirs, counts, gaps, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_allgatherv is wrong");

    fill(sent, ours, theirs);
    memcpy(ours, sent, sizeof sent);
    memcpy(theirs, sent, sizeof sent);
    finish(NBC_Ineighbor_alltoall(ours, 2, MPI_INT, ours, 2, MPI_INT, n->comm, &handle), &handle, "in place");
    MPI_Neighbor_alltoall(sent, 2, MPI_INT, theirs, 2, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_alltoall in place is wrong");
    memcpy(sent, theirs, sizeof sent);
    finish(NBC_Ineighbor_xchgv(MPI_IN_PLACE, counts, gaps, MPI_INT, ours, counts, displacements, MPI_INT, n->comm,
                               &handle),
           &handle, "in place");
    MPI_Neighbor_alltoallv(sent, counts, gaps, MPI_INT, theirs, counts, displacements, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_xchgv in place is wrong");
    memcpy(sent, theirs, sizeof sent);
    finish(NBC_Ineighbor_allgather(ours, 2, MPI_INT, MPI_IN_PLACE, 2, MPI_INT, n->comm, &handle), &handle, "in place");
    MPI_Neighbor_allgather(sent, 2, MPI_INT, theirs, 2, MPI_INT, n->comm);
    expect_same(ours, theirs, most_cells, "Ineighbor_allgather in place is wrong");
}

/* Along each dimension, forwards and backwards; every second int, and in place. */
static void shifts(MPI_Comm grid, int dimensions) {
    MPI_Datatype sparse;
    MPI_Type_vector(2, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    for (int direction = 0; direction < dimensions; ++direction)
        for (int disp = -1; disp <= 2; ++disp) {
            int sent[4] = {rank, rank + 10, rank + 20, rank + 30}, ours[4] = {-1, -1, -1, -1}, theirs[4];
            int source = MPI_PROC_NULL, destination = MPI_PROC_NULL;
            NBC_Handle handle;
            memcpy(theirs, ours, sizeof ours);
            MPI_Cart_shift(grid, direction, disp, &source, &destination);
            finish(NBC_Icart_shift_xchg(sent, 1, sparse, ours, 1, sparse, direction, disp, grid, &handle), &handle,
                   "Icart_shift_xchg");
            MPI_Sendrecv(sent, 1, sparse, destination, 0, theirs, 1, sparse, source, 0, grid, MPI_STATUS_IGNORE);
            expect_same(ours, theirs, 4, "Icart_shift_xchg is wrong");
            memcpy(theirs, sent, sizeof sent);
            MPI_Sendrecv_replace(theirs, 1, sparse, destination, 0, source, 0, grid, MPI_STATUS_IGNORE);
            finish(NBC_Icart_shift_xchg(sent, 1, sparse, sent, 1, sparse, direction, disp, grid, &handle), &handle,
                   "Icart_shift_xchg in place");
            expect_same(sent, theirs, 4, "Icart_shift_xchg in place is wrong");
        }
    MPI_Type_free(&sparse);
}

static void grids(void) {
    int dims[2] = {0, 0};
    MPI_Dims_create(size, 2, dims);
    /* Where both neighbours along a dimension are one rank MPI libraries do not agree which message is whose. */
    for (int periodic = 0; periodic < 2; ++periodic) {
        int periods[2] = {periodic && dims[0] > 2, periodic && dims[1] > 2};
        Neighbourhood n;
        MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &n.comm);
        read_neighbours(&n);
        expect(n.in == 4 && n.out == 4, "a grid of two dimensions has four neighbours");
        for (int direction = 0; direction < 2; ++direction) {
            int before, after;
            MPI_Cart_shift(n.comm, direction, 1, &before, &after);
            expect(n.sources[2 * direction] == before && n.destinations[2 * direction + 1] == after, "a neighbour");
        }
        exchange(&n);
        shifts(n.comm, 2);
        MPI_Comm_free(&n.comm);
    }
    int wrapped = 1;
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &wrapped, 0, &ring);
    shifts(ring, 1);
    MPI_Comm_free(&ring);
}

static void graphs(void) {
    int index[8], edges[16], mine[2], weights[2] = {5, 7}, got_weights[2] = {-1, -1}, weighted = -1;
    Neighbourhood n;
    /* A ring, for MPI_Graph_create; from each rank to the two after it, for the other. */
    for (int i = 0; i < size; ++i) {
        index[i] = 2 * i + 2;
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    if (size > 2) {
        MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &n.comm);
        read_neighbours(&n);
        expect(n.in == 2 && n.sources[0] == edges[2 * rank] && n.destinations[1] == edges[2 * rank + 1], "a ring");
        exchange(&n);
        MPI_Comm_free(&n.comm);
    }
    const int degree = size > 2 ? 2 : 1;
    int before[2];
    for (int i = 0; i < degree; ++i) {
        mine[i] = (rank + i + 1) % size;
        before[i] = (rank + size - i - 1) % size;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, before, weights, degree, mine, weights, MPI_INFO_NULL, 0,
                                   &n.comm);
    read_neighbours(&n);
    expect(n.in == degree && n.out == degree && n.sources[0] == before[0] && n.destinations[0] == mine[0], "a graph");
    NBC_Comm_neighbors_count(n.comm, &n.in, &n.out, &weighted);
    expect(weighted != 0, "there are weights");
    NBC_Comm_neighbors(n.comm, n.in, n.sources, got_weights, n.out, n.destinations, MPI_UNWEIGHTED);
    expect(got_weights[0] == 5, "a weight");
    exchange(&n);
    MPI_Comm_free(&n.comm);
    NBC_Handle handle;
    expect(NBC_Comm_neighbors_count(MPI_COMM_WORLD, &n.in, &n.out, &weighted) == NBC_INVALID_TOPOLOGY_COMM, "none");
    expect(NBC_Icart_shift_xchg(mine, 1, MPI_INT, before, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &handle) ==
               NBC_INVALID_TOPOLOGY_COMM,
           "no grid");
}

/* How many elements at a time an algorithm reduces shows which it is: a ring takes parts. */
static int longest;
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    if (*count > longest) longest = *count;
    for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((const int*)in)[i];
}

static void sum_on(MPI_Comm comm, MPI_Op op, int* parts) {
    int in[8], ours[8], theirs[8];
    NBC_Handle handle;
    const int count = 2 * size;
    for (int i = 0; i < count; ++i) in[i] = rank * i + 1;
    longest = 0;
    finish(NBC_Iallreduce(in, ours, count, MPI_INT, op, comm, &handle), &handle, "Iallreduce");
    MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    *parts = longest < count;
    MPI_Allreduce(in, theirs, count, MPI_INT, MPI_SUM, comm);
    expect_same(ours, theirs, count, "Iallreduce is wrong");
}

static void informed(void) {
    MPI_Comm comm;
    MPI_Info asked, got = MPI_INFO_NULL;
    MPI_Op op;
    char value[8] = "";
    int there = 0, parts = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Op_create(add, 1, &op);
    MPI_Info_create(&asked);
    expect(NBC_Comm_get_info(comm, &got) == 0, "nothing was set");
    const char* const broadcasts[] = {NBC_BCAST_ALG_LINEAR, NBC_BCAST_ALG_BINOMIAL, NBC_BCAST_ALG_CHAIN, "nothing that is known"};
    for (int i = 0; i < 4; ++i) {
        int data[100];
        NBC_Handle handle;
        MPI_Info_set(asked, NBC_BCAST_ALG_INFO_KEY, broadcasts[i]);
        expect(NBC_Comm_set_info(comm, asked) == NBC_OK, "the info is refused");
        for (int k = 0; k < 100; ++k) data[k] = rank == size - 1 ? k : -1;
        finish(NBC_Ibcast(data, 100, MPI_INT, size - 1, comm, &handle), &handle, "Ibcast");
        for (int k = 0; k < 100; ++k) expect(data[k] == k, "Ibcast is wrong");
    }
    MPI_Info_set(asked, NBC_ALLREDUCE_ALG_INFO_KEY, NBC_ALLREDUCE_ALG_RING);
    NBC_Comm_set_info(comm, asked);
    MPI_Info_set(asked, NBC_ALLREDUCE_ALG_INFO_KEY, "9"); /* what was set is a copy */
    MPI_Info_free(&asked);
    expect(NBC_Comm_get_info(comm, &got) == 1, "the info is gone");
    MPI_Info_get(got, NBC_ALLREDUCE_ALG_INFO_KEY, 7, value, &there);
    expect(there && strcmp(value, NBC_ALLREDUCE_ALG_RING) == 0, "the info is another");
    sum_on(comm, op, &parts);
    if (!native && size > 1) expect(parts, "a ring reduces parts");
    MPI_Info_set(got, NBC_ALLREDUCE_ALG_INFO_KEY, NBC_ALLREDUCE_ALG_BINOMIAL);
    NBC_Comm_set_info(comm, got);
    MPI_Info_free(&got);
    sum_on(comm, op, &parts);
    if (!native) expect(size == 1 || !parts, "a tree reduces all at once");
    expect(NBC_Comm_set_info(comm, MPI_INFO_NULL) == NBC_OK && NBC_Comm_get_info(comm, &got) == 0, "it was taken back");
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
}

static void schedules_and_times(void) {
    NBC_Handle handle;
    void* mine = &handle;
    int length = -1;
    NBC_Ibarrier(MPI_COMM_WORLD, &handle);
    expect(NBC_Get_schedule(&handle, &mine, &length) == NBC_OK && mine == NULL && length == 0, "a collective's schedule");
    finish(NBC_OK, &handle, "the barrier");
    if (!native) {
        int from = rank, to = -1;
        NBC_Schedule* schedule = malloc(sizeof *schedule);
        NBC_Sched_create(schedule);
        NBC_Sched_send(&from, 1, MPI_INT, (rank + 1) % size, schedule);
        NBC_Sched_recv(&to, 1, MPI_INT, (rank + size - 1) % size, schedule);
        NBC_Sched_commit(schedule);
        handle.tmpbuf = NULL;
        expect(NBC_Start(&handle, MPI_COMM_WORLD, schedule) == NBC_OK, "a schedule of one's own");
        expect(NBC_Get_schedule(&handle, &mine, &length) == NBC_OK && mine == *schedule && length == 2, "its length");
        finish(NBC_OK, &handle, "a schedule of one's own");
        expect(to == (rank + size - 1) % size, "a schedule of one's own is wrong");
    }
    NBC_Reset_times();
    NBC_Ibarrier(MPI_COMM_WORLD, &handle);
    finish(NBC_OK, &handle, "the barrier");
    if (rank == 0) NBC_Print_times(0.001);
}

int main(int argc, char** argv) {
    native = argc > 1 && strcmp(argv[1], "native") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tests_and_names();
    unfinished();
    in_place();
    repeated();
    between();
    grids();
    graphs();
    informed();
    schedules_and_times();
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("all right\n");
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
