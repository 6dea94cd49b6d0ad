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
