// nbc.h: the collectives, and waiting for them.
#include <cstdlib>

#include "mpi/abi/nbc_operation.hpp"
#include "mpi/abi/nbc_schedule.hpp"
#include "mpi/abi/rows.hpp"

namespace loom::mpi {

namespace {

// As many as ever were under way at once. Never destroyed: MPI may be finalised after static objects are gone.
loom_nbc_operation* idle_operations = nullptr;

// As in LibNBC: the same memory given twice, or MPI_IN_PLACE as either.
void resolve_in_place(const void*& sendbuf, void*& recvbuf) {
    if (recvbuf == MPI_IN_PLACE) recvbuf = const_cast<void*>(sendbuf);
    if (sendbuf == recvbuf && sendbuf != nullptr) sendbuf = MPI_IN_PLACE;
}
// Of operations in which the root alone has both; the others' second buffer means nothing.
void resolve_in_place_at_root(const void*& sendbuf, void*& recvbuf, int root, MPI_Comm comm) {
    if (sendbuf != recvbuf && sendbuf != MPI_IN_PLACE && recvbuf != MPI_IN_PLACE) [[likely]]
        return;
    int rank = 0, between = 0;
    if (PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between != 0) return;
    PMPI_Comm_rank(comm, &rank);
    if (rank == root)
        resolve_in_place(sendbuf, recvbuf);
    else if (sendbuf == MPI_IN_PLACE)
        sendbuf = recvbuf;
}
// What is received stays where it is sent from.
void resolve_in_place_of_scatter(const void*& sendbuf, void*& recvbuf) {
    if (sendbuf == recvbuf && recvbuf != nullptr) recvbuf = MPI_IN_PLACE;
}

bool ended(loom_nbc_operation& operation) {
    if (operation.native == MPI_REQUEST_NULL) [[likely]] {
        const Guard guard;
        return completed(operation.entry);
    }
    int flag = 0;
    operation.entry.error = PMPI_Test(&operation.native, &flag, MPI_STATUS_IGNORE);
    return flag != 0 || operation.entry.error != MPI_SUCCESS;
}

void wait_for(loom_nbc_operation& operation) {
    if (operation.native != MPI_REQUEST_NULL)
        operation.entry.error = wait_native(&operation.native, MPI_STATUS_IGNORE);
    else
        until([&] { return ended(operation); });
}

// An ended one's handle, or one that holds a schedule that was not started.
int finish(NBC_Handle& handle) {
    int code = NBC_OK;
    if (handle.operation != nullptr) {
        code = nbc_code_of(handle.operation->entry.error);
        delete_schedule(handle.operation->owned);
        put_back(*handle.operation);
    } else {
        delete_schedule(handle.schedule);
    }
    std::free(handle.tmpbuf);
    handle = {nullptr, nullptr, nullptr};
    return code;
}

// Tests that find nothing give the MPI library's messages a look now and then.
void look_after_test() {
    constexpr std::uint32_t looks_between = 16;
    static thread_local std::uint32_t fruitless = 0;
    if (++fruitless % looks_between != 0 || library().world == nullptr) return;
    int flag = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, library().silent, &flag, MPI_STATUS_IGNORE);
}

int test(NBC_Handle& handle) {
    const Timed timed(Phase::test);
    if (handle.schedule == nullptr) return NBC_OK;
    if (handle.operation != nullptr && !ended(*handle.operation)) {
        advance();
        if (!ended(*handle.operation)) {
            look_after_test();
            return NBC_CONTINUE;
        }
    }
    return finish(handle);
}

int wait(NBC_Handle& handle) {
    const Timed timed(Phase::wait);
    if (handle.schedule == nullptr) return NBC_OK;
    if (handle.operation != nullptr) wait_for(*handle.operation);
    return finish(handle);
}

// One of a list that has ended; `active`: whether any was under way.
struct Found {
    int index = MPI_UNDEFINED;
    bool active = false;
};
Found find_ended(int count, NBC_Handle handles[]) {
    Found found;
    for (int i = 0; i < count; ++i) {
        if (handles[i].schedule == nullptr) continue;
        found.active = true;
        if (handles[i].operation != nullptr && !ended(*handles[i].operation)) continue;
        found.index = i;
        break;
    }
    return found;
}

}  // namespace

loom_nbc_operation& take_nbc_operation() {
    const Guard guard;
    if (idle_operations == nullptr) [[unlikely]]
        return *new loom_nbc_operation;
    loom_nbc_operation& operation = *idle_operations;
    idle_operations = operation.next_idle;
    return operation;
}

void put_back(loom_nbc_operation& operation) {
    const Guard guard;
    Entry& entry = operation.entry;
    entry.state = Entry::State::idle;
    entry.calls_mpi = false;
    entry.error = MPI_SUCCESS;
    operation.native = MPI_REQUEST_NULL;
    operation.owned = nullptr;
    if (!operation.kept.memory.empty()) operation.kept = {};
    operation.next_idle = std::exchange(idle_operations, &operation);
}

int nbc_code_of(int mpi) {
    if (mpi == MPI_SUCCESS) [[likely]]
        return NBC_OK;
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

}  // namespace loom::mpi

using namespace loom::mpi;

extern "C" {

// RESOLVE comes first. Of the first form calls are remembered.
#define LOOM_NBC_FORM(OPERATION, RESOLVE)                                                                              \
    int NBC_I##OPERATION(LOOM_ROW_##OPERATION(LOOM_PARAMETER, int, int, MPI_Aint) MPI_Comm comm, NBC_Handle* handle) { \
        RESOLVE;                                                                                                       \
        return start_nbc_again<Operation::OPERATION>(comm, handle, LOOM_NBC_PREPARE(OPERATION),                        \
                                                     LOOM_NBC_NATIVE(OPERATION)                                        \
                                                         LOOM_ROW_##OPERATION(LOOM_FOLLOWING, , , ));                  \
    }                                                                                                                  \
    LOOM_NBC_ALIAS(I##OPERATION)
#define LOOM_NBC_LISTED_FORM(OPERATION, RESOLVE)                                                                       \
    int NBC_I##OPERATION(LOOM_ROW_##OPERATION(LOOM_PARAMETER, int, int, MPI_Aint) MPI_Comm comm, NBC_Handle* handle) { \
        RESOLVE;                                                                                                       \
        return start_nbc(Operation::OPERATION, comm, handle, LOOM_NBC_PREPARE(OPERATION), LOOM_NBC_NATIVE(OPERATION)); \
    }                                                                                                                  \
    LOOM_NBC_ALIAS(I##OPERATION)
LOOM_NBC_FORM(barrier, )
LOOM_NBC_FORM(bcast, )
LOOM_NBC_FORM(gather, resolve_in_place_at_root(sendbuf, recvbuf, root, comm))
LOOM_NBC_LISTED_FORM(gatherv, resolve_in_place_at_root(sendbuf, recvbuf, root, comm))
LOOM_NBC_FORM(scatter, resolve_in_place_of_scatter(sendbuf, recvbuf))
LOOM_NBC_LISTED_FORM(scatterv, resolve_in_place_of_scatter(sendbuf, recvbuf))
LOOM_NBC_FORM(allgather, )
LOOM_NBC_LISTED_FORM(allgatherv, )
LOOM_NBC_FORM(alltoall, resolve_in_place(sendbuf, recvbuf))
LOOM_NBC_LISTED_FORM(alltoallv, resolve_in_place(sendbuf, recvbuf))
LOOM_NBC_LISTED_FORM(alltoallw, resolve_in_place(sendbuf, recvbuf))
LOOM_NBC_FORM(reduce, resolve_in_place_at_root(sendbuf, recvbuf, root, comm))
LOOM_NBC_FORM(allreduce, resolve_in_place(sendbuf, recvbuf))
LOOM_NBC_LISTED_FORM(reduce_scatter, resolve_in_place(sendbuf, recvbuf))
LOOM_NBC_FORM(scan, resolve_in_place(sendbuf, recvbuf))
LOOM_NBC_FORM(exscan, resolve_in_place(sendbuf, recvbuf))

int NBC_Ibcast_inter(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle) {
    int between = 0;
    if (PMPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between == 0) return NBC_INVALID_PARAM;
    return NBC_Ibcast(buffer, count, type, root, comm, handle);
}
LOOM_NBC_ALIAS(Ibcast_inter)

int NBC_Testold(NBC_Handle* handle) {
    return test(*handle);
}
LOOM_NBC_ALIAS(Testold)

int NBC_Progress(NBC_Handle* handle) {
    return test(*handle);
}

int NBC_Test(NBC_Handle* handle, int* flag, MPI_Status* status) {
    const int code = test(*handle);
    *flag = code == NBC_CONTINUE ? NBC_CONTINUE : NBC_OK;
    if (code != NBC_CONTINUE && status != nullptr) set_empty(status);
    return code == NBC_CONTINUE ? NBC_OK : code;
}
LOOM_NBC_ALIAS(Test)

int NBC_Wait(NBC_Handle* handle, MPI_Status* status) {
    if (status != nullptr) set_empty(status);
    return wait(*handle);
}
LOOM_NBC_ALIAS(Wait)

int NBC_Free(NBC_Handle* handle) {
    return wait(*handle);
}

int NBC_Waitall(int count, NBC_Handle handles[]) {
    int worst = NBC_OK;
    for (int i = 0; i < count; ++i)
        if (const int code = wait(handles[i]); code != NBC_OK) worst = code;
    return worst;
}

int NBC_Testall(int count, NBC_Handle handles[], int* flag) {
    *flag = 1;
    for (int i = 0; i < count; ++i) {
        const int code = test(handles[i]);
        if (code == NBC_CONTINUE) *flag = 0;
        if (code != NBC_CONTINUE && code != NBC_OK) return code;
    }
    return NBC_OK;
}

int NBC_Testany(int count, NBC_Handle handles[], int* index, int* flag) {
    advance();
    const Found found = find_ended(count, handles);
    *index = found.index;
    *flag = found.index != MPI_UNDEFINED || !found.active ? 1 : 0;
    if (found.index != MPI_UNDEFINED) return finish(handles[found.index]);
    if (found.active) look_after_test();
    return NBC_OK;
}

int NBC_Waitany(int count, NBC_Handle handles[], int* index) {
    const Timed timed(Phase::wait);
    Found found;
    until([&] {
        found = find_ended(count, handles);
        return found.index != MPI_UNDEFINED || !found.active;
    });
    *index = found.index;
    return found.index == MPI_UNDEFINED ? NBC_OK : finish(handles[found.index]);
}

}  // extern "C"
