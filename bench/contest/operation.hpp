// What is timed: MPI's collectives, with buffers, content and check the same for every library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "loom/coll/mpi_operations.hpp"

namespace loom::bench::coll {

enum class Operation : std::uint32_t {
#define LOOM_OPERATION(OPERATION, NAME, WHAT) OPERATION,
    LOOM_MPI_COLLECTIVES(LOOM_OPERATION)
#undef LOOM_OPERATION
};
inline constexpr std::array operations = {
#define LOOM_NAME(OPERATION, NAME, WHAT) #OPERATION,
    LOOM_MPI_COLLECTIVES(LOOM_NAME)
#undef LOOM_NAME
};

[[nodiscard]] constexpr const char* name(Operation operation) {
    return operations[static_cast<std::size_t>(operation)];
}
[[nodiscard]] constexpr bool has_neighbours(Operation operation) {
    return operation >= Operation::neighbor_allgather;
}

// One rank's part of one call. `bytes` is the whole message of bcast, reduce, allreduce, scan and exscan, and one
// block of the others: as MPI's counts and the usual benchmarks have it. The root is rank 0; reductions add doubles.
struct Shape {
    Operation operation = Operation::barrier;
    std::uint64_t bytes = 0;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    std::vector<std::uint32_t> neighbours;  // of neighbour collectives: who sends to us and to whom we send

    [[nodiscard]] std::uint64_t blocks() const { return has_neighbours(operation) ? neighbours.size() : ranks; }
    [[nodiscard]] std::uint64_t input_bytes() const;
    [[nodiscard]] std::uint64_t output_bytes() const;
};

// Neighbours along the edges of a hypercube, of which every rank has log2(ranks) at most, none twice.
[[nodiscard]] std::vector<std::uint32_t> neighbours_of(std::uint32_t rank, std::uint32_t ranks);

// What the rank gives, and an output of which every byte is wrong. bcast has one buffer, the output.
void fill(const Shape& shape, std::byte* input, std::byte* output);
// Where the output first differs from what MPI's standard says.
[[nodiscard]] std::optional<std::uint64_t> first_wrong(const Shape& shape, const std::byte* output);

}  // namespace loom::bench::coll
