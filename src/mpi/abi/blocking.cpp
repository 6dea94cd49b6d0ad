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

#define LOOM_SENDING(NAME, STARTED)                                                                          \
    int MPI_##NAME(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {         \
        return started_and_waited(                                                                           \
            MPI_STATUS_IGNORE,                                                                               \
            [&](MPI_Request* request) { return PMPI_##STARTED(data, count, type, to, tag, comm, request); }, \
            [&] { return PMPI_##NAME(data, count, type, to, tag, comm); });                                  \
    }
LOOM_SENDING(Send, Isend)
LOOM_SENDING(Ssend, Issend)
LOOM_SENDING(Rsend, Irsend)
#undef LOOM_SENDING

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    return started_and_waited(
        status, [&](MPI_Request* request) { return PMPI_Irecv(data, count, type, from, tag, comm, request); },
        [&] { return PMPI_Recv(data, count, type, from, tag, comm, status); });
}

int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
    return started_and_waited(
        status, [&](MPI_Request* request) { return PMPI_Imrecv(data, count, type, message, request); },
        [&] { return PMPI_Mrecv(data, count, type, message, status); });
}

int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int to, int sendtag, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int from, int recvtag, MPI_Comm comm, MPI_Status* status) {
    if (!busy())
        return PMPI_Sendrecv(sendbuf, sendcount, sendtype, to, sendtag, recvbuf, recvcount, recvtype, from, recvtag,
                             comm, status);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int error = PMPI_Irecv(recvbuf, recvcount, recvtype, from, recvtag, comm, &requests[1]);
    if (error == MPI_SUCCESS) error = PMPI_Isend(sendbuf, sendcount, sendtype, to, sendtag, comm, &requests[0]);
    return error == MPI_SUCCESS ? send_and_receive(requests, status) : error;
}

// What is sent leaves its memory first, packed.
int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int sendtag, int from, int recvtag,
                         MPI_Comm comm, MPI_Status* status) {
    const auto native = [&] {
        return PMPI_Sendrecv_replace(data, count, type, to, sendtag, from, recvtag, comm, status);
    };
    if (!busy()) return native();
    int bytes = 0, position = 0;
    if (const int error = PMPI_Pack_size(count, type, comm, &bytes); error != MPI_SUCCESS) return error;
    std::vector<char> packed(static_cast<std::size_t>(bytes) + 1);
    int error = PMPI_Pack(data, count, type, packed.data(), bytes, &position, comm);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (error == MPI_SUCCESS) error = PMPI_Isend(packed.data(), position, MPI_PACKED, to, sendtag, comm, &requests[0]);
    if (error == MPI_SUCCESS) error = PMPI_Irecv(data, count, type, from, recvtag, comm, &requests[1]);
    return error == MPI_SUCCESS ? send_and_receive(requests, status) : error;
}

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
int MPI_Win_unlock(int rank, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_unlock(rank, window); });
}
int MPI_Win_flush(int rank, MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_flush(rank, window); });
}
int MPI_Win_flush_all(MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_flush_all(window); });
}
int MPI_Win_unlock_all(MPI_Win window) {
    return with_deputy([&] { return PMPI_Win_unlock_all(window); });
}
int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
    return with_deputy([&] { return PMPI_Win_create(base, size, unit, info, comm, window); });
}
int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
    return with_deputy([&] { return PMPI_Win_create_dynamic(info, comm, window); });
}
int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
    return with_deputy([&] { return PMPI_Win_allocate(size, unit, info, comm, base, window); });
}
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
    return with_deputy([&] { return PMPI_Win_allocate_shared(size, unit, info, comm, base, window); });
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
int MPI_Buffer_detach(void* buffer, int* size) {
    return with_deputy([&] { return PMPI_Buffer_detach(buffer, size); });
}
int MPI_Comm_disconnect(MPI_Comm* comm) {
    return with_deputy([&] { return PMPI_Comm_disconnect(comm); });
}

}  // extern "C"
