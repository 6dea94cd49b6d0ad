/* LibNBC's interface (Hoefler 2008, appendix C) on Loomband, for C and C++. In libloom-mpi: link it before the MPI
 * library, or preload it.
 *
 * All functions answer one of the codes below. A handle belongs to one operation at a time, from the call that starts
 * it until NBC_Wait has returned or NBC_Test has answered NBC_OK. It needs no initial value, but for the member tmpbuf
 * before NBC_Start. Operations on a communicator match in the order in which they are started, whoever starts them, MPI_I... included. Every datatype and
 * operation of MPI may be used. Communicators with which Loomband can do nothing (docs/mpi.md) are served by the MPI
 * library; only schedules of one's own cannot run on those. */
#ifndef LOOM_NBC_H
#define LOOM_NBC_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Open MPI has functions of these names inside, which must not be mistaken for ours: ours bear others when linked. */
#define LOOM_NBC(NAME) __asm__("loom_" #NAME)

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

struct loom_nbc_schedule;
typedef struct loom_nbc_schedule* NBC_Schedule;

typedef struct {
    void* tmpbuf;           /* yours, set before NBC_Start: free()d when the operation has ended; NULL for none */
    MPI_Request request;    /* the rest is Loomband's */
    NBC_Schedule* schedule; /* from NBC_Start until the operation has ended */
} NBC_Handle;

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

/* Local operations, at once. */
int NBC_Copy(const void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount, MPI_Datatype tgttype,
             MPI_Comm comm) LOOM_NBC(NBC_Copy);
int NBC_Operation(void* tgt, const void* src1, const void* src2, MPI_Op op, MPI_Datatype type, int count)
    LOOM_NBC(NBC_Operation);

/* Waiting. The lists may be of any length; *flag is 1 when what was asked for is there. */
int NBC_Test(NBC_Handle* handle) LOOM_NBC(NBC_Test); /* NBC_OK or NBC_CONTINUE */
int NBC_Wait(NBC_Handle* handle) LOOM_NBC(NBC_Wait);
int NBC_Waitall(int count, NBC_Handle handles[]) LOOM_NBC(NBC_Waitall);
int NBC_Testall(int count, NBC_Handle handles[], int* flag) LOOM_NBC(NBC_Testall);
int NBC_Waitany(int count, NBC_Handle handles[], int* index)
    LOOM_NBC(NBC_Waitany); /* MPI_UNDEFINED: none was under way */
int NBC_Testany(int count, NBC_Handle handles[], int* index, int* flag) LOOM_NBC(NBC_Testany);

/* The collectives, with arguments as in MPI. */
int NBC_Ibarrier(MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Ibarrier);
int NBC_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle)
    LOOM_NBC(NBC_Ibcast);
int NBC_Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Igather);
int NBC_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
                 const int* displs, MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle)
    LOOM_NBC(NBC_Igatherv);
int NBC_Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Iscatter);
int NBC_Iscatterv(const void* sendbuf, const int* sendcounts, const int* displs, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle)
    LOOM_NBC(NBC_Iscatterv);
int NBC_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Iallgather);
int NBC_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int* recvcounts,
                    const int* displs, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle)
    LOOM_NBC(NBC_Iallgatherv);
int NBC_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Ialltoall);
int NBC_Ialltoallv(const void* sendbuf, const int* sendcounts, const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
                   const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle)
    LOOM_NBC(NBC_Ialltoallv);
int NBC_Ialltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls, const MPI_Datatype* sendtypes,
                   void* recvbuf, const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes,
                   MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Ialltoallw);
int NBC_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                NBC_Handle* handle) LOOM_NBC(NBC_Ireduce);
int NBC_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   NBC_Handle* handle) LOOM_NBC(NBC_Iallreduce);
int NBC_Ireduce_scatter(const void* sendbuf, void* recvbuf, const int* recvcounts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Ireduce_scatter);
int NBC_Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              NBC_Handle* handle) LOOM_NBC(NBC_Iscan);
int NBC_Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                NBC_Handle* handle) LOOM_NBC(NBC_Iexscan);
/* A block to and from each neighbour of a communicator with a topology. */
int NBC_Ineighbor_xchg(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) LOOM_NBC(NBC_Ineighbor_xchg);

#ifdef __cplusplus
}
#endif

#endif
