// What Loomband must know of datatypes: bytes, gaps, and what a reduction can do with them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "loom/mpi/kernels.hpp"

namespace loom::mpi {

struct Type {
    std::uint64_t size = 0;  // bytes of data in an element
    MPI_Aint extent = 0;     // from one element to the next
    MPI_Aint first = 0;      // from the address to the lowest byte
    MPI_Aint span = 0;       // from the lowest byte to behind the highest
    Scalar scalar = Scalar::none;
    bool dense = false;       // the bytes of an element lie in the order of its packed form, without a gap
    bool contiguous = false;  // those of many do too, from the address on

    [[nodiscard]] bool in_order(std::uint64_t count) const { return contiguous || (dense && count <= 1); }
};

// Null for what is no datatype. Predefined ones cost a lookup; derived ones are examined once and then remembered until
// they are freed.
[[nodiscard]] const Type* type_of(MPI_Datatype handle);

// Once, after MPI was initialised.
void learn_types();

// `count` elements at `memory`, and their packed bytes.
struct Piece {
    std::byte* memory = nullptr;
    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::uint64_t size = 0;  // packed bytes of an element
    MPI_Aint extent = 0;
    std::uint64_t at = 0;  // of the packed bytes in their buffer
};
// MPI counts with int: these go in as many calls as it takes. Throw Error where MPI fails, or where one element is more
// than an int holds.
void pack(const Piece& piece, std::byte* packed);
void unpack(const Piece& piece, const std::byte* packed);

}  // namespace loom::mpi
