// Waiting and testing.
#include <algorithm>
#include <span>

#include "twin_mpi/process.hpp"

namespace loom::twin_mpi {

namespace {

// Null where nothing is to be waited for.
Request* active(Process& me, MPI_Request handle) {
    if (handle == MPI_REQUEST_NULL) return nullptr;
    Request& request = me.request(handle);
    return request.active ? &request : nullptr;
}

void give(MPI_Status* status, const MPI_Status& from) {
    if (status == nullptr) return;
    const int error = status->MPI_ERROR;  // only functions for several requests set it
    *status = from;
    status->MPI_ERROR = error;
}

// Of one that is finished, or not active.
void take(Process& me, MPI_Request& handle, Request* request, MPI_Status* status) {
    if (request == nullptr) return give(status, empty_status());
    const auto leave = [&] {
        give(status, request->status);
        if (request->persistent) return;
        me.release(*request);
        handle = MPI_REQUEST_NULL;
    };
    try {
        settle(me, *request);
    } catch (const Failure&) {
        leave();
        throw;
    }
    leave();
}

MPI_Status* at(MPI_Status* statuses, int i) {
    return statuses == MPI_STATUSES_IGNORE ? nullptr : statuses + i;
}

// Goes on after one that failed, and says then that something did.
class Several {
public:
    Several(Process& me, std::span<MPI_Request> requests) : me_(me), requests_(requests) {}
    void take_one(int i, Request* request, MPI_Status* status) {
        int code = MPI_SUCCESS;
        try {
            take(me_, requests_[static_cast<std::size_t>(i)], request, status);
        } catch (const Failure& failure) {
            code = failure.code;
            if (why_.empty()) why_ = failure.what();
        }
        if (status != nullptr) status->MPI_ERROR = code;
    }
    void finish() const {
        if (!why_.empty()) throw Failure(MPI_ERR_IN_STATUS, why_);
    }

private:
    Process& me_;
    std::span<MPI_Request> requests_;
    std::string why_;
};

std::span<MPI_Request> list(int count, MPI_Request* requests) {
    require(count >= 0, MPI_ERR_COUNT, "the count is negative");
    require(requests != nullptr || count == 0, MPI_ERR_ARG, "the list of requests is null");
    return {requests, static_cast<std::size_t>(count)};
}

// The first that is finished, or -1; MPI_UNDEFINED when none is active.
int find_finished(Process& me, std::span<MPI_Request> requests) {
    bool any = false;
    for (std::size_t i = 0; i < requests.size(); ++i)
        if (const Request* const request = active(me, requests[i])) {
            if (request->finished()) return static_cast<int>(i);
            any = true;
        }
    return any ? -1 : MPI_UNDEFINED;
}

void look_once(Process& me) {
    if (me.transport.progress()) return;
    if (const auto lost = me.transport.lost()) throw transport::loss_of(*lost, me.transport);
}

// All that are finished, in the order of the list.
int take_finished(Process& me, std::span<MPI_Request> requests, int* indices, MPI_Status* statuses) {
    Several several(me, requests);
    int done = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        Request* const request = active(me, requests[i]);
        if (request == nullptr || !request->finished()) continue;
        several.take_one(static_cast<int>(i), request, at(statuses, done));
        indices[done++] = static_cast<int>(i);
    }
    several.finish();
    return done;
}

void start_again(Process& me, MPI_Request handle) {
    Request& request = me.request(handle);
    require(request.persistent, MPI_ERR_REQUEST, "the request is not persistent");
    require(!request.active, MPI_ERR_REQUEST, "the request is active");
    const MessageCall call = request.call;
    start(me, call, request);
}

}  // namespace
}  // namespace loom::twin_mpi

using namespace loom::twin_mpi;

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    return guarded("MPI_Wait", MPI_COMM_WORLD, [&](Process& me) {
        Request* const waited = active(me, *request);
        if (waited != nullptr) me.wait_for(*waited);
        take(me, *request, waited, status);
    });
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    return guarded("MPI_Waitall", MPI_COMM_WORLD, [&](Process& me) {
        const auto all = list(count, requests);
        for (const MPI_Request each : all)
            if (const Request* const waited = active(me, each)) me.wait_for(*waited);
        Several several(me, all);
        for (int i = 0; i < count; ++i) several.take_one(i, active(me, requests[i]), at(statuses, i));
        several.finish();
    });
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    return guarded("MPI_Waitany", MPI_COMM_WORLD, [&](Process& me) {
        const auto all = list(count, requests);
        while ((*index = find_finished(me, all)) == -1) me.look_or_rest(false);
        if (*index == MPI_UNDEFINED) return give(status, empty_status());
        MPI_Request& found = all[static_cast<std::size_t>(*index)];
        take(me, found, active(me, found), status);
    });
}

int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    return guarded("MPI_Waitsome", MPI_COMM_WORLD, [&](Process& me) {
        const auto all = list(count, requests);
        int first = -1;
        while ((first = find_finished(me, all)) == -1) me.look_or_rest(false);
        *done = first == MPI_UNDEFINED ? MPI_UNDEFINED : take_finished(me, all, indices, statuses);
    });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return guarded("MPI_Test", MPI_COMM_WORLD, [&](Process& me) {
        Request* const tested = active(me, *request);
        if (tested != nullptr && !tested->finished()) look_once(me);
        *flag = tested == nullptr || tested->finished() ? 1 : 0;
        if (*flag != 0) take(me, *request, tested, status);
    });
}

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    return guarded("MPI_Testall", MPI_COMM_WORLD, [&](Process& me) {
        const auto all = list(count, requests);
        const auto finished = [&] {
            return std::all_of(all.begin(), all.end(), [&](MPI_Request each) {
                const Request* const request = active(me, each);
                return request == nullptr || request->finished();
            });
        };
        if (!finished()) look_once(me);
        *flag = finished() ? 1 : 0;
        if (*flag == 0) return;
        Several several(me, all);
        for (int i = 0; i < count; ++i) several.take_one(i, active(me, requests[i]), at(statuses, i));
        several.finish();
    });
}

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    return guarded("MPI_Testany", MPI_COMM_WORLD, [&](Process& me) {
        const auto all = list(count, requests);
        if (find_finished(me, all) == -1) look_once(me);
        *index = find_finished(me, all);
        *flag = *index == -1 ? 0 : 1;
        if (*index == -1) *index = MPI_UNDEFINED;
        if (*flag == 0) return;
        if (*index == MPI_UNDEFINED) return give(status, empty_status());
        MPI_Request& found = all[static_cast<std::size_t>(*index)];
        take(me, found, active(me, found), status);
    });
}

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    return guarded("MPI_Testsome", MPI_COMM_WORLD, [&](Process& me) {
        const auto all = list(count, requests);
        if (find_finished(me, all) == -1) look_once(me);
        const int first = find_finished(me, all);
        *done = first == MPI_UNDEFINED ? MPI_UNDEFINED : first == -1 ? 0 : take_finished(me, all, indices, statuses);
    });
}

int MPI_Request_free(MPI_Request* handle) {
    return guarded("MPI_Request_free", MPI_COMM_WORLD, [&](Process& me) {
        Request& request = me.request(*handle);
        require(request.is_message, MPI_ERR_REQUEST, "a collective must be waited for");
        *handle = MPI_REQUEST_NULL;
        if (!request.active) return me.release(request);
        if (!request.finished()) {
            request.freed = true;
            return;
        }
        settle(me, request);
        me.release(request);
    });
}

int MPI_Start(MPI_Request* request) {
    return guarded("MPI_Start", MPI_COMM_WORLD, [&](Process& me) { start_again(me, *request); });
}

int MPI_Startall(int count, MPI_Request* requests) {
    return guarded("MPI_Startall", MPI_COMM_WORLD, [&](Process& me) {
        for (const MPI_Request each : list(count, requests)) start_again(me, each);
    });
}
