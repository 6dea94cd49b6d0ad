/* MPI for programs that `loom twin run --mpi` runs in virtual time; C and C++. Written from the MPI standard, version
   3.1: what stands here means what it says there, and what does not stand here is not there (docs/twin.md has the
   list). The functions have names of their own for the linker, so that no other MPI library can take their place. */
#ifndef LOOM_TWIN_MPI_H
#define LOOM_TWIN_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#define LOOM_TWIN_MPI 1

typedef struct loom_mpi_comm* MPI_Comm;
typedef struct loom_mpi_type* MPI_Datatype;
typedef struct loom_mpi_op* MPI_Op;
typedef struct loom_mpi_request* MPI_Request;
typedef struct loom_mpi_errhandler* MPI_Errhandler;
typedef intptr_t MPI_Aint;
typedef long long MPI_Count;
typedef long long MPI_Offset;

typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int loom_cancelled;
    long long loom_bytes;
} MPI_Status;

typedef void MPI_User_function(void* in, void* inout, int* count, MPI_Datatype* type);

#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_BOTTOM ((void*)0)
#define MPI_IN_PLACE ((void*)1)

#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_PROC_NULL (-2)
#define MPI_UNDEFINED (-32766)
#define MPI_MAX_PROCESSOR_NAME 128
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_LIBRARY_VERSION_STRING 256

enum { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };
enum { MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL };

enum {
    MPI_SUCCESS,
    MPI_ERR_BUFFER,
    MPI_ERR_COUNT,
    MPI_ERR_TYPE,
    MPI_ERR_TAG,
    MPI_ERR_COMM,
    MPI_ERR_RANK,
    MPI_ERR_REQUEST,
    MPI_ERR_ROOT,
    MPI_ERR_OP,
    MPI_ERR_TOPOLOGY,
    MPI_ERR_DIMS,
    MPI_ERR_ARG,
    MPI_ERR_TRUNCATE,
    MPI_ERR_OTHER,
    MPI_ERR_IN_STATUS,
    MPI_ERR_LASTCODE
};

#define LOOM_MPI_HANDLE(type, number) ((type)(intptr_t)(number))

#define MPI_COMM_NULL LOOM_MPI_HANDLE(MPI_Comm, 0)
#define MPI_COMM_WORLD LOOM_MPI_HANDLE(MPI_Comm, 1)
#define MPI_COMM_SELF LOOM_MPI_HANDLE(MPI_Comm, 2)
#define MPI_REQUEST_NULL LOOM_MPI_HANDLE(MPI_Request, 0)
#define MPI_ERRHANDLER_NULL LOOM_MPI_HANDLE(MPI_Errhandler, 0)
#define MPI_ERRORS_ARE_FATAL LOOM_MPI_HANDLE(MPI_Errhandler, 1)
#define MPI_ERRORS_RETURN LOOM_MPI_HANDLE(MPI_Errhandler, 2)

#define MPI_DATATYPE_NULL LOOM_MPI_HANDLE(MPI_Datatype, 0)
#define MPI_CHAR LOOM_MPI_HANDLE(MPI_Datatype, 1)
#define MPI_SIGNED_CHAR LOOM_MPI_HANDLE(MPI_Datatype, 2)
#define MPI_UNSIGNED_CHAR LOOM_MPI_HANDLE(MPI_Datatype, 3)
#define MPI_BYTE LOOM_MPI_HANDLE(MPI_Datatype, 4)
#define MPI_SHORT LOOM_MPI_HANDLE(MPI_Datatype, 5)
#define MPI_UNSIGNED_SHORT LOOM_MPI_HANDLE(MPI_Datatype, 6)
#define MPI_INT LOOM_MPI_HANDLE(MPI_Datatype, 7)
#define MPI_UNSIGNED LOOM_MPI_HANDLE(MPI_Datatype, 8)
#define MPI_LONG LOOM_MPI_HANDLE(MPI_Datatype, 9)
#define MPI_UNSIGNED_LONG LOOM_MPI_HANDLE(MPI_Datatype, 10)
#define MPI_LONG_LONG LOOM_MPI_HANDLE(MPI_Datatype, 11)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_LONG_LONG LOOM_MPI_HANDLE(MPI_Datatype, 12)
#define MPI_FLOAT LOOM_MPI_HANDLE(MPI_Datatype, 13)
#define MPI_DOUBLE LOOM_MPI_HANDLE(MPI_Datatype, 14)
#define MPI_LONG_DOUBLE LOOM_MPI_HANDLE(MPI_Datatype, 15)
#define MPI_INT8_T LOOM_MPI_HANDLE(MPI_Datatype, 16)
#define MPI_INT16_T LOOM_MPI_HANDLE(MPI_Datatype, 17)
#define MPI_INT32_T LOOM_MPI_HANDLE(MPI_Datatype, 18)
#define MPI_INT64_T LOOM_MPI_HANDLE(MPI_Datatype, 19)
#define MPI_UINT8_T LOOM_MPI_HANDLE(MPI_Datatype, 20)
#define MPI_UINT16_T LOOM_MPI_HANDLE(MPI_Datatype, 21)
#define MPI_UINT32_T LOOM_MPI_HANDLE(MPI_Datatype, 22)
#define MPI_UINT64_T LOOM_MPI_HANDLE(MPI_Datatype, 23)
#define MPI_AINT LOOM_MPI_HANDLE(MPI_Datatype, 24)
#define MPI_COUNT LOOM_MPI_HANDLE(MPI_Datatype, 25)
#define MPI_OFFSET LOOM_MPI_HANDLE(MPI_Datatype, 26)
#define MPI_C_BOOL LOOM_MPI_HANDLE(MPI_Datatype, 27)
#define MPI_CXX_BOOL LOOM_MPI_HANDLE(MPI_Datatype, 28)
#define MPI_WCHAR LOOM_MPI_HANDLE(MPI_Datatype, 29)
#define MPI_C_FLOAT_COMPLEX LOOM_MPI_HANDLE(MPI_Datatype, 30)
#define MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_C_DOUBLE_COMPLEX LOOM_MPI_HANDLE(MPI_Datatype, 31)
#define MPI_C_LONG_DOUBLE_COMPLEX LOOM_MPI_HANDLE(MPI_Datatype, 32)
#define MPI_CXX_FLOAT_COMPLEX MPI_C_FLOAT_COMPLEX
#define MPI_CXX_DOUBLE_COMPLEX MPI_C_DOUBLE_COMPLEX
#define MPI_CXX_LONG_DOUBLE_COMPLEX MPI_C_LONG_DOUBLE_COMPLEX
#define MPI_FLOAT_INT LOOM_MPI_HANDLE(MPI_Datatype, 33)
#define MPI_DOUBLE_INT LOOM_MPI_HANDLE(MPI_Datatype, 34)
#define MPI_LONG_INT LOOM_MPI_HANDLE(MPI_Datatype, 35)
#define MPI_2INT LOOM_MPI_HANDLE(MPI_Datatype, 36)
#define MPI_SHORT_INT LOOM_MPI_HANDLE(MPI_Datatype, 37)
#define MPI_LONG_DOUBLE_INT LOOM_MPI_HANDLE(MPI_Datatype, 38)

#define MPI_OP_NULL LOOM_MPI_HANDLE(MPI_Op, 0)
#define MPI_MAX LOOM_MPI_HANDLE(MPI_Op, 1)
#define MPI_MIN LOOM_MPI_HANDLE(MPI_Op, 2)
#define MPI_SUM LOOM_MPI_HANDLE(MPI_Op, 3)
#define MPI_PROD LOOM_MPI_HANDLE(MPI_Op, 4)
#define MPI_LAND LOOM_MPI_HANDLE(MPI_Op, 5)
#define MPI_BAND LOOM_MPI_HANDLE(MPI_Op, 6)
#define MPI_LOR LOOM_MPI_HANDLE(MPI_Op, 7)
#define MPI_BOR LOOM_MPI_HANDLE(MPI_Op, 8)
#define MPI_LXOR LOOM_MPI_HANDLE(MPI_Op, 9)
#define MPI_BXOR LOOM_MPI_HANDLE(MPI_Op, 10)
#define MPI_MAXLOC LOOM_MPI_HANDLE(MPI_Op, 11)
#define MPI_MINLOC LOOM_MPI_HANDLE(MPI_Op, 12)

#define LOOM_MPI(result, name, arguments) result name arguments __asm__("loom_twin_" #name);
#define LOOM_MPI_INT(name, ...) LOOM_MPI(int, name, (__VA_ARGS__))

/* The environment. The clock is that of virtual time, from 0 when the job begins. */
LOOM_MPI_INT(MPI_Init, int* argc, char*** argv)
LOOM_MPI_INT(MPI_Init_thread, int* argc, char*** argv, int required, int* provided)
LOOM_MPI_INT(MPI_Finalize, void)
LOOM_MPI_INT(MPI_Initialized, int* flag)
LOOM_MPI_INT(MPI_Finalized, int* flag)
LOOM_MPI_INT(MPI_Query_thread, int* provided)
LOOM_MPI_INT(MPI_Is_thread_main, int* flag)
LOOM_MPI_INT(MPI_Abort, MPI_Comm comm, int code)
LOOM_MPI_INT(MPI_Get_processor_name, char* name, int* length)
LOOM_MPI_INT(MPI_Get_version, int* version, int* subversion)
LOOM_MPI_INT(MPI_Get_library_version, char* version, int* length)
LOOM_MPI_INT(MPI_Error_string, int code, char* text, int* length)
LOOM_MPI_INT(MPI_Error_class, int code, int* error_class)
LOOM_MPI_INT(MPI_Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler handler)
LOOM_MPI_INT(MPI_Comm_get_errhandler, MPI_Comm comm, MPI_Errhandler* handler)
LOOM_MPI_INT(MPI_Get_address, const void* location, MPI_Aint* address)
LOOM_MPI(double, MPI_Wtime, (void))
LOOM_MPI(double, MPI_Wtick, (void))

/* Communicators and grids. */
LOOM_MPI_INT(MPI_Comm_rank, MPI_Comm comm, int* rank)
LOOM_MPI_INT(MPI_Comm_size, MPI_Comm comm, int* size)
LOOM_MPI_INT(MPI_Comm_dup, MPI_Comm comm, MPI_Comm* made)
LOOM_MPI_INT(MPI_Comm_split, MPI_Comm comm, int colour, int key, MPI_Comm* made)
LOOM_MPI_INT(MPI_Comm_free, MPI_Comm* comm)
LOOM_MPI_INT(MPI_Comm_compare, MPI_Comm first, MPI_Comm second, int* result)
LOOM_MPI_INT(MPI_Dims_create, int nodes, int count, int* dims)
LOOM_MPI_INT(MPI_Cart_create, MPI_Comm comm, int count, const int* dims, const int* periods, int reorder,
             MPI_Comm* made)
LOOM_MPI_INT(MPI_Cartdim_get, MPI_Comm comm, int* count)
LOOM_MPI_INT(MPI_Cart_get, MPI_Comm comm, int most, int* dims, int* periods, int* coords)
LOOM_MPI_INT(MPI_Cart_rank, MPI_Comm comm, const int* coords, int* rank)
LOOM_MPI_INT(MPI_Cart_coords, MPI_Comm comm, int rank, int most, int* coords)
LOOM_MPI_INT(MPI_Cart_shift, MPI_Comm comm, int direction, int steps, int* source, int* dest)

/* Datatypes and operations. */
LOOM_MPI_INT(MPI_Type_size, MPI_Datatype type, int* size)
LOOM_MPI_INT(MPI_Type_get_extent, MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent)
LOOM_MPI_INT(MPI_Type_contiguous, int count, MPI_Datatype old, MPI_Datatype* made)
LOOM_MPI_INT(MPI_Type_vector, int count, int length, int stride, MPI_Datatype old, MPI_Datatype* made)
LOOM_MPI_INT(MPI_Type_create_hvector, int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype* made)
LOOM_MPI_INT(MPI_Type_indexed, int count, const int* lengths, const int* at, MPI_Datatype old, MPI_Datatype* made)
LOOM_MPI_INT(MPI_Type_create_struct, int count, const int* lengths, const MPI_Aint* at, const MPI_Datatype* old,
             MPI_Datatype* made)
LOOM_MPI_INT(MPI_Type_create_resized, MPI_Datatype old, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made)
LOOM_MPI_INT(MPI_Type_dup, MPI_Datatype old, MPI_Datatype* made)
LOOM_MPI_INT(MPI_Type_commit, MPI_Datatype* type)
LOOM_MPI_INT(MPI_Type_free, MPI_Datatype* type)
LOOM_MPI_INT(MPI_Op_create, MPI_User_function* function, int commute, MPI_Op* op)
LOOM_MPI_INT(MPI_Op_free, MPI_Op* op)

/* Messages. Tags are less than 2^24. */
LOOM_MPI_INT(MPI_Send, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
LOOM_MPI_INT(MPI_Ssend, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
LOOM_MPI_INT(MPI_Rsend, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
LOOM_MPI_INT(MPI_Isend, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Issend, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Irsend, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Send_init, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Ssend_init, const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Recv, void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status)
LOOM_MPI_INT(MPI_Irecv, void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Recv_init, void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Sendrecv, const void* sent, int sends, MPI_Datatype send_type, int dest, int send_tag,
             void* received, int receives, MPI_Datatype receive_type, int source, int receive_tag, MPI_Comm comm,
             MPI_Status* status)
LOOM_MPI_INT(MPI_Sendrecv_replace, void* buffer, int count, MPI_Datatype type, int dest, int send_tag, int source,
             int receive_tag, MPI_Comm comm, MPI_Status* status)
LOOM_MPI_INT(MPI_Probe, int source, int tag, MPI_Comm comm, MPI_Status* status)
LOOM_MPI_INT(MPI_Iprobe, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status)
LOOM_MPI_INT(MPI_Get_count, const MPI_Status* status, MPI_Datatype type, int* count)

/* Requests. */
LOOM_MPI_INT(MPI_Wait, MPI_Request* request, MPI_Status* status)
LOOM_MPI_INT(MPI_Waitall, int count, MPI_Request* requests, MPI_Status* statuses)
LOOM_MPI_INT(MPI_Waitany, int count, MPI_Request* requests, int* index, MPI_Status* status)
LOOM_MPI_INT(MPI_Waitsome, int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses)
LOOM_MPI_INT(MPI_Test, MPI_Request* request, int* flag, MPI_Status* status)
LOOM_MPI_INT(MPI_Testall, int count, MPI_Request* requests, int* flag, MPI_Status* statuses)
LOOM_MPI_INT(MPI_Testany, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status)
LOOM_MPI_INT(MPI_Testsome, int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses)
LOOM_MPI_INT(MPI_Request_free, MPI_Request* request)
LOOM_MPI_INT(MPI_Start, MPI_Request* request)
LOOM_MPI_INT(MPI_Startall, int count, MPI_Request* requests)

/* Collectives. */
LOOM_MPI_INT(MPI_Barrier, MPI_Comm comm)
LOOM_MPI_INT(MPI_Ibarrier, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Bcast, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
LOOM_MPI_INT(MPI_Ibcast, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Gather, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, int root, MPI_Comm comm)
LOOM_MPI_INT(MPI_Igather, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Gatherv, const void* sent, int sends, MPI_Datatype send_type, void* received, const int* receives,
             const int* receive_at, MPI_Datatype receive_type, int root, MPI_Comm comm)
LOOM_MPI_INT(MPI_Igatherv, const void* sent, int sends, MPI_Datatype send_type, void* received,
             const int* receives, const int* receive_at, MPI_Datatype receive_type, int root, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Scatter, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, int root, MPI_Comm comm)
LOOM_MPI_INT(MPI_Iscatter, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Scatterv, const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type,
             void* received, int receives, MPI_Datatype receive_type, int root, MPI_Comm comm)
LOOM_MPI_INT(MPI_Iscatterv, const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type,
             void* received, int receives, MPI_Datatype receive_type, int root, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Allgather, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, MPI_Comm comm)
LOOM_MPI_INT(MPI_Iallgather, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Allgatherv, const void* sent, int sends, MPI_Datatype send_type, void* received,
             const int* receives, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm)
LOOM_MPI_INT(MPI_Iallgatherv, const void* sent, int sends, MPI_Datatype send_type, void* received,
             const int* receives, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Alltoall, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, MPI_Comm comm)
LOOM_MPI_INT(MPI_Ialltoall, const void* sent, int sends, MPI_Datatype send_type, void* received, int receives,
             MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Alltoallv, const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type,
             void* received, const int* receives, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm)
LOOM_MPI_INT(MPI_Ialltoallv, const void* sent, const int* sends, const int* send_at, MPI_Datatype send_type,
             void* received, const int* receives, const int* receive_at, MPI_Datatype receive_type, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Alltoallw, const void* sent, const int* sends, const int* send_at, const MPI_Datatype* send_types,
             void* received, const int* receives, const int* receive_at, const MPI_Datatype* receive_types,
             MPI_Comm comm)
LOOM_MPI_INT(MPI_Ialltoallw, const void* sent, const int* sends, const int* send_at,
             const MPI_Datatype* send_types, void* received, const int* receives, const int* receive_at,
             const MPI_Datatype* receive_types, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Reduce, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root,
             MPI_Comm comm)
LOOM_MPI_INT(MPI_Ireduce, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, int root,
             MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Allreduce, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
LOOM_MPI_INT(MPI_Iallreduce, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Reduce_scatter, const void* sent, void* received, const int* counts, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
LOOM_MPI_INT(MPI_Ireduce_scatter, const void* sent, void* received, const int* counts, MPI_Datatype type,
             MPI_Op op, MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Reduce_scatter_block, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm)
LOOM_MPI_INT(MPI_Ireduce_scatter_block, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm, MPI_Request* request)
LOOM_MPI_INT(MPI_Scan, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
LOOM_MPI_INT(MPI_Iscan, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
             MPI_Request* request)
LOOM_MPI_INT(MPI_Exscan, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
LOOM_MPI_INT(MPI_Iexscan, const void* sent, void* received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
             MPI_Request* request)

#undef LOOM_MPI_INT
#undef LOOM_MPI

#ifdef __cplusplus
}
#endif

#endif
