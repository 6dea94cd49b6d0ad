// Datatypes: where the bytes of an element lie, and what a predefined reduction takes them for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "loom/mpi/kernels.hpp"
#include "loom/twin_mpi/mpi.h"

namespace loom::twin_mpi {

struct Piece {
    std::int64_t at = 0;  // from the element's address
    std::uint64_t bytes = 0;
};

struct Type {
    std::uint64_t size = 0;   // as MPI_Type_size says
    std::uint64_t moved = 0;  // bytes of an element that are sent: those of pairs with their padding
    std::int64_t lower = 0, extent = 0;
    std::vector<Piece> pieces;  // in the order of the type map; neighbours are one
    mpi::Scalar scalar = mpi::Scalar::none;
    bool committed = false;

    // Elements lie one after the other without a gap.
    [[nodiscard]] bool is_plain() const {
        return pieces.empty() || (pieces.size() == 1 && pieces.front().at == 0 &&
                                  pieces.front().bytes == static_cast<std::uint64_t>(extent));
    }
};

// By the number of its handle; null for other numbers. The same for all ranks.
[[nodiscard]] const Type* predefined_type(std::uintptr_t number);
inline constexpr std::uintptr_t predefined_types = 38;

// `length` elements of `old`, at each of these byte displacements.
struct Part {
    std::int64_t at = 0;
    std::uint64_t length = 1;
    const Type* old = nullptr;
};
[[nodiscard]] Type make_type(const std::vector<Part>& parts);

void pack(const Type& type, const std::byte* memory, std::uint64_t count, std::byte* packed);
// `bytes` may end inside an element.
void unpack(const Type& type, std::byte* memory, const std::byte* packed, std::uint64_t bytes);

}  // namespace loom::twin_mpi
