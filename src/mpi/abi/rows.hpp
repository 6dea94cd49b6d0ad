// The arguments of MPI's collectives, once: C functions of three forms and two widths are made of these rows, and the
// Fortran ones too, for each of the list in mpi_operations.hpp. P(TYPE, NAME) stands for an argument; N is the type of
// counts, D that of displacements, W that of displacements in bytes. The communicator comes last and is left out.
#pragma once

#include "loom/coll/mpi_operations.hpp"

#define LOOM_ROW_barrier(P, N, D, W)
#define LOOM_ROW_bcast(P, N, D, W) P(void*, buffer) P(N, count) P(MPI_Datatype, type) P(int, root)
#define LOOM_SEND(P, N) P(const void*, sendbuf) P(N, sendcount) P(MPI_Datatype, sendtype)
#define LOOM_RECV(P, N) P(void*, recvbuf) P(N, recvcount) P(MPI_Datatype, recvtype)
#define LOOM_SENDV(P, N, D) \
    P(const void*, sendbuf) P(const N*, sendcounts) P(const D*, sdispls) P(MPI_Datatype, sendtype)
#define LOOM_RECVV(P, N, D) P(void*, recvbuf) P(const N*, recvcounts) P(const D*, rdispls) P(MPI_Datatype, recvtype)
#define LOOM_SENDW(P, N, D) \
    P(const void*, sendbuf) P(const N*, sendcounts) P(const D*, sdispls) P(const MPI_Datatype*, sendtypes)
#define LOOM_RECVW(P, N, D) \
    P(void*, recvbuf) P(const N*, recvcounts) P(const D*, rdispls) P(const MPI_Datatype*, recvtypes)
#define LOOM_REDUCED(P, N) P(const void*, sendbuf) P(void*, recvbuf) P(N, count) P(MPI_Datatype, type) P(MPI_Op, op)

#define LOOM_ROW_gather(P, N, D, W) LOOM_SEND(P, N) LOOM_RECV(P, N) P(int, root)
#define LOOM_ROW_gatherv(P, N, D, W) LOOM_SEND(P, N) LOOM_RECVV(P, N, D) P(int, root)
#define LOOM_ROW_scatter(P, N, D, W) LOOM_SEND(P, N) LOOM_RECV(P, N) P(int, root)
#define LOOM_ROW_scatterv(P, N, D, W) LOOM_SENDV(P, N, D) LOOM_RECV(P, N) P(int, root)
#define LOOM_ROW_allgather(P, N, D, W) LOOM_SEND(P, N) LOOM_RECV(P, N)
#define LOOM_ROW_allgatherv(P, N, D, W) LOOM_SEND(P, N) LOOM_RECVV(P, N, D)
#define LOOM_ROW_alltoall(P, N, D, W) LOOM_SEND(P, N) LOOM_RECV(P, N)
#define LOOM_ROW_alltoallv(P, N, D, W) LOOM_SENDV(P, N, D) LOOM_RECVV(P, N, D)
#define LOOM_ROW_alltoallw(P, N, D, W) LOOM_SENDW(P, N, D) LOOM_RECVW(P, N, D)
#define LOOM_ROW_reduce(P, N, D, W) LOOM_REDUCED(P, N) P(int, root)
#define LOOM_ROW_allreduce(P, N, D, W) LOOM_REDUCED(P, N)
#define LOOM_ROW_reduce_scatter(P, N, D, W) \
    P(const void*, sendbuf) P(void*, recvbuf) P(const N*, recvcounts) P(MPI_Datatype, type) P(MPI_Op, op)
#define LOOM_ROW_reduce_scatter_block(P, N, D, W) LOOM_REDUCED(P, N)
#define LOOM_ROW_scan(P, N, D, W) LOOM_REDUCED(P, N)
#define LOOM_ROW_exscan(P, N, D, W) LOOM_REDUCED(P, N)
#define LOOM_ROW_neighbor_allgather(P, N, D, W) LOOM_SEND(P, N) LOOM_RECV(P, N)
#define LOOM_ROW_neighbor_allgatherv(P, N, D, W) LOOM_SEND(P, N) LOOM_RECVV(P, N, D)
#define LOOM_ROW_neighbor_alltoall(P, N, D, W) LOOM_SEND(P, N) LOOM_RECV(P, N)
#define LOOM_ROW_neighbor_alltoallv(P, N, D, W) LOOM_SENDV(P, N, D) LOOM_RECVV(P, N, D)
#define LOOM_ROW_neighbor_alltoallw(P, N, D, W) LOOM_SENDW(P, N, W) LOOM_RECVW(P, N, W)

#define LOOM_PARAMETER(TYPE, NAME) TYPE NAME,
#define LOOM_ARGUMENT(TYPE, NAME) NAME,
#define LOOM_FOLLOWING(TYPE, NAME) , NAME
