// The steps of mpi_workout. Each is collective over MPI_COMM_WORLD, works on any number of ranks, and returns how much
// it moved or did; a wrong result throws Error on the rank that sees it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace loom::workout {

// Messages of 0 bytes to 4 MiB around the ring, blocking and not, every byte checked. Returns bytes received here.
std::uint64_t ring(std::uint64_t seed);

// Conjugate gradients for the Poisson equation on an n by n grid in stripes of rows: neighbours exchange edges, all add
// up dot products. The solution is compared with the one that the right-hand side was made of. Returns iterations.
std::size_t conjugate_gradients(std::size_t n);

// Sorts `count` numbers per rank by sampling: all-to-all with lengths that differ. Order, number and sum are checked.
// Returns the numbers that ended up here.
std::size_t sample_sort(std::size_t count, std::uint64_t seed);

// Put, get, accumulate and fetch-and-op on windows, by fences and by locks. Returns the operations checked here.
std::size_t windows(std::uint64_t seed);

}  // namespace loom::workout
