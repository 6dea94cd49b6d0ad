#include <array>
#include <cstddef>
#include <cstring>

#include "twin_mpi/answers/cases.hpp"

namespace answers {
namespace {

void splitting() {
    MPI_Comm half = MPI_COMM_NULL, copy = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, -rank(), &half);
    const int members = (size() + 1 - rank() % 2) / 2;
    same(size(half), members, "the size of a half");
    const int highest = rank() % 2 == (size() - 1) % 2 ? size() - 1 : size() - 2;
    same(rank(half), (highest - rank()) / 2, "the rank in a half");
    int mine = rank(), sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, half);
    int wanted = 0;
    for (int i = rank() % 2; i < size(); i += 2) wanted += i;
    same(sum, wanted, "the sum of a half");

    MPI_Comm_dup(half, &copy);
    int result = -1;
    MPI_Comm_compare(half, copy, &result);
    same(result, MPI_CONGRUENT, "how a copy compares");
    // The same tag in both: each takes its own.
    const int next = (rank(half) + 1) % members, previous = (rank(half) + members - 1) % members;
    const int in_half = 1, in_copy = 2;
    int from_half = 0, from_copy = 0;
    MPI_Request requests[2];
    MPI_Isend(&in_half, 1, MPI_INT, next, 0, half, &requests[0]);
    MPI_Isend(&in_copy, 1, MPI_INT, next, 0, copy, &requests[1]);
    MPI_Status status;
    MPI_Recv(&from_copy, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &status);
    same(status.MPI_SOURCE, previous, "the source in a copy");
    MPI_Recv(&from_half, 1, MPI_INT, previous, 0, half, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    same(from_half, in_half, "what came in the half");
    same(from_copy, in_copy, "what came in the copy");
    MPI_Comm_free(&copy);
    same(copy == MPI_COMM_NULL, true, "that the copy is gone");
    MPI_Comm_free(&half);

    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() == 0 ? MPI_UNDEFINED : 3, 0, &some);
    same(some == MPI_COMM_NULL, rank() == 0, "that one has none");
    if (some != MPI_COMM_NULL) {
        same(rank(some), rank() - 1, "the rank without the first");
        MPI_Comm_free(&some);
    }
}

void alone() {
    same(size(MPI_COMM_SELF), 1, "the size of oneself");
    int mine = rank(), got = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    same(got, rank(), "what one sent to oneself");
    MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    same(got, rank(), "one's own sum");
}

void grids() {
    int dims[2] = {0, 0};
    const int periods[2] = {1, 0};
    MPI_Dims_create(size(), 2, dims);
    same(dims[0] * dims[1], size(), "the places");
    same(dims[0] >= dims[1], true, "that the first is not smaller");
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    int coords[2] = {-1, -1}, back = -1, count = -1;
    MPI_Cartdim_get(grid, &count);
    same(count, 2, "the dimensions");
    MPI_Cart_coords(grid, rank(grid), 2, coords);
    same(coords[0], rank(grid) / dims[1], "the row");
    same(coords[1], rank(grid) % dims[1], "the column");
    MPI_Cart_rank(grid, coords, &back);
    same(back, rank(grid), "the rank at the place");
    for (int direction = 0; direction < 2; ++direction) {
        int source = -9, dest = -9, got = -1, mine = rank(grid);
        MPI_Cart_shift(grid, direction, 1, &source, &dest);
        MPI_Sendrecv(&mine, 1, MPI_INT, dest, 0, &got, 1, MPI_INT, source, 0, grid, MPI_STATUS_IGNORE);
        same(got, source == MPI_PROC_NULL ? -1 : source, "what came from there");
        if (periods[direction] != 0) same(source != MPI_PROC_NULL, true, "that a ring has no end");
        if (direction == 1) same(dest == MPI_PROC_NULL, coords[1] == dims[1] - 1, "the border");
    }
    int its_dims[2], its_periods[2], its_coords[2];
    MPI_Cart_get(grid, 2, its_dims, its_periods, its_coords);
    same(its_dims[0], dims[0], "a dimension");
    same(its_periods[1], 0, "whether it is a ring");
    same(its_coords[1], coords[1], "a coordinate");
    MPI_Comm_free(&grid);
}

void dimensions() {
    const auto chosen = [](int nodes, std::array<int, 3> dims) {
        MPI_Dims_create(nodes, 3, dims.data());
        return dims;
    };
    same(chosen(6, {0, 0, 0}) == std::array{3, 2, 1}, true, "that 6 is 3 x 2 x 1");
    same(chosen(64, {0, 0, 0}) == std::array{4, 4, 4}, true, "that 64 is 4 x 4 x 4");
    same(chosen(12, {0, 3, 0}) == std::array{2, 3, 2}, true, "that 12 is 2 x 3 x 2");
}

// A column of a matrix of four by five.
void columns() {
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, 5, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    int bytes = -1;
    MPI_Type_size(column, &bytes);
    same(bytes, 4 * 8, "the size");
    MPI_Aint lower = -1, extent = -1;
    MPI_Type_get_extent(column, &lower, &extent);
    same(extent, (3 * 5 + 1) * 8, "the extent");
    std::array<double, 20> mine{}, got{};
    for (int i = 0; i < 20; ++i) mine[static_cast<std::size_t>(i)] = 100 * rank() + i;
    const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
    MPI_Sendrecv(&mine[2], 1, column, next, 0, &got[1], 1, column, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (std::size_t row = 0; row < 4; ++row) {
        same(got[5 * row + 1], 100.0 * previous + 5.0 * static_cast<double>(row) + 2, "an element");
        same(got[5 * row], 0.0, "its neighbour");
    }
    std::array<double, 20> spread{};
    if (rank() == 0) spread = mine;
    MPI_Bcast(&spread[3], 1, column, 0, MPI_COMM_WORLD);
    same(spread[18], 18.0, "the last of a column that all have");
    if (rank() != 0) same(spread[19], 0.0, "what lies behind");
    MPI_Type_free(&column);
}

struct Particle {
    double mass;
    char kind;
    int place[3];
};

void structures() {
    const int lengths[3] = {1, 1, 3};
    const MPI_Aint at[3] = {offsetof(Particle, mass), offsetof(Particle, kind), offsetof(Particle, place)};
    const MPI_Datatype parts[3] = {MPI_DOUBLE, MPI_CHAR, MPI_INT};
    MPI_Datatype loose = MPI_DATATYPE_NULL, particle = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(3, lengths, at, parts, &loose);
    MPI_Type_create_resized(loose, 0, sizeof(Particle), &particle);
    MPI_Type_commit(&particle);
    MPI_Type_free(&loose);
    std::vector<Particle> all(static_cast<std::size_t>(size()));
    const Particle mine{rank() + 0.25, static_cast<char>('a' + rank()), {rank(), 2 * rank(), 3 * rank()}};
    MPI_Allgather(&mine, 1, particle, all.data(), 1, particle, MPI_COMM_WORLD);
    for (int i = 0; i < size(); ++i) {
        const Particle& each = all[static_cast<std::size_t>(i)];
        same(each.mass, i + 0.25, "a mass");
        same(each.kind, 'a' + i, "a kind");
        same(each.place[2], 3 * i, "a place");
    }
    MPI_Type_free(&particle);
}

void pieces() {
    MPI_Datatype pair = MPI_DATATYPE_NULL, picked = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    const int lengths[2] = {1, 2}, at[2] = {3, 0};
    MPI_Type_indexed(2, lengths, at, pair, &picked);
    MPI_Type_commit(&picked);
    std::array<int, 8> mine{0, 1, 2, 3, 4, 5, 6, 7};
    std::array<int, 6> got{};
    MPI_Sendrecv(mine.data(), 1, picked, rank(), 0, got.data(), 6, MPI_INT, rank(), 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    same(got == std::array<int, 6>{6, 7, 0, 1, 2, 3}, true, "that pieces come in the order of the type");
    MPI_Type_free(&pair);
    MPI_Type_free(&picked);
}

// 2 x 2 matrices: the order of ranks matters.
void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
    auto* a = static_cast<double*>(in);
    auto* b = static_cast<double*>(inout);
    for (int i = 0; i < *count; ++i, a += 4, b += 4) {
        const double product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                                   a[2] * b[1] + a[3] * b[3]};
        std::memcpy(b, product, sizeof product);
    }
}

void own_operations() {
    MPI_Datatype matrix = MPI_DATATYPE_NULL;
    MPI_Op product = MPI_OP_NULL;
    MPI_Type_contiguous(4, MPI_DOUBLE, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &product);
    const std::array<double, 8> mine{1, 1.0 + rank(), 0, 1, 1, 0, 2.0 + rank(), 1};
    std::array<double, 8> got{}, wanted{1, 0, 0, 1, 1, 0, 0, 1};
    MPI_Allreduce(mine.data(), got.data(), 2, matrix, product, MPI_COMM_WORLD);
    for (int i = size() - 1; i >= 0; --i) {
        std::array<double, 8> each{1, 1.0 + i, 0, 1, 1, 0, 2.0 + i, 1};
        int two = 2;
        multiply(each.data(), wanted.data(), &two, &matrix);
    }
    for (std::size_t i = 0; i < 8; ++i) same(got[i], wanted[i], "an element of the product");
    MPI_Op_free(&product);
    MPI_Type_free(&matrix);
}

void time_passes() {
    const double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    same(MPI_Wtime() >= begin, true, "that time does not go back");
    same(MPI_Wtick() > 0, true, "that a tick takes time");
}

void errors_that_return() {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    int value = 0, error_class = 0;
    const int code = MPI_Send(&value, 1, MPI_INT, size(), 0, copy);
    MPI_Error_class(code, &error_class);
    same(error_class, MPI_ERR_RANK, "the class of the error");
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    same(length > 0, true, "that there is a text");
    MPI_Comm_free(&copy);
}

void environment() {
    int flag = 0, provided = -1;
    MPI_Initialized(&flag);
    same(flag, 1, "whether it was initialised");
    MPI_Finalized(&flag);
    same(flag, 0, "whether it was finalised");
    MPI_Query_thread(&provided);
    same(provided <= MPI_THREAD_MULTIPLE, true, "that threads are known");
    std::array<char, 1024> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    same(length > 0, true, "that the host has a name");
    MPI_Aint first = 0, second = 0;
    const int numbers[2] = {1, 2};
    MPI_Get_address(&numbers[0], &first);
    MPI_Get_address(&numbers[1], &second);
    same(second - first, 4, "how far they are");
}

}  // namespace

std::vector<Case> other_cases() {
    return {{"splitting", splitting},
            {"alone", alone},
            {"grids", grids},
            {"dimensions", dimensions},
            {"columns", columns},
            {"structures", structures},
            {"pieces", pieces},
            {"own_operations", own_operations},
            {"time_passes", time_passes},
            {"errors_that_return", errors_that_return},
            {"environment", environment}};
}

std::vector<Case> all_cases() {
    std::vector<Case> all = message_cases();
    for (const auto& more : {request_cases(), collective_cases(), other_cases()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace answers
