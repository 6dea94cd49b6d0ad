// Blocking calls of MPI while operations of ours are pending: their non-blocking forms, waited for together with ours.
// A rank that sits in MPI_Recv could otherwise keep a broadcast from those who must have it before they send. With
// nothing pending the calls go straight through.
#include <vector>

#include "mpi/abi/library.hpp"

namespace loom::mpi {

namespace {

// `start(request)` is the non-blocking form.
template <class Start, class Native>
int started_and_waited(MPI_Status* status, Start&& start, Native&& native) {
    if (!busy()) return native();
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = start(&request);
    return error == MPI_SUCCESS ? wait_native(&request, status) : error;
}

// `look(flag)` is the form that answers at once.
template <class Look, class Native>
int looked_for(Look&& look, Native&& native) {
    if (!busy()) return native();
    int flag = 0, error = MPI_SUCCESS;
    until([&] {
        error = look(&flag);
        return flag != 0 || error != MPI_SUCCESS;
    });
    return error;
}

// Calls that only MPI can wait in: a thread looks after ours.
template <class Native>
int with_deputy(Native&& native) {
    const Deputy deputy;
    return native();
}

int send_and_receive(MPI_Request* requests, MPI_Status* status) {
    const int sent = wait_native(&requests[0], MPI_STATUS_IGNORE);
    const int received = wait_native(&requests[1], status);
    return sent != MPI_SUCCESS ? sent : received;
}

}  // namespace

}  // namespace loom::mpi

using namespace loom::mpi;

extern "C" {

// With counts of type N; C ends the names, "_c" for wide ones.
#define LOOM_SENDING(NAME, STARTED, N, C)                                                                       \
    int MPI_##NAME##C(const void* data, N count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {           \
        return started_and_waited(                                                                              \
            MPI_STATUS_IGNORE,                                                                                  \
            [&](MPI_Request* request) { return PMPI_##STARTED##C(data, count, type, to, tag, comm, request); }, \
            [&] { return PMPI_##NAME##C(data, count, type, to, tag, comm); });                                  \
    }

#define LOOM_RECEIVING(N, C)                                                                                          \
    int MPI_Recv##C(void* data, N count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {   \
        return started_and_waited(                                                                                    \
            status, [&](MPI_Request* request) { return PMPI_Irecv##C(data, count, type, from, tag, comm, request); }, \
            [&] { return PMPI_Recv##C(data, count, type, from, tag, comm, status); });                                \
    }                                                                                                                 \
    int MPI_Mrecv##C(void* data, N count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {              \
        return started_and_waited(                                                                                    \
            status, [&](MPI_Request* request) { return PMPI_Imrecv##C(data, count, type, message, request); },        \
            [&] { return PMPI_Mrecv##C(data, count, type, message, status); });                                       \
    }

// What Sendrecv_replace sends leaves its memory first, packed.
#define LOOM_EXCHANGING(N, C)                                                                                        \
    int MPI_Sendrecv##C(const void* sendbuf, N sendcount, MPI_Datatype sendtype, int to, int sendtag, void* recvbuf, \
                        N recvcount, MPI_Datatype recvtype, int from, int recvtag, MPI_Comm comm,                    \
                        MPI_Status* status) {                                                                        \
        if (!busy())                                                                                                 \
            return PMPI_Sendrecv##C(sendbuf, sendcount, sendtype, to, sendtag, recvbuf, recvcount, recvtype, from,   \
                                    recvtag, comm, status);                                                          \
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};                                              \
        int error = PMPI_Irecv##C(recvbuf, recvcount, recvtype, from, recvtag, comm, &requests[1]);                  \
        if (error == MPI_SUCCESS)                                                                                    \
            error = PMPI_Isend##C(sendbuf, sendcount, sendtype, to, sendtag, comm, &requests[0]);                    \
        return error == MPI_SUCCESS ? send_and_receive(requests, status) : error;                                    \
    }                                                                                                                \
    int MPI_Sendrecv_replace##C(void* data, N count, MPI_Datatype type, int to, int sendtag, int from, int recvtag,  \
                                MPI_Comm comm, MPI_Status* status) {                                                 \
        if (!busy()) return PMPI_Sendrecv_replace##C(data, count, type, to, sendtag, from, recvtag, comm, status);   \
        N bytes = 0, position = 0;                                                                                   \
        int error = PMPI_Pack_size##C(count, type, comm, &bytes);                                                    \
        if (error != MPI_SUCCESS) return error;                                                                      \
        std::vector<char> packed(static_cast<std::size_t>(bytes) + 1);                                               \
        error = PMPI_Pack##C(data, count, type, packed.data(), bytes, &position, comm);                              \
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};                                              \
        if (error == MPI_SUCCESS)                                                                                    \
            error = PMPI_Isend##C(packed.data(), position, MPI_PACKED, to, sendtag, comm, &requests[0]);             \
        if (error == MPI_SUCCESS) error = PMPI_Irecv##C(data, count, type, from, recvtag, comm, &requests[1]);       \
        return error == MPI_SUCCESS ? send_and_receive(requests, status) : error;                                    \
    }

#define LOOM_POINT_TO_POINT(N, C)     \
    LOOM_SENDING(Send, Isend, N, C)   \
    LOOM_SENDING(Ssend, Issend, N, C) \
    LOOM_SENDING(Rsend, Irsend, N, C) \
    LOOM_RECEIVING(N, C)              \
    LOOM_EXCHANGING(N, C)

LOOM_POINT_TO_POINT(int, )
#if MPI_VERSION >= 4
LOOM_POINT_TO_POINT(MPI_Count, _c)
#endif

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
    return looked_for([&](int* flag) { return PMPI_Iprobe(from, tag, comm, flag, status); },
                      [&] { return PMPI_Probe(from, tag, comm, status); });
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    if (busy()) advance();
    return PMPI_Iprobe(from, tag, comm, flag, status);
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
    return looked_for([&](int* flag) { return PMPI_Improbe(from, tag, comm, flag, message, status); },
                      [&] { return PMPI_Mprobe(from, tag, comm, message, status); });
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
    if (busy()) advance();
    return PMPI_Improbe(from, tag, comm, flag, message, status);
}

// After a collective of MPI's own, what others sent before it has been seen; after one of ours MPI has to look first.
// MPICH answers and then looks, so a test that fails is made again.
int MPI_Win_test(MPI_Win window, int* flag) {
    if (busy()) advance();
    int error = PMPI_Win_test(window, flag);
    for (int more = 0; more < 2 && error == MPI_SUCCESS && *flag == 0; ++more) {
        look_at_mpi();
        error = PMPI_Win_test(window, flag);
    }
    return error;
}
int MPI_Win_wait(MPI_Win window) {
    return looked_for([&](int* flag) { return PMPI_Win_test(window, flag); }, [&] { return PMPI_Win_wait(window); });
}
int MPI_Win_fence(int assertion, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_fence(assertion, window); });
}
int MPI_Win_start(MPI_Group group, int assertion, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_start(group, assertion, window); });
}
int MPI_Win_complete(MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_complete(window); });
}
int MPI_Win_lock(int kind, int rank, int assertion, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_lock(kind, rank, assertion, window); });
}
int MPI_Win_lock_all(int assertion, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_lock_all(assertion, window); });
}
int MPI_Win_unlock(int rank, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_unlock(rank, window); });
}
int MPI_Win_flush(int rank, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_flush(rank, window); });
}
int MPI_Win_flush_all(MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_flush_all(window); });
}
int MPI_Win_flush_local(int rank, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_flush_local(rank, window); });
}
int MPI_Win_flush_local_all(MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_flush_local_all(window); });
}
int MPI_Win_unlock_all(MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_unlock_all(window); });
}
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
    return with_deputy([&] { return PMPI_Win_create_dynamic(info, comm, window); });
}
int MPI_Win_free(MPI_Win* window) {
    return with_deputy([&] { return PMPI_Win_free(window); });
}
int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    return with_deputy([&] { return PMPI_File_open(comm, name, mode, info, file); });
}
int MPI_File_close(MPI_File* file) {
    return with_deputy([&] { return PMPI_File_close(file); });
}
int MPI_Comm_disconnect(MPI_Comm* comm) {
    return with_deputy([&] { return PMPI_Comm_disconnect(comm); });
}

// Units of type U, sizes of type N.
#define LOOM_WINDOWS(U, N, C)                                                                                          \
    int MPI_Win_create##C(void* base, MPI_Aint size, U unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {          \
        return with_deputy([&] { return PMPI_Win_create##C(base, size, unit, info, comm, window); });                  \
    }                                                                                                                  \
    int MPI_Win_allocate##C(MPI_Aint size, U unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {        \
        return with_deputy([&] { return PMPI_Win_allocate##C(size, unit, info, comm, base, window); });                \
    }                                                                                                                  \
    int MPI_Win_allocate_shared##C(MPI_Aint size, U unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) { \
        return with_deputy([&] { return PMPI_Win_allocate_shared##C(size, unit, info, comm, base, window); });         \
    }                                                                                                                  \
    int MPI_Buffer_detach##C(void* buffer, N* size) {                                                                  \
        return with_deputy([&] { return PMPI_Buffer_detach##C(buffer, size); });                                       \
    }

LOOM_WINDOWS(int, int, )
#if MPI_VERSION >= 4
LOOM_WINDOWS(MPI_Aint, MPI_Count, _c)
#endif

}  // extern "C"
