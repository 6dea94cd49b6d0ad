// MPI's functions about datatypes and operations.
#include <algorithm>
#include <climits>
#include <cstddef>

#include "twin_mpi/process.hpp"

namespace loom::twin_mpi {

namespace {

std::uint64_t length_of(int length) {
    require(length >= 0, MPI_ERR_COUNT, "a count is negative");
    return static_cast<std::uint64_t>(length);
}

// `stride` bytes from each block to the next.
Type strided(int count, int length, std::int64_t stride, const Type& old) {
    std::vector<Part> parts(length_of(count));
    for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i] = {static_cast<std::int64_t>(i) * stride, length_of(length), &old};
    return make_type(parts);
}

template <class Make>
int derive(const char* function, MPI_Datatype* made, Make&& make) {
    return guarded(function, MPI_COMM_WORLD, [&](Process& me) { *made = me.add(make(me)); });
}

}  // namespace
}  // namespace loom::twin_mpi

using namespace loom::twin_mpi;

int MPI_Type_size(MPI_Datatype type, int* size) {
    return guarded("MPI_Type_size", MPI_COMM_WORLD, [&](Process& me) {
        const std::uint64_t bytes = me.type(type, false).size;
        *size = bytes > INT_MAX ? MPI_UNDEFINED : static_cast<int>(bytes);
    });
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
    return guarded("MPI_Type_get_extent", MPI_COMM_WORLD, [&](Process& me) {
        const Type& its = me.type(type, false);
        *lower = its.lower;
        *extent = its.extent;
    });
}

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype* made) {
    return derive("MPI_Type_contiguous", made, [&](Process& me) {
        return make_type({{0, length_of(count), &me.type(old, false)}});
    });
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype* made) {
    return derive("MPI_Type_vector", made, [&](Process& me) {
        const Type& its = me.type(old, false);
        return strided(count, length, stride * its.extent, its);
    });
}

int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype* made) {
    return derive("MPI_Type_create_hvector", made,
                  [&](Process& me) { return strided(count, length, stride, me.type(old, false)); });
}

int MPI_Type_indexed(int count, const int* lengths, const int* at, MPI_Datatype old, MPI_Datatype* made) {
    return derive("MPI_Type_indexed", made, [&](Process& me) {
        const Type& its = me.type(old, false);
        std::vector<Part> parts(length_of(count));
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = {at[i] * its.extent, length_of(lengths[i]), &its};
        return make_type(parts);
    });
}

int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* at, const MPI_Datatype* old,
                           MPI_Datatype* made) {
    return derive("MPI_Type_create_struct", made, [&](Process& me) {
        std::vector<Part> parts(length_of(count));
        std::int64_t alignment = 1;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            parts[i] = {at[i], length_of(lengths[i]), &me.type(old[i], false)};
            if (parts[i].old->scalar != loom::mpi::Scalar::none)
                alignment =
                    std::max(alignment, std::min<std::int64_t>(parts[i].old->extent, alignof(std::max_align_t)));
        }
        Type type = make_type(parts);
        type.extent = (type.extent + alignment - 1) / alignment * alignment;
        return type;
    });
}

int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made) {
    return derive("MPI_Type_create_resized", made, [&](Process& me) {
        Type type = me.type(old, false);
        require(extent >= 0, MPI_ERR_ARG, "the extent is negative");
        type.lower = lower;
        type.extent = extent;
        type.committed = false;
        type.scalar = loom::mpi::Scalar::none;
        return type;
    });
}

int MPI_Type_dup(MPI_Datatype old, MPI_Datatype* made) {
    return derive("MPI_Type_dup", made, [&](Process& me) { return me.type(old, false); });
}

int MPI_Type_commit(MPI_Datatype* type) {
    return guarded("MPI_Type_commit", MPI_COMM_WORLD, [&](Process& me) { me.commit(*type); });
}

int MPI_Type_free(MPI_Datatype* type) {
    return guarded("MPI_Type_free", MPI_COMM_WORLD, [&](Process& me) {
        me.remove(*type);
        *type = MPI_DATATYPE_NULL;
    });
}

int MPI_Op_create(MPI_User_function* function, int commute, MPI_Op* op) {
    return guarded("MPI_Op_create", MPI_COMM_WORLD, [&](Process& me) {
        require(function != nullptr, MPI_ERR_ARG, "the function is null");
        *op = me.add(Operation{{}, function, commute != 0});
    });
}

int MPI_Op_free(MPI_Op* op) {
    return guarded("MPI_Op_free", MPI_COMM_WORLD, [&](Process& me) {
        me.remove(*op);
        *op = MPI_OP_NULL;
    });
}
