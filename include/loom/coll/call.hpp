// One call of a collective operation, described in bytes: all that an algorithm needs to write its schedule.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "loom/base/ids.hpp"

namespace loom::coll {

enum class Collective : std::uint8_t {
    barrier,
    broadcast,
    gather,
    gatherv,
    scatter,
    scatterv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,  // also MPI's alltoallw: in bytes they are the same
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    neighbour_allgather,
    neighbour_allgatherv,
    neighbour_alltoall,
    neighbour_alltoallv,
};
inline constexpr std::size_t collectives = 20;

[[nodiscard]] constexpr bool is_reduction(Collective what) {
    return what >= Collective::reduce && what <= Collective::exscan;
}
[[nodiscard]] std::string_view to_string(Collective what);
// Throws UsageError naming those there are.
[[nodiscard]] Collective parse_collective(std::string_view name);

// Blocks by rank (for the neighbour operations by neighbour): `bytes[i]` at `at[i]` of a buffer.
struct Blocks {
    std::span<const std::uint64_t> bytes;
    std::span<const std::uint64_t> at;
};

// Buffers and what is in them are as in the MPI standard, sizes in bytes; blocks of equal size lie one after another in
// the order of ranks. Besides:
// - broadcast has one buffer, the output, at the root too.
// - in_place of gather(v), scatter(v) and reduce is the root's alone (its own block stays where it is); the others
//   always give an input (scatter: an output). Elsewhere all ranks are in place or none.
//   Neighbour operations never are.
// - reduce_scatter in place: the whole input is in the output, the result lies at its beginning, and what lies behind
//   the result is undefined afterwards. Exscan leaves rank 0's output alone.
// - Of ranks that are not the root, a buffer that MPI calls not significant is never touched and may be null.
// The spans need to live only as long as the call that is given them.
struct Call {
    Collective what = Collective::barrier;
    Rank root;  // of broadcast, gather(v), scatter(v), reduce
    std::uint64_t bytes =
        0;  // of the whole message (broadcast, reduce, allreduce, scan, exscan) or of one rank's block
            // (gather, scatter, allgather, alltoall, reduce_scatter_block and the neighbour ones)
    std::uint32_t element = 1;  // bytes of one element: a reduction is never cut inside one
    bool commutative = true;    // whether a reduction may change the order of ranks
    bool in_place = false;  // MPI_IN_PLACE: what the input would be is in the output, by MPI's rules for each operation
    Blocks sent;      // scatterv at the root, alltoallv, neighbour_alltoallv; neighbour_allgatherv: bytes[0]; gatherv:
                      // bytes[0]
    Blocks received;  // gatherv at the root, allgatherv, reduce_scatter (bytes only), alltoallv, neighbour_*v;
                      // scatterv: bytes[0]
};

// A neighbour that is not there, at the border of a grid: its block exists and is left alone.
inline constexpr Rank no_rank{0xffffffffu};

// Who stands beside whom, of neighbour collectives. Blocks follow the order of these lists. Where a rank stands in a
// list more than once, its first message is the first in both lists, and so on (but see grid_neighbours).
struct Neighbours {
    std::vector<Rank> sources;
    std::vector<Rank> destinations;
};

// Cartesian grid; empty dims: there is none. Ranks in row-major order, the last dimension fastest, as MPI has them.
struct Grid {
    std::vector<std::uint32_t> dims;
    std::vector<bool> periodic;
};

// Of each rank of a grid: in every dimension the one before and the one behind, no_rank at a border. On a grid what a
// rank sends backwards is what its neighbour receives from ahead, also where both are the same rank.
[[nodiscard]] std::vector<Neighbours> grid_neighbours(const Grid& grid);

// What is known of the group; the same on every rank but for `me`. Ranks are those of the communicator.
struct Group {
    std::uint32_t size = 1;
    Rank me;
    std::span<const std::uint32_t> hosts;         // by rank, numbered in the order of first appearance
    std::span<const Neighbours> neighbours = {};  // by rank; empty without a topology
    const Grid* grid = nullptr;                   // of a Cartesian one; `neighbours` are then grid_neighbours(*grid)
};

}  // namespace loom::coll
