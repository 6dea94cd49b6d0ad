// The Fortran functions that differ from C's in nothing but how arguments are passed: tables, one line for each.
#include "mpi/abi/fortran/arguments.hpp"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include "mpi/abi/rows.hpp"

#if defined(OPEN_MPI)
namespace loom::mpi::fortran {

Peers all_ranks(MPI_Comm comm) {
    int between = 0, size = 0;
    PMPI_Comm_test_inter(comm, &between);
    if (between != 0)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return {size, size};
}

Peers neighbours(MPI_Comm comm) {
    int kind = MPI_UNDEFINED, rank = 0, number = 0, weighted = 0;
    Peers peers;
    PMPI_Topo_test(comm, &kind);
    switch (kind) {
        case MPI_CART:
            PMPI_Cartdim_get(comm, &number);
            return {2 * number, 2 * number};
        case MPI_GRAPH:
            PMPI_Comm_rank(comm, &rank);
            PMPI_Graph_neighbors_count(comm, rank, &number);
            return {number, number};
        case MPI_DIST_GRAPH:
            PMPI_Dist_graph_neighbors_count(comm, &peers.sources, &peers.destinations, &weighted);
            return peers;
        default:
            return {};
    }
}

}  // namespace loom::mpi::fortran
#endif

using loom::mpi::fortran::call;

// By the number of parameters, the last one for the result apart.
// clang-format off
#define LOOM_PARAMETERS_1 void* a
#define LOOM_PARAMETERS_2 LOOM_PARAMETERS_1, void* b
#define LOOM_PARAMETERS_3 LOOM_PARAMETERS_2, void* c
#define LOOM_PARAMETERS_4 LOOM_PARAMETERS_3, void* d
#define LOOM_PARAMETERS_5 LOOM_PARAMETERS_4, void* e
#define LOOM_PARAMETERS_6 LOOM_PARAMETERS_5, void* f
#define LOOM_PARAMETERS_7 LOOM_PARAMETERS_6, void* g
#define LOOM_PARAMETERS_8 LOOM_PARAMETERS_7, void* h
#define LOOM_PARAMETERS_9 LOOM_PARAMETERS_8, void* i
#define LOOM_PARAMETERS_10 LOOM_PARAMETERS_9, void* j
#define LOOM_PARAMETERS_11 LOOM_PARAMETERS_10, void* k
#define LOOM_PARAMETERS_12 LOOM_PARAMETERS_11, void* l
#define LOOM_GIVEN_1 a
#define LOOM_GIVEN_2 LOOM_GIVEN_1, b
#define LOOM_GIVEN_3 LOOM_GIVEN_2, c
#define LOOM_GIVEN_4 LOOM_GIVEN_3, d
#define LOOM_GIVEN_5 LOOM_GIVEN_4, e
#define LOOM_GIVEN_6 LOOM_GIVEN_5, f
#define LOOM_GIVEN_7 LOOM_GIVEN_6, g
#define LOOM_GIVEN_8 LOOM_GIVEN_7, h
#define LOOM_GIVEN_9 LOOM_GIVEN_8, i
#define LOOM_GIVEN_10 LOOM_GIVEN_9, j
#define LOOM_GIVEN_11 LOOM_GIVEN_10, k
#define LOOM_GIVEN_12 LOOM_GIVEN_11, l

// F(name in Fortran, name in C, number of parameters).
#define LOOM_REQUEST_CALLS(F) \
    F(wait, Wait, 2) F(test, Test, 3) F(start, Start, 1) F(request_free, Request_free, 1) \
    F(request_get_status, Request_get_status, 3) F(op_free, Op_free, 1) F(type_free, Type_free, 1)

#define LOOM_MESSAGE_CALLS(F) \
    F(send, Send, 6) F(ssend, Ssend, 6) F(rsend, Rsend, 6) F(recv, Recv, 7) F(mrecv, Mrecv, 5) \
    F(sendrecv, Sendrecv, 12) F(sendrecv_replace, Sendrecv_replace, 9)

#define LOOM_PROBE_CALLS(F) \
    F(probe, Probe, 4) F(iprobe, Iprobe, 5) F(mprobe, Mprobe, 5) F(improbe, Improbe, 6)

#define LOOM_COMMUNICATOR_CALLS(F) \
    F(comm_dup, Comm_dup, 2) F(comm_dup_with_info, Comm_dup_with_info, 3) F(comm_idup, Comm_idup, 3) \
    F(comm_split, Comm_split, 4) F(comm_split_type, Comm_split_type, 5) \
    F(comm_create, Comm_create, 3) F(comm_create_group, Comm_create_group, 4) \
    F(comm_set_info, Comm_set_info, 2) F(comm_disconnect, Comm_disconnect, 1) \
    F(intercomm_create, Intercomm_create, 6) F(intercomm_merge, Intercomm_merge, 3) \
    F(cart_create, Cart_create, 6) F(cart_sub, Cart_sub, 3) F(graph_create, Graph_create, 6) \
    F(dist_graph_create, Dist_graph_create, 9) F(dist_graph_create_adjacent, Dist_graph_create_adjacent, 10)

#define LOOM_WINDOW_CALLS(F) \
    F(win_create_dynamic, Win_create_dynamic, 3) F(win_allocate, Win_allocate, 6) \
    F(win_allocate_shared, Win_allocate_shared, 6) F(win_free, Win_free, 1) \
    F(win_fence, Win_fence, 2) F(win_start, Win_start, 3) F(win_complete, Win_complete, 1) F(win_wait, Win_wait, 1) \
    F(win_test, Win_test, 2) \
    F(win_lock, Win_lock, 4) F(win_lock_all, Win_lock_all, 2) F(win_unlock, Win_unlock, 2) \
    F(win_unlock_all, Win_unlock_all, 1) F(win_flush, Win_flush, 2) F(win_flush_all, Win_flush_all, 1) \
    F(win_flush_local, Win_flush_local, 2) F(win_flush_local_all, Win_flush_local_all, 1) \
    F(file_close, File_close, 1)
// clang-format on

#define LOOM_CALL(X, LOWER, NAME, NUMBER)                           \
    LOOM_FORTRAN(X, LOWER, LOOM_PARAMETERS_##NUMBER, void* error) { \
        call(MPI_##NAME, error, LOOM_GIVEN_##NUMBER);               \
    }
#define LOOM_PLAIN_CALL(LOWER, NAME, NUMBER) LOOM_CALL(, LOWER, NAME, NUMBER)

extern "C" {

LOOM_REQUEST_CALLS(LOOM_PLAIN_CALL)
LOOM_PROBE_CALLS(LOOM_PLAIN_CALL)
LOOM_COMMUNICATOR_CALLS(LOOM_PLAIN_CALL)
LOOM_WINDOW_CALLS(LOOM_PLAIN_CALL)

#if defined(OPEN_MPI)

// The collectives: their arguments are in rows.hpp, whatever these are in C.
#define LOOM_BY_REFERENCE(TYPE, NAME) void *NAME,
#define LOOM_ROW(OPERATION, P) LOOM_ROW_##OPERATION(P, int, int, MPI_Aint)
#define LOOM_COLLECTIVE_CALLS(OPERATION, NAME, WHAT)                                                                \
    LOOM_FORTRAN(, OPERATION, LOOM_ROW(OPERATION, LOOM_BY_REFERENCE) void* comm, void* error) {                     \
        call(MPI_##NAME, error, LOOM_ROW(OPERATION, LOOM_ARGUMENT) comm);                                           \
    }                                                                                                               \
    LOOM_FORTRAN(, i##OPERATION, LOOM_ROW(OPERATION, LOOM_BY_REFERENCE) void* comm, void* request, void* error) {   \
        call(MPI_I##OPERATION, error, LOOM_ROW(OPERATION, LOOM_ARGUMENT) comm, request);                            \
    }                                                                                                               \
    LOOM_FORTRAN(x, OPERATION##_init, LOOM_ROW(OPERATION, LOOM_BY_REFERENCE) void* comm, void* info, void* request, \
                 void* error) {                                                                                     \
        call(MPIX_##NAME##_init, error, LOOM_ROW(OPERATION, LOOM_ARGUMENT) comm, info, request);                    \
    }
LOOM_MPI_COLLECTIVES(LOOM_COLLECTIVE_CALLS)
LOOM_MESSAGE_CALLS(LOOM_PLAIN_CALL)
LOOM_PLAIN_CALL(win_create, Win_create, 6)

// The module mpi has these for addresses of the type C_PTR.
#define LOOM_SECOND_NAME(LOWER)                                                                 \
    decltype(ompi_##LOWER##_f) mpi_##LOWER##_cptr_ __attribute__((alias("ompi_" #LOWER "_f"))); \
    decltype(ompi_##LOWER##_f) pmpi_##LOWER##_cptr_ __attribute__((alias("ompi_" #LOWER "_f")));
LOOM_SECOND_NAME(win_allocate)
LOOM_SECOND_NAME(win_allocate_shared)

#else

LOOM_PLAIN_CALL(barrier, Barrier, 1)
LOOM_PLAIN_CALL(ibarrier, Ibarrier, 2)
LOOM_PLAIN_CALL(barrier_init, Barrier_init, 3)
LOOM_PLAIN_CALL(comm_idup_with_info, Comm_idup_with_info, 4)
LOOM_PLAIN_CALL(buffer_detach, Buffer_detach, 2)
LOOM_CALL(_large, buffer_detach, Buffer_detach_c, 2)
LOOM_CALL(_large, win_allocate, Win_allocate_c, 6)
LOOM_CALL(_large, win_allocate_shared, Win_allocate_shared_c, 6)

#endif

}  // extern "C"
