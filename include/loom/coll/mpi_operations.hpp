// MPI's collectives in the order of the standard: enumerations, names and C functions are made of this one list.
#pragma once

// F(name, Name, what) for each: MPI_Iname and MPI_Name, and the loom::coll::Collective that does it. The barrier, which
// has no counts, apart.
// clang-format off
#define LOOM_MPI_COUNTED_COLLECTIVES(F) \
    F(bcast, Bcast, broadcast) \
    F(gather, Gather, gather) F(gatherv, Gatherv, gatherv) \
    F(scatter, Scatter, scatter) F(scatterv, Scatterv, scatterv) \
    F(allgather, Allgather, allgather) F(allgatherv, Allgatherv, allgatherv) \
    F(alltoall, Alltoall, alltoall) F(alltoallv, Alltoallv, alltoallv) F(alltoallw, Alltoallw, alltoallv) \
    F(reduce, Reduce, reduce) F(allreduce, Allreduce, allreduce) \
    F(reduce_scatter, Reduce_scatter, reduce_scatter) \
    F(reduce_scatter_block, Reduce_scatter_block, reduce_scatter_block) \
    F(scan, Scan, scan) F(exscan, Exscan, exscan) \
    F(neighbor_allgather, Neighbor_allgather, neighbour_allgather) \
    F(neighbor_allgatherv, Neighbor_allgatherv, neighbour_allgatherv) \
    F(neighbor_alltoall, Neighbor_alltoall, neighbour_alltoall) \
    F(neighbor_alltoallv, Neighbor_alltoallv, neighbour_alltoallv) \
    F(neighbor_alltoallw, Neighbor_alltoallw, neighbour_alltoallv)
// clang-format on
#define LOOM_MPI_COLLECTIVES(F) F(barrier, Barrier, barrier) LOOM_MPI_COUNTED_COLLECTIVES(F)
