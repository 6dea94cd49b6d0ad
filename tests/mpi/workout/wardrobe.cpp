#include <cstring>

#include "mpi/workout/case.hpp"

namespace loom::workout {

namespace {

// Elements may be ints, or have gaps: the type says where they are.
void add_ints(void* in, void* inout, int* count, MPI_Datatype* type) {
    int bytes = 0, at = 0;
    PMPI_Pack_size(*count, *type, MPI_COMM_SELF, &bytes);
    std::vector<char> a(static_cast<std::size_t>(bytes) + 1), b(a.size());
    int size = 0;
    PMPI_Pack(in, *count, *type, a.data(), bytes, &size, MPI_COMM_SELF);
    PMPI_Pack(inout, *count, *type, b.data(), bytes, &at, MPI_COMM_SELF);
    for (int i = 0; i + 4 <= size; i += 4) {
        unsigned x = 0, y = 0;
        std::memcpy(&x, a.data() + i, 4);
        std::memcpy(&y, b.data() + i, 4);
        y += x;
        std::memcpy(b.data() + i, &y, 4);
    }
    at = 0;
    PMPI_Unpack(b.data(), size, &at, inout, *count, *type, MPI_COMM_SELF);
}

void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
    const auto* a = static_cast<const unsigned*>(in);
    auto* b = static_cast<unsigned*>(inout);
    for (int i = 0; i < *count; ++i, a += 4, b += 4) {
        const unsigned product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                                     a[2] * b[1] + a[3] * b[3]};
        std::memcpy(b, product, sizeof product);
    }
}

Between make_between(int side, int leader_of_other) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm half = MPI_COMM_NULL;
    Between made{MPI_COMM_NULL, side};
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader_of_other, 8, &made.comm);
    MPI_Comm_free(&half);
    return made;
}

Clothes committed(MPI_Datatype type, int ints, const char* name) {
    MPI_Type_commit(&type);
    return {type, ints, name};
}

}  // namespace

Wardrobe::Wardrobe() {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    comms = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    comms.push_back(made);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &made);  // the other way round
    comms.push_back(made);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made);
    comms.push_back(made);

    int dims[2] = {0, 0}, wrapped[2] = {0, 0};
    MPI_Dims_create(size, 2, dims);
    wrapped[0] = dims[0] > 2 ? 1 : 0;  // the MPI libraries do not agree on rings of one and two: a scenario has those
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wrapped, 0, &made);
    neighbours.push_back(made);
    int row[2] = {1, 0};
    MPI_Cart_sub(made, row, &made);
    neighbours.push_back(made);
    const int before = (rank + size - 1) % size, after = (rank + 1) % size, across = (rank + size / 2) % size;
    const int sources[2] = {before, (rank + size - size / 2) % size}, destinations[2] = {after, across};
    // MPICH pairs several messages between the same two ranks in another order than the standard: there are none.
    const int degree = size < 4 ? 1 : 2;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, MPI_UNWEIGHTED, degree, destinations,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    neighbours.push_back(made);

    if (size > 1) {
        between.push_back(make_between(rank % 2, 1 - rank % 2));
        const int last = rank == size - 1 ? 1 : 0;
        between.push_back(make_between(last, last == 1 ? 0 : size - 1));
        MPI_Comm_dup(between[0].comm, &made);
        between.push_back({made, between[0].side});
    }

    clothes.push_back({MPI_INT, 1, "ints"});
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, MPI_INT, &type);
    clothes.push_back(committed(type, 3, "triples"));
    MPI_Type_vector(2, 1, 3, MPI_INT, &type);
    clothes.push_back(committed(type, 2, "vectors"));
    MPI_Type_create_resized(MPI_INT, 0, 12, &type);
    clothes.push_back(committed(type, 1, "wide ints"));
    const int lengths[3] = {1, 2, 1}, backwards[3] = {3, 1, 0};
    MPI_Type_indexed(3, lengths, backwards, MPI_INT, &type);
    clothes.push_back(committed(type, 4, "backwards"));  // without a gap, but not in order
    const int ahead[3] = {-2, 0, 3};
    MPI_Type_indexed(3, lengths, ahead, MPI_INT, &type);
    clothes.push_back(committed(type, 4, "before the address"));

    MPI_Op_create(add_ints, 1, &sum);
    MPI_Op_create(multiply, 0, &product);
    MPI_Type_contiguous(4, MPI_INT, &matrix);
    MPI_Type_commit(&matrix);
}

Wardrobe::~Wardrobe() {
    for (std::size_t i = 2; i < comms.size(); ++i) MPI_Comm_free(&comms[i]);
    for (MPI_Comm& comm : neighbours) MPI_Comm_free(&comm);
    for (Between& one : between) MPI_Comm_free(&one.comm);
    for (Clothes& one : clothes)
        if (one.type != MPI_INT) MPI_Type_free(&one.type);
    MPI_Type_free(&matrix);
    MPI_Op_free(&sum);
    MPI_Op_free(&product);
}

}  // namespace loom::workout
