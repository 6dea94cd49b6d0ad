// Scenarios of the rarely used: types without data, elements too large to try or to pack, ranks without neighbours.
#include <sys/mman.h>

#include <numeric>

#include "mpi/workout/case.hpp"

namespace loom::workout {

namespace {

MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

// Address space that nobody may touch.
class Forbidden {
public:
    explicit Forbidden(std::size_t bytes)
        : bytes_(bytes), memory_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        expect(memory_ != MAP_FAILED, "no address space");
    }
    ~Forbidden() { munmap(memory_, bytes_); }
    Forbidden(const Forbidden&) = delete;
    Forbidden& operator=(const Forbidden&) = delete;

    [[nodiscard]] void* memory() const { return memory_; }

private:
    std::size_t bytes_;
    void* memory_;
};

void broadcast_to_oneself(void* memory, MPI_Datatype type) {
    MPI_Request request = MPI_REQUEST_NULL;
    expect(MPI_Ibcast(memory, 1, type, 0, MPI_COMM_SELF, &request) == MPI_SUCCESS, "the broadcast cannot be started");
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "the broadcast failed");
}

}  // namespace

void reductions_of_nothing(const Wardrobe& wardrobe) {
    const int size = size_of(MPI_COMM_WORLD);
    MPI_Datatype nothing = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    const std::vector<int> counts(static_cast<std::size_t>(size), 3);
    int data = 4, out = 7;
    MPI_Request requests[5];
    MPI_Iallreduce(&data, &out, 0, nothing, wardrobe.sum, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&data, &out, 3, nothing, wardrobe.sum, MPI_COMM_WORLD, &requests[1]);
    MPI_Ireduce_scatter(&data, &out, counts.data(), nothing, wardrobe.sum, MPI_COMM_WORLD, &requests[2]);
    MPI_Ireduce_scatter_block(&data, &out, 3, nothing, wardrobe.sum, MPI_COMM_WORLD, &requests[3]);
    MPI_Iscan(&data, &out, 3, nothing, wardrobe.sum, MPI_COMM_WORLD, &requests[4]);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    expect(data == 4 && out == 7, "something was written");
    MPI_Type_free(&nothing);
}

// One edge, from the first rank to the last; the others say that blocks have no bytes.
void neighbours_of_few(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD), last = size_of(MPI_COMM_WORLD) - 1;
    const int in = rank == last ? 1 : 0, out = rank == 0 ? 1 : 0, source = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, &source, MPI_UNWEIGHTED, out, &last, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    const std::vector<int> sent(100, 5);
    std::vector<int> blocks(100), gathered(100);
    const int given = out * 100, got = in * 100;
    MPI_Request requests[2];
    MPI_Ineighbor_alltoall(sent.data(), given, MPI_INT, blocks.data(), got, MPI_INT, comm, &requests[0]);
    MPI_Ineighbor_allgather(sent.data(), given, MPI_INT, gathered.data(), got, MPI_INT, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    const std::vector<int> expected(100, rank == last ? 5 : 0);
    expect(blocks == expected && gathered == expected, "what the neighbour sent is wrong");
    MPI_Comm_free(&comm);
}

// Too large to find out by trying whether they lie in order: one rank sends them so, the others take plain ints.
void large_elements(const Wardrobe&) {
    constexpr int ints = 60000, half = ints / 2;
    MPI_Datatype row = MPI_DATATYPE_NULL, types[6];
    MPI_Type_contiguous(half, MPI_INT, &row);
    MPI_Type_contiguous(ints, MPI_INT, &types[0]);
    MPI_Type_contiguous(2, row, &types[1]);
    MPI_Type_vector(3, ints / 3, ints / 3, MPI_INT, &types[2]);
    const int lengths[2] = {1, half}, swapped[2] = {half, 0}, halves[2] = {half, half};
    const MPI_Aint at[2] = {0, half * sizeof(int)}, from_behind[2] = {half * sizeof(int), 0};
    const MPI_Datatype parts[2] = {row, MPI_INT};
    MPI_Type_create_struct(2, lengths, at, parts, &types[3]);
    MPI_Type_create_struct(2, lengths, from_behind, parts, &types[4]);
    MPI_Type_indexed(2, halves, swapped, MPI_INT, &types[5]);
    const int rank = rank_in(MPI_COMM_WORLD);
    for (MPI_Datatype& type : types) {
        type = committed(type);
        std::vector<int> data(2 * ints), packed(2 * ints);
        std::iota(data.begin(), data.end(), 0);
        int position = 0;
        PMPI_Pack(data.data(), 2, type, packed.data(), 2 * ints * static_cast<int>(sizeof(int)), &position,
                  MPI_COMM_SELF);
        if (rank != 0) data.assign(data.size(), -1);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(data.data(), rank == 0 ? 2 : 2 * ints, rank == 0 ? type : MPI_INT, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(rank == 0 || data == packed, "the ints come in another order");
        MPI_Type_free(&type);
    }
    MPI_Type_free(&row);
}

// Fields of small vectors, of which the outermost type alone is committed: without gaps, with gaps, a vector of
// structs.
void parts_not_committed(const Wardrobe&) {
    constexpr int cells = 10000;
    MPI_Datatype point = MPI_DATATYPE_NULL, gap = MPI_DATATYPE_NULL, twice = MPI_DATATYPE_NULL, types[3];
    MPI_Type_contiguous(3, MPI_DOUBLE, &point);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &gap);
    const int lengths[2] = {1, 1};
    const MPI_Aint at[2] = {0, 3 * sizeof(double)};
    const MPI_Datatype parts[2] = {point, point};
    MPI_Type_create_struct(2, lengths, at, parts, &twice);
    MPI_Type_contiguous(cells, point, &types[0]);
    MPI_Type_contiguous(cells, gap, &types[1]);
    MPI_Type_vector(cells / 2, 1, 1, twice, &types[2]);
    for (MPI_Datatype* part : {&point, &gap, &twice}) MPI_Type_free(part);
    const int rank = rank_in(MPI_COMM_WORLD);
    for (MPI_Datatype& type : types) {
        type = committed(type);
        int size = 0;
        MPI_Type_size(type, &size);
        std::vector<double> data(3 * cells), packed(static_cast<std::size_t>(size) / sizeof(double));
        std::iota(data.begin(), data.end(), 0);
        int position = 0;
        PMPI_Pack(data.data(), 1, type, packed.data(), size, &position, MPI_COMM_SELF);
        std::vector<double> got(packed.size());
        const int count = rank == 0 ? 1 : static_cast<int>(got.size());
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(rank == 0 ? data.data() : got.data(), count, rank == 0 ? type : MPI_DOUBLE, 0, MPI_COMM_WORLD,
                   &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(rank == 0 || got == packed, "the numbers come in another order");
        MPI_Type_free(&type);
    }
}

// Nobody touches the memory of a broadcast to oneself: what has no gaps is not packed, what has some is handed back.
void elements_beyond_2_gib(const Wardrobe&) {
    constexpr int half = 1'200'000'000;
    const Forbidden forbidden(std::size_t{half} * 4);
    MPI_Datatype dense = MPI_DATATYPE_NULL, gaps = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(half, MPI_SHORT, &dense);
    MPI_Type_vector(2, half, half + 100, MPI_BYTE, &gaps);
    broadcast_to_oneself(forbidden.memory(), dense = committed(dense));
    broadcast_to_oneself(forbidden.memory(), gaps = committed(gaps));
    MPI_Type_free(&dense);
    MPI_Type_free(&gaps);
}

// Blocks from the middle of the memory to both sides, without gaps in them: where the lowest begins is below what the
// program names.
void displacements_below_zero(const Wardrobe&) {
    const int size = size_of(MPI_COMM_WORLD), rank = rank_in(MPI_COMM_WORLD), middle = 3 * (size / 2);
    std::vector<int> counts(static_cast<std::size_t>(size), 2), at(counts.size());
    for (int i = 0; i < size; ++i) at[static_cast<std::size_t>(i)] = 3 * i - middle;
    const int mine[2] = {10 * rank, 10 * rank + 1};
    std::vector<int> gathered(3 * counts.size(), -1), exchanged(gathered), given(gathered);
    for (int i = 0; i < size; ++i)
        for (int k = 0; k < 2; ++k) given[static_cast<std::size_t>(3 * i + k)] = 100 * rank + 10 * i + k;
    MPI_Request requests[2];
    MPI_Iallgatherv(mine, 2, MPI_INT, gathered.data() + middle, counts.data(), at.data(), MPI_INT, MPI_COMM_WORLD,
                    &requests[0]);
    MPI_Ialltoallv(given.data() + middle, counts.data(), at.data(), MPI_INT, exchanged.data() + middle, counts.data(),
                   at.data(), MPI_INT, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < size; ++i) {
        const std::size_t block = 3 * static_cast<std::size_t>(i);
        expect(gathered[block] == 10 * i && gathered[block + 1] == 10 * i + 1, "a gathered block is wrong");
        expect(exchanged[block] == 100 * i + 10 * rank && exchanged[block + 1] == 100 * i + 10 * rank + 1,
               "an exchanged block is wrong");
        expect(gathered[block + 2] == -1 && exchanged[block + 2] == -1, "a gap was written");
    }
}

// Without a gap, in an order that the low bytes of addresses do not tell.
void blocks_of_256_bytes_swapped(const Wardrobe&) {
    constexpr int half = 64, ints = 2 * half;
    const int lengths[2] = {half, half}, swapped[2] = {half, 0}, rank = rank_in(MPI_COMM_WORLD);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_indexed(2, lengths, swapped, MPI_INT, &type);
    type = committed(type);
    std::vector<int> data(ints);
    std::iota(data.begin(), data.end(), 1000 * rank);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(data.data(), rank == 0 ? 1 : ints, rank == 0 ? type : MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(data[0] == (rank == 0 ? 0 : half) && data[half] == (rank == 0 ? half : 0),
           "the halves are in another order");
    MPI_Type_free(&type);
}

// A new type may have the handle of one that was freed, and is another all the same.
void types_that_come_and_go(const Wardrobe&) {
    const int rank = rank_in(MPI_COMM_WORLD);
    for (int count = 1; count <= 24; ++count) {
        const int stride = 1 + count % 3;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_vector(count, 1, stride, MPI_INT, &type);
        type = committed(type);
        std::vector<int> data(static_cast<std::size_t>(count * stride), rank == 0 ? count : -1);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(data.data(), 1, type, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < count * stride; ++i)
            expect(data[static_cast<std::size_t>(i)] == (rank == 0 || i % stride == 0 ? count : -1),
                   "an element is another type's");
        MPI_Type_free(&type);
    }
}

// A collective before a message in one list: indices and statuses are the list's, whoever the request belongs to.
void requests_of_both_kinds(const Wardrobe&) {
    const int size = size_of(MPI_COMM_WORLD), rank = rank_in(MPI_COMM_WORLD);
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    for (int way = 0; way < 5; ++way) {
        const int one = 1, sent[3] = {rank, rank, rank};
        int sum = 0, got[3] = {}, flag = 0, some = 0, indices[2] = {}, seen[2] = {};
        MPI_Request requests[2], sending = MPI_REQUEST_NULL;
        MPI_Status statuses[2], found[2] = {};
        for (MPI_Status& status : found) MPI_Status_set_elements(&status, MPI_INT, 2);
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(got, 3, MPI_INT, before, 21, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(sent, 3, MPI_INT, after, 21, MPI_COMM_WORLD, &sending);
        if (way == 0) MPI_Waitall(2, requests, found);
        while (way == 1 && flag == 0) MPI_Testall(2, requests, &flag, found);
        for (const MPI_Request& request : requests)  // both finished: told of at once, each with its own status
            for (flag = 0; way == 4 && flag == 0;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        for (int left = 2; way > 1 && left > 0; left -= some) {
            for (MPI_Status& status : statuses) MPI_Status_set_elements(&status, MPI_INT, 2);
            some = 1;
            if (way != 3)
                MPI_Waitsome(2, requests, &some, indices, statuses);
            else
                MPI_Waitany(2, requests, &indices[0], &statuses[0]);
            expect(way != 4 || some == 2, "a finished request is left out");
            for (int i = 0; i < some; ++i) {
                expect(indices[i] == 0 || indices[i] == 1, "an index is not the list's");
                expect(++seen[indices[i]] == 1, "a request is told twice");
                found[indices[i]] = statuses[i];
            }
        }
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        int of_ours = -1, of_message = -1;
        MPI_Get_count(&found[0], MPI_INT, &of_ours);
        MPI_Get_count(&found[1], MPI_INT, &of_message);
        expect(sum == size && got[2] == before, "the result is wrong");
        expect(of_ours == 0, "the status of a collective tells of elements");
        expect(of_message == 3 && found[1].MPI_TAG == 21 && found[1].MPI_SOURCE == before,
               "a status is not the list's");
        expect(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "a finished request is left");
    }
}

#if MPI_VERSION >= 4
void duplicates_with_info(const Wardrobe&) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int one = 1, sum = 0;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(sum == size_of(MPI_COMM_WORLD), "the sum is wrong");
    MPI_Comm_free(&made);
}
#endif

}  // namespace loom::workout
