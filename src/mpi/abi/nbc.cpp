// nbc.h: the collectives and the handles. A handle holds a request as MPI_I... gives it.
#include <cstdlib>
#include <cstring>
#include <vector>

// Not with quotes: it belongs to no room.
#include <loom/nbc.h>

#include "mpi/abi/nbc_schedule.hpp"
#include "mpi/abi/requests.hpp"
#include "mpi/abi/rows.hpp"

namespace loom::mpi {

namespace {

int code_of(int mpi) {
    if (mpi == MPI_SUCCESS) return NBC_OK;
    int kind = MPI_ERR_OTHER;
    PMPI_Error_class(mpi, &kind);
    switch (kind) {
        case MPI_ERR_TYPE:
            return NBC_DATATYPE_NOT_SUPPORTED;
        case MPI_ERR_OP:
            return NBC_OP_NOT_SUPPORTED;
        case MPI_ERR_TOPOLOGY:
            return NBC_INVALID_TOPOLOGY_COMM;
        case MPI_ERR_NO_MEM:
            return NBC_OOR;
        default:
            return NBC_INVALID_PARAM;
    }
}

template <class Start>
int begin(NBC_Handle* handle, Start&& start) {
    handle->tmpbuf = nullptr;
    handle->schedule = nullptr;
    handle->request = MPI_REQUEST_NULL;
    return code_of(start(&handle->request));
}

void end(NBC_Handle& handle) {
    delete_schedule(handle.schedule);
    std::free(handle.tmpbuf);
    handle = {nullptr, MPI_REQUEST_NULL, nullptr};
}

}  // namespace

}  // namespace loom::mpi

using namespace loom::mpi;

extern "C" {

#define LOOM_NBC_FORM(OPERATION)                                                                                       \
    int NBC_I##OPERATION(LOOM_ROW_##OPERATION(LOOM_PARAMETER, int, int, MPI_Aint) MPI_Comm comm, NBC_Handle* handle) { \
        return begin(handle, [&](MPI_Request* request) {                                                               \
            return MPI_I##OPERATION(LOOM_ROW_##OPERATION(LOOM_ARGUMENT, int, int, MPI_Aint) comm, request);            \
        });                                                                                                            \
    }
LOOM_NBC_FORM(barrier)
LOOM_NBC_FORM(bcast)
LOOM_NBC_FORM(gather)
LOOM_NBC_FORM(gatherv)
LOOM_NBC_FORM(scatter)
LOOM_NBC_FORM(scatterv)
LOOM_NBC_FORM(allgather)
LOOM_NBC_FORM(allgatherv)
LOOM_NBC_FORM(alltoall)
LOOM_NBC_FORM(alltoallv)
LOOM_NBC_FORM(alltoallw)
LOOM_NBC_FORM(reduce)
LOOM_NBC_FORM(allreduce)
LOOM_NBC_FORM(reduce_scatter)
LOOM_NBC_FORM(scan)
LOOM_NBC_FORM(exscan)

int NBC_Ineighbor_xchg(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) {
    int kind = MPI_UNDEFINED;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS || kind == MPI_UNDEFINED) return NBC_INVALID_TOPOLOGY_COMM;
    return begin(handle, [&](MPI_Request* request) {
        return MPI_Ineighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
    });
}

int NBC_Test(NBC_Handle* handle) {
    int flag = 0;
    const int result = MPI_Test(&handle->request, &flag, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS && flag == 0) return NBC_CONTINUE;
    end(*handle);
    return code_of(result);
}

int NBC_Progress(NBC_Handle* handle) {
    return NBC_Test(handle);
}

int NBC_Wait(NBC_Handle* handle) {
    const int result = MPI_Wait(&handle->request, MPI_STATUS_IGNORE);
    end(*handle);
    return code_of(result);
}

int NBC_Free(NBC_Handle* handle) {
    return NBC_Wait(handle);
}

int NBC_Waitall(int count, NBC_Handle handles[]) {
    int worst = NBC_OK;
    for (int i = 0; i < count; ++i)
        if (const int code = NBC_Wait(&handles[i]); code != NBC_OK) worst = code;
    return worst;
}

int NBC_Testall(int count, NBC_Handle handles[], int* flag) {
    *flag = 1;
    for (int i = 0; i < count; ++i) {
        const int code = NBC_Test(&handles[i]);
        if (code == NBC_CONTINUE) *flag = 0;
        if (code != NBC_CONTINUE && code != NBC_OK) return code;
    }
    return NBC_OK;
}

int NBC_Testany(int count, NBC_Handle handles[], int* index, int* flag) {
    std::vector<MPI_Request> requests;
    for (int i = 0; i < count; ++i) requests.push_back(handles[i].request);
    const int result = MPI_Testany(count, requests.data(), index, flag, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS && *flag != 0 && *index != MPI_UNDEFINED) end(handles[*index]);
    return code_of(result);
}

int NBC_Waitany(int count, NBC_Handle handles[], int* index) {
    std::vector<MPI_Request> requests;
    for (int i = 0; i < count; ++i) requests.push_back(handles[i].request);
    const int result = MPI_Waitany(count, requests.data(), index, MPI_STATUS_IGNORE);
    if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) end(handles[*index]);
    return code_of(result);
}

}  // extern "C"
