/* LibNBC's interface on Loomband, for C and C++: that of LibNBC 1.1.1, and of Hoefler 2008, appendix C, what 1.1.1 does
 * not show. Where the two differ (NBC_Wait, NBC_Test), it is as in 1.1.1. In libloom-mpi: link it before the MPI
 * library, or preload it.
 *
 * All functions answer one of the codes below. A handle belongs to one operation at a time, from the call that starts
 * it until NBC_Wait has returned or a test has said that it ended. It needs no initial value, but for the member tmpbuf
 * before NBC_Start; with schedule = NULL it counts as ended. Operations of this header match each other, in the order in
 * which they are started on a communicator, and never MPI's own. Every datatype and operation of MPI may be used.
 * Communicators with which Loomband can do nothing (docs/mpi.md) are served by the MPI library; only schedules of one's
 * own cannot run on those. */
#ifndef LOOM_NBC_H
#define LOOM_NBC_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Open MPI has functions of these names inside, which must not be mistaken for ours: ours bear others when linked. */
#define LOOM_NBC(NAME) __asm__("loom_" #NAME)

/* Both names of a function: who defines NBC_... himself, to see the calls, passes them on to PNBC_... */
#define LOOM_NBC_PROFILED(NAME, PARAMETERS)         \
    int NBC_##NAME PARAMETERS LOOM_NBC(NBC_##NAME); \
    int PNBC_##NAME PARAMETERS LOOM_NBC(PNBC_##NAME)

/* LibNBC 1.1.1 has no const. Callers need not care; who defines these functions himself as 1.1.1 declares them compiles
 * with -DNBC_CONST= */
#ifndef NBC_CONST
#define NBC_CONST const
#endif

#define NBC_OK 0
#define NBC_SUCCESS 0
#define NBC_OOR 1                    /* out of resources: memory, contexts */
#define NBC_BAD_SCHED 2              /* the schedule was not created, or names a rank that is not there */
#define NBC_CONTINUE 3               /* not finished yet */
#define NBC_DATATYPE_NOT_SUPPORTED 4 /* MPI_DATATYPE_NULL and the like */
#define NBC_OP_NOT_SUPPORTED 5       /* not defined for the datatype */
#define NBC_NOT_IMPLEMENTED 6        /* a schedule on a communicator that Loomband cannot serve */
#define NBC_INVALID_PARAM 7
#define NBC_INVALID_TOPOLOGY_COMM 8 /* no neighbours */

/* Keys and values for NBC_Comm_set_info. */
#define NBC_BCAST_ALG_INFO_KEY "nbc_bcast_alg"
#define NBC_BCAST_ALG_LINEAR "0"
#define NBC_BCAST_ALG_BINOMIAL "1"
#define NBC_BCAST_ALG_CHAIN "2"
#define NBC_ALLREDUCE_ALG_INFO_KEY "nbc_allreduce_alg"
#define NBC_ALLREDUCE_ALG_BINOMIAL "0"
#define NBC_ALLREDUCE_ALG_RING "1"

struct loom_nbc_schedule;
struct loom_nbc_operation;
typedef struct loom_nbc_schedule* NBC_Schedule;

typedef struct {
    void* tmpbuf;           /* yours, set before NBC_Start: free()d when the operation has ended; NULL for none */
    NBC_Schedule* schedule; /* NULL: the operation has ended, or there is none */
    struct loom_nbc_operation* operation; /* Loomband's */
} NBC_Handle;
typedef NBC_Handle NBC_Request;

/* Building a schedule: rounds of operations. All of a round may be under way at once, the local ones (op, copy) in the
 * order in which they were added; a round begins when the one before it has ended. The n-th send to a rank meets the
 * n-th receive from us there. Memory must stay until the operation has ended. */
int NBC_Sched_create(NBC_Schedule* schedule) LOOM_NBC(NBC_Sched_create);
int NBC_Sched_send(const void* buf, int count, MPI_Datatype datatype, int dest, NBC_Schedule* schedule)
    LOOM_NBC(NBC_Sched_send);
int NBC_Sched_recv(void* buf, int count, MPI_Datatype datatype, int source, NBC_Schedule* schedule)
    LOOM_NBC(NBC_Sched_recv);
/* tgt = src1 (op) src2. */
int NBC_Sched_op(void* tgt, const void* src1, const void* src2, int count, MPI_Datatype datatype, MPI_Op op,
                 NBC_Schedule* schedule) LOOM_NBC(NBC_Sched_op);
int NBC_Sched_copy(const void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount, MPI_Datatype tgttype,
                   NBC_Schedule* schedule) LOOM_NBC(NBC_Sched_copy);
int NBC_Sched_barrier(NBC_Schedule* schedule) LOOM_NBC(NBC_Sched_barrier);
int NBC_Sched_commit(NBC_Schedule* schedule) LOOM_NBC(NBC_Sched_commit);

/* Executing it. The handle owns the schedule from NBC_Start on: `schedule` itself must come from malloc(), and is gone
 * when the operation has ended. So is handle->tmpbuf, which must be set (to NULL or memory of malloc()) before. */
int NBC_Start(NBC_Handle* handle, MPI_Comm comm, NBC_Schedule* schedule) LOOM_NBC(NBC_Start);
int NBC_Progress(NBC_Handle* handle) LOOM_NBC(NBC_Progress); /* NBC_OK or NBC_CONTINUE */
int NBC_Free(NBC_Handle* handle) LOOM_NBC(NBC_Free);
/* What NBC_Start was given, and the number of its sends, receives, operations and copies; NULL and 0 for a collective,
 * whose schedule has no such form. */
int NBC_Get_schedule(NBC_Handle* handle, void** sched, int* size) LOOM_NBC(NBC_Get_schedule);

/* Local operations, at once. */
int NBC_Copy(const void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount, MPI_Datatype tgttype,
             MPI_Comm comm) LOOM_NBC(NBC_Copy);
int NBC_Operation(void* tgt, NBC_CONST void* src1, NBC_CONST void* src2, MPI_Op op, MPI_Datatype type, int count)
    LOOM_NBC(NBC_Operation);

/* Waiting. The status, which may be NULL or MPI_STATUS_IGNORE, is that of a collective: empty. NBC_Test sets *flag as
 * LibNBC does, not as MPI does: NBC_OK, which is 0, when the operation has ended, else NBC_CONTINUE. NBC_Testold
 * answers that code. */
LOOM_NBC_PROFILED(Wait, (NBC_Handle * handle, MPI_Status* status));
LOOM_NBC_PROFILED(Test, (NBC_Handle * handle, int* flag, MPI_Status* status));
LOOM_NBC_PROFILED(Testold, (NBC_Handle * handle));
/* The lists may be of any length; *flag is 1 when what was asked for is there. */
int NBC_Waitall(int count, NBC_Handle handles[]) LOOM_NBC(NBC_Waitall);
int NBC_Testall(int count, NBC_Handle handles[], int* flag) LOOM_NBC(NBC_Testall);
int NBC_Waitany(int count, NBC_Handle handles[], int* index)
    LOOM_NBC(NBC_Waitany); /* MPI_UNDEFINED: none was under way */
int NBC_Testany(int count, NBC_Handle handles[], int* index, int* flag) LOOM_NBC(NBC_Testany);

/* The collectives, with arguments as in MPI. Of Igather(v), Iscatter(v), Ialltoall(v) and the reductions `sendbuf` and
 * `recvbuf` may be the same memory, and either may be MPI_IN_PLACE: in place. */
LOOM_NBC_PROFILED(Ibarrier, (MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ibcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Igather, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Igatherv, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                             NBC_CONST int* recvcounts, NBC_CONST int* displs, MPI_Datatype recvtype, int root,
                             MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Iscatter, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                             int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Iscatterv,
                  (NBC_CONST void* sendbuf, NBC_CONST int* sendcounts, NBC_CONST int* displs, MPI_Datatype sendtype,
                   void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Iallgather, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                               int recvcount, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Iallgatherv, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                NBC_CONST int* recvcounts, NBC_CONST int* displs, MPI_Datatype recvtype, MPI_Comm comm,
                                NBC_Handle* handle));
LOOM_NBC_PROFILED(Ialltoall, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                              int recvcount, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ialltoallv, (NBC_CONST void* sendbuf, NBC_CONST int* sendcounts, NBC_CONST int* sdispls,
                               MPI_Datatype sendtype, void* recvbuf, NBC_CONST int* recvcounts, NBC_CONST int* rdispls,
                               MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ialltoallw,
                  (NBC_CONST void* sendbuf, NBC_CONST int* sendcounts, NBC_CONST int* sdispls,
                   NBC_CONST MPI_Datatype* sendtypes, void* recvbuf, NBC_CONST int* recvcounts, NBC_CONST int* rdispls,
                   NBC_CONST MPI_Datatype* recvtypes, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ireduce, (NBC_CONST void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, int root,
                            MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Iallreduce, (NBC_CONST void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ireduce_scatter, (NBC_CONST void* sendbuf, void* recvbuf, NBC_CONST int* recvcounts,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Iscan, (NBC_CONST void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Iexscan, (NBC_CONST void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                            MPI_Comm comm, NBC_Handle* handle));
/* On an intercommunicator; `root` as in MPI_Bcast there. */
LOOM_NBC_PROFILED(Ibcast_inter,
                  (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle));

/* A block to and from each neighbour of a communicator with a topology, in the order of MPI's neighbour collectives;
 * with `sendbuf` = `recvbuf`, or MPI_IN_PLACE as either, received blocks replace the sent ones. Ixchg
 * is Ialltoall by its first name. Without displacements (w) blocks lie one behind the other. */
LOOM_NBC_PROFILED(Ineighbor_xchg, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ineighbor_xchgv, (NBC_CONST void* sendbuf, NBC_CONST int* sendcounts, NBC_CONST int* sdispls,
                                    MPI_Datatype sendtype, void* recvbuf, NBC_CONST int* recvcounts,
                                    NBC_CONST int* rdispls, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ineighbor_alltoall, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                       int recvcount, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ineighbor_alltoallv,
                  (NBC_CONST void* sendbuf, NBC_CONST int* sendcounts, NBC_CONST int* sdispls, MPI_Datatype sendtype,
                   void* recvbuf, NBC_CONST int* recvcounts, NBC_CONST int* rdispls, MPI_Datatype recvtype,
                   MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ineighbor_alltoallw,
                  (NBC_CONST void* sendbuf, NBC_CONST int* sendcounts, NBC_CONST MPI_Datatype* sendtypes, void* recvbuf,
                   NBC_CONST int* recvcounts, NBC_CONST MPI_Datatype* recvtypes, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ineighbor_allgather, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                        int recvcount, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
LOOM_NBC_PROFILED(Ineighbor_allgatherv, (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                                         NBC_CONST int* recvcounts, NBC_CONST int* displs, MPI_Datatype recvtype,
                                         MPI_Comm comm, NBC_Handle* handle));
/* To the rank `disp` steps along a dimension of a Cartesian communicator, from the one as far on the other side. */
LOOM_NBC_PROFILED(Icart_shift_xchg,
                  (NBC_CONST void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, int direction, int disp, MPI_Comm comm, NBC_Handle* handle));

/* This rank's neighbours: of a grid two for each dimension, MPI_PROC_NULL where there is none. Weights are set on a
 * distributed graph alone, and may be MPI_UNWEIGHTED. NBC_INVALID_PARAM: there are more than `maxindegree` or
 * `maxoutdegree`. */
LOOM_NBC_PROFILED(Comm_neighbors_count, (MPI_Comm comm, int* indegree, int* outdegree, int* weighted));
LOOM_NBC_PROFILED(Comm_neighbors, (MPI_Comm comm, int maxindegree, int sources[], int* sourceweights, int maxoutdegree,
                                   int destinations[], int* destweights));

/* Keeps a copy of `info`, and takes the algorithms that the keys above name for NBC_Ibcast and NBC_Iallreduce on this
 * communicator from then on, where they can do the call: every rank must give the same. MPI_INFO_NULL takes it back. */
int NBC_Comm_set_info(MPI_Comm comm, MPI_Info info) LOOM_NBC(NBC_Comm_set_info);
/* 1 and a copy of that, which is yours to free; 0 when nothing was set. */
int NBC_Comm_get_info(MPI_Comm comm, MPI_Info* info) LOOM_NBC(NBC_Comm_get_info);

/* From the first NBC_Reset_times on, the time spent in starting, testing and waiting is counted; NBC_Print_times prints
 * it on standard output, in microseconds divided by `div`. */
void NBC_Reset_times(void) LOOM_NBC(NBC_Reset_times);
void NBC_Print_times(double div) LOOM_NBC(NBC_Print_times);

#ifdef __cplusplus
}
#endif

#endif
