#include "mpi/abi/requests.hpp"

#include "mpi/abi/info.hpp"

#include <vector>

#include "loom/base/error.hpp"

namespace loom::mpi {

namespace {

struct Requests {
    Handles<Entry> known;
    std::vector<Entry*> idle;
    std::vector<std::unique_ptr<Entry>> pool;
    std::vector<Entry*> abandoned;
    MPI_Request last_handle = MPI_REQUEST_NULL;
    Entry* last = nullptr;
};

Requests& requests() {
    static Requests* const all = new Requests;
    return *all;
}

int query(void*, MPI_Status* status) {
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
int nothing_to_free(void*) {
    return MPI_SUCCESS;
}
int cannot_cancel(void*, int) {
    return MPI_SUCCESS;
}

void fill_pool(std::size_t number) {
    Requests& all = requests();
    for (std::size_t i = 0; i < number; ++i) {
        auto entry = std::make_unique<Entry>();
        PMPI_Grequest_start(query, nothing_to_free, cannot_cancel, nullptr, &entry->handle);
        all.known.put(key_of(entry->handle), entry.get());
        all.idle.push_back(entry.get());
        all.pool.push_back(std::move(entry));
    }
}

bool duplicated(Entry& entry) {
    Entry::Duplication& what = *entry.duplication;
    if (!what.native_done) {
        int flag = 0;
        entry.error = PMPI_Test(&what.native, &flag, MPI_STATUS_IGNORE);
        what.native_done = flag != 0 || entry.error != MPI_SUCCESS;
    }
    if (!what.native_done || !entry.request.finished() || !entry.request.test()) return false;
    if (entry.error == MPI_SUCCESS) {
        adopt_copy(what.made, *entry.comm, what.context);
        inherit_hints(what.made, entry.comm->handle);
    }
    return true;
}

// Throws what the operation failed with.
bool finished(Entry& entry) {
    if (entry.duplication != nullptr) return duplicated(entry);
    if (entry.persistent) return entry.persistent->finished() && entry.persistent->test();
    return entry.request.finished() && entry.request.test();
}

int complain(const Entry& entry, const std::exception& error) {
    return report_failure(entry.comm->freed ? MPI_COMM_WORLD : entry.comm->handle, error);
}

// Whatever the operation held.
void settle(Entry& entry) {
    Library& all = library();
    entry.state = Entry::State::completed;
    --all.active;
    if (entry.calls_mpi && --all.foreign == 0 && !all.threads) all.world->set_progress(all.progress);
    if (entry.baggage != nullptr) {
        try {
            if (entry.error == MPI_SUCCESS) entry.baggage->after();
        } catch (const std::exception& error) {
            entry.error = complain(entry, error);
        }
        if (!entry.persistent) entry.baggage.reset();
    }
    entry.duplication.reset();
    operation_ended(*entry.comm);
}

}  // namespace

void put_back(Entry& entry) {
    entry.state = Entry::State::idle;
    entry.calls_mpi = false;
    entry.duplication.reset();
    entry.error = MPI_SUCCESS;
    requests().idle.push_back(&entry);
}

void drop_persistent(Entry& entry) {
    Requests& all = requests();
    all.known.remove(key_of(entry.handle));
    all.last_handle = MPI_REQUEST_NULL;
    PMPI_Request_free(&entry.handle);
    std::erase_if(all.pool, [&](const std::unique_ptr<Entry>& one) { return one.get() == &entry; });
}

Entry& take_entry() {
    Requests& all = requests();
    if (all.idle.empty()) {
        // Those that the program gave up come back when they are finished.
        std::erase_if(all.abandoned, [](Entry* entry) {
            const bool over = completed(*entry);
            if (over) put_back(*entry);
            return over;
        });
        if (all.idle.empty()) fill_pool(all.pool.size());
    }
    Entry& entry = *all.idle.back();
    all.idle.pop_back();
    return entry;
}

Entry& make_persistent_entry() {
    Requests& all = requests();
    auto entry = std::make_unique<Entry>();
    PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &entry->handle);
    all.known.put(key_of(entry->handle), entry.get());
    all.pool.push_back(std::move(entry));
    return *all.pool.back();
}

Entry* find_entry(MPI_Request handle) {
    return requests().known.find(key_of(handle));
}

void pack_up(Baggage& baggage) {
    baggage.before();
    if (baggage.foreign() && !library().threads) library().world->set_progress(coll::Progress::manual);
}

void activate(Entry& entry, Comm& comm) {
    Library& all = library();
    entry.state = Entry::State::active;
    entry.comm = &comm;
    ++comm.pending;
    ++all.active;
    if (entry.baggage != nullptr) entry.calls_mpi = entry.baggage->foreign();
    if (entry.calls_mpi) ++all.foreign;
}

bool completed(Entry& entry) {
    if (entry.state != Entry::State::active) return true;
    try {
        if (!finished(entry)) return false;
    } catch (const std::exception& error) {
        entry.error = complain(entry, error);
    }
    settle(entry);
    return true;
}

int deliver(Entry& entry, MPI_Request* handle, MPI_Status* status) {
    const int error = entry.error;
    set_empty(status);
    if (entry.persistent) {
        entry.state = Entry::State::idle;
        entry.error = MPI_SUCCESS;
        return error;
    }
    *handle = MPI_REQUEST_NULL;
    put_back(entry);
    return error;
}

void abandon(Entry& entry) {
    if (entry.persistent) {
        until([&] { return completed(entry); });
        drop_persistent(entry);
    } else if (completed(entry)) {
        put_back(entry);
    } else {
        requests().abandoned.push_back(&entry);
    }
}

void open_requests() {
    fill_pool(64);
    MPI_Request none = MPI_REQUEST_NULL;
    PMPI_Wait(&none, &library().empty_status);
}

void close_requests() {
    Requests& all = requests();
    for (Entry* entry : all.abandoned) until([&] { return completed(*entry); });
    all.abandoned.clear();
    for (const std::unique_ptr<Entry>& entry : all.pool) {
        if (entry->handle == MPI_REQUEST_NULL) continue;
        if (!entry->persistent) PMPI_Grequest_complete(entry->handle);
        PMPI_Request_free(&entry->handle);
    }
    all.known = {};
    all.idle.clear();
    all.pool.clear();
}

void set_empty(MPI_Status* status) {
    if (status == MPI_STATUS_IGNORE) return;
    const int error = status->MPI_ERROR;
    *status = library().empty_status;
    status->MPI_ERROR = error;
}

}  // namespace loom::mpi
