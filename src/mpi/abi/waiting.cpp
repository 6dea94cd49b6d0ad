// Waiting for and testing requests: ours, the MPI library's, and lists of both.
#include <vector>

#include "mpi/abi/requests.hpp"

namespace loom::mpi {

namespace {

// Fruitless looks at Loomband between two at MPI: a look at MPI costs several of ours.
constexpr std::uint32_t looks_between = 16;

bool done(Entry& entry) {
    const Guard guard;
    return completed(entry);
}

Entry* find(MPI_Request handle) {
    const Guard guard;
    return find_entry(handle);
}

int deliver_one(Entry& entry, MPI_Request* handle, MPI_Status* status) {
    const Guard guard;
    return deliver(entry, handle, status);
}

// Tests that find nothing are looks too.
void look_after_test() {
    static thread_local std::uint32_t fruitless = 0;
    if (++fruitless % looks_between == 0) look_at_mpi();
}

// A list of requests, ours apart from the MPI library's, which are copied so that it can be asked about them alone.
class Requests {
public:
    Requests(int count, MPI_Request* all) : all_(all) {
        for (int i = 0; i < count; ++i) {
            Entry* entry = all[i] == MPI_REQUEST_NULL ? nullptr : find(all[i]);
            if (entry == nullptr) {
                natives_.push_back(all[i]);
                native_at_.push_back(i);
            } else {
                ours_.push_back({entry, i});
            }
        }
    }

    struct Ours {
        Entry* entry;
        int at;
    };
    [[nodiscard]] const std::vector<Ours>& ours() const { return ours_; }
    [[nodiscard]] int natives() const { return static_cast<int>(natives_.size()); }
    [[nodiscard]] MPI_Request* native() { return natives_.data(); }
    [[nodiscard]] int place(int native) const { return native_at_[static_cast<std::size_t>(native)]; }
    [[nodiscard]] bool any_of_ours_waits() const {
        for (const Ours& one : ours_)
            if (waits(*one.entry)) return true;
        return false;
    }
    // What MPI did to its handles, told to the program.
    void copy_back() {
        for (std::size_t i = 0; i < natives_.size(); ++i) all_[native_at_[i]] = natives_[i];
    }
    int deliver_all(MPI_Status* statuses) {
        int error = MPI_SUCCESS;
        for (const Ours& one : ours_) {
            MPI_Status* status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + one.at;
            if (const int failed = deliver_one(*one.entry, all_ + one.at, status); failed != MPI_SUCCESS)
                error = failed;
        }
        return error;
    }
    // Statuses in the order of natives() to their places in the program's list.
    void spread(const std::vector<MPI_Status>& from, MPI_Status* statuses) const {
        if (statuses == MPI_STATUSES_IGNORE) return;
        for (std::size_t i = 0; i < natives_.size(); ++i) statuses[native_at_[i]] = from[i];
    }

private:
    MPI_Request* all_;
    std::vector<Ours> ours_;
    std::vector<MPI_Request> natives_;
    std::vector<int> native_at_;
};

// Whether a list can go straight to MPI: nothing of ours is in it, and nothing of ours waits for progress.
bool only_native(int count, const MPI_Request* all) {
    for (int i = 0; i < count; ++i)
        if (all[i] != MPI_REQUEST_NULL && find(all[i]) != nullptr) return false;
    return true;
}

int wait_all_native(int count, MPI_Request* all, MPI_Status* statuses) {
    int flag = 0, error = MPI_SUCCESS;
    until([&] {
        if (!busy()) return true;
        error = PMPI_Testall(count, all, &flag, statuses);
        return flag != 0 || error != MPI_SUCCESS;
    });
    return flag != 0 || error != MPI_SUCCESS ? error : PMPI_Waitall(count, all, statuses);
}

MPI_Status* at(MPI_Status* statuses, std::size_t i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

enum class Found { nothing, one, none_active };

// One that is finished. `index` and the request are the program's.
Found find_any(Requests& list, MPI_Request* all, int* index, MPI_Status* status, int& error) {
    bool active = false;
    for (const Requests::Ours& one : list.ours()) {
        if (!waits(*one.entry)) continue;
        active = true;
        if (!done(*one.entry)) continue;
        *index = one.at;
        error = deliver_one(*one.entry, all + one.at, status);
        return Found::one;
    }
    if (list.natives() > 0) {
        int flag = 0, which = MPI_UNDEFINED;
        error = PMPI_Testany(list.natives(), list.native(), &which, &flag, status);
        if (flag != 0 && which != MPI_UNDEFINED) {
            *index = list.place(which);
            all[*index] = list.native()[which];
            return Found::one;
        }
        if (error != MPI_SUCCESS) return Found::one;
        active |= flag == 0;
    }
    return active ? Found::nothing : Found::none_active;
}

// All that are finished; -1: there is nothing to wait for.
int find_some(Requests& list, MPI_Request* all, int* indices, MPI_Status* statuses, int& error) {
    bool active = false;
    int found = 0;
    for (const Requests::Ours& one : list.ours()) {
        if (!waits(*one.entry)) continue;
        active = true;
        if (!done(*one.entry)) continue;
        indices[found] = one.at;
        if (const int failed = deliver_one(*one.entry, all + one.at, at(statuses, static_cast<std::size_t>(found)));
            failed != MPI_SUCCESS)
            error = failed;
        ++found;
    }
    if (list.natives() > 0) {
        int more = 0;
        const int failed = PMPI_Testsome(list.natives(), list.native(), &more, indices + found,
                                         at(statuses, static_cast<std::size_t>(found)));
        if (failed != MPI_SUCCESS) error = failed;
        if (more != MPI_UNDEFINED) {
            active = true;
            for (int i = found; i < found + more; ++i) {
                const int which = indices[i];
                indices[i] = list.place(which);
                all[indices[i]] = list.native()[which];
            }
            found += more;
        }
    }
    return active || error != MPI_SUCCESS ? found : -1;
}

int start_one(Entry& entry) {
    const Guard guard;
    if (waits(entry)) return MPI_ERR_REQUEST;
    try {
        if (entry.baggage != nullptr) pack_up(*entry.baggage);
        entry.persistent->start();
        activate(entry, *entry.comm);
        return MPI_SUCCESS;
    } catch (const std::exception& error) {
        return report_failure(entry.comm->handle, error);
    }
}

}  // namespace

// Nobody sends on that communicator, so the probe never answers from a queue before it has made progress; and it has
// all ranks, since MPICH looks at no network for MPI_COMM_SELF.
void look_at_mpi() {
    if (library().silent == MPI_COMM_NULL) return;
    int flag = 0;
    PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, library().silent, &flag, MPI_STATUS_IGNORE);
}

bool advance() {
    Library& all = library();
    if (all.world == nullptr) return false;
    const Guard guard;
    try {
        return all.world->progress();
    } catch (const std::exception& error) {
        report_failure(MPI_COMM_WORLD, error);
        return false;
    }
}

void Pace::idle() {
    if (++looks_ % looks_between == 0) look_at_mpi();
    pauses_.next();
}

int wait_native(MPI_Request* request, MPI_Status* status) {
    int flag = 0, error = MPI_SUCCESS;
    until([&] {
        if (!busy()) return true;
        error = PMPI_Test(request, &flag, status);
        return flag != 0 || error != MPI_SUCCESS;
    });
    return flag != 0 || error != MPI_SUCCESS ? error : PMPI_Wait(request, status);
}

}  // namespace loom::mpi

using namespace loom::mpi;

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    if (library().world == nullptr) return PMPI_Wait(request, status);
    Entry* entry = find(*request);
    if (entry == nullptr) return busy() ? wait_native(request, status) : PMPI_Wait(request, status);
    if (!waits(*entry)) {
        set_empty(status);
        return MPI_SUCCESS;
    }
    until([&] { return done(*entry); });
    return deliver_one(*entry, request, status);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    if (library().world == nullptr) return PMPI_Test(request, flag, status);
    Entry* entry = find(*request);
    if (entry == nullptr) {
        if (busy()) advance();
        return PMPI_Test(request, flag, status);
    }
    *flag = 1;
    if (!waits(*entry)) {
        set_empty(status);
        return MPI_SUCCESS;
    }
    if (!done(*entry)) {
        advance();
        if (!done(*entry)) {
            *flag = 0;
            look_after_test();
            return MPI_SUCCESS;
        }
    }
    return deliver_one(*entry, request, status);
}

int MPI_Waitall(int count, MPI_Request* all, MPI_Status* statuses) {
    if (library().world == nullptr) return PMPI_Waitall(count, all, statuses);
    if (only_native(count, all)) return wait_all_native(count, all, statuses);
    Requests list(count, all);
    for (const Requests::Ours& one : list.ours()) until([&] { return done(*one.entry); });
    int error = MPI_SUCCESS;
    if (list.natives() > 0) {
        std::vector<MPI_Status> theirs(static_cast<std::size_t>(list.natives()));
        error = wait_all_native(list.natives(), list.native(), theirs.data());
        list.copy_back();
        list.spread(theirs, statuses);
    }
    if (error == MPI_ERR_IN_STATUS && statuses != MPI_STATUSES_IGNORE)
        for (const Requests::Ours& one : list.ours()) statuses[one.at].MPI_ERROR = MPI_SUCCESS;
    const int failed = list.deliver_all(statuses);
    return error != MPI_SUCCESS ? error : failed;
}

int MPI_Testall(int count, MPI_Request* all, int* flag, MPI_Status* statuses) {
    if (library().world == nullptr) return PMPI_Testall(count, all, flag, statuses);
    if (busy()) advance();
    if (only_native(count, all)) return PMPI_Testall(count, all, flag, statuses);
    Requests list(count, all);
    *flag = 1;
    for (const Requests::Ours& one : list.ours())
        if (!done(*one.entry)) *flag = 0;
    if (*flag == 0) {
        look_after_test();
        return MPI_SUCCESS;
    }
    int error = MPI_SUCCESS;
    if (list.natives() > 0) {
        std::vector<MPI_Status> theirs(static_cast<std::size_t>(list.natives()));
        error = PMPI_Testall(list.natives(), list.native(), flag, theirs.data());
        if (*flag == 0 && error == MPI_SUCCESS) return error;
        list.copy_back();
        list.spread(theirs, statuses);
    }
    const int failed = list.deliver_all(statuses);
    return error != MPI_SUCCESS ? error : failed;
}

int MPI_Waitany(int count, MPI_Request* all, int* index, MPI_Status* status) {
    if (library().world == nullptr) return PMPI_Waitany(count, all, index, status);
    if (!busy() && only_native(count, all)) return PMPI_Waitany(count, all, index, status);
    Requests list(count, all);
    int error = MPI_SUCCESS;
    Found found = Found::nothing;
    until([&] {
        found = find_any(list, all, index, status, error);
        return found != Found::nothing;
    });
    if (found == Found::none_active) {
        *index = MPI_UNDEFINED;
        set_empty(status);
    }
    return error;
}

int MPI_Testany(int count, MPI_Request* all, int* index, int* flag, MPI_Status* status) {
    if (library().world == nullptr) return PMPI_Testany(count, all, index, flag, status);
    if (busy()) advance();
    if (only_native(count, all)) return PMPI_Testany(count, all, index, flag, status);
    Requests list(count, all);
    int error = MPI_SUCCESS;
    const Found found = find_any(list, all, index, status, error);
    *flag = found != Found::nothing ? 1 : 0;
    if (found != Found::one) *index = MPI_UNDEFINED;
    if (found == Found::none_active) set_empty(status);
    if (found == Found::nothing) look_after_test();
    return error;
}

int MPI_Waitsome(int count, MPI_Request* all, int* outcount, int* indices, MPI_Status* statuses) {
    if (library().world == nullptr) return PMPI_Waitsome(count, all, outcount, indices, statuses);
    if (!busy() && only_native(count, all)) return PMPI_Waitsome(count, all, outcount, indices, statuses);
    Requests list(count, all);
    int error = MPI_SUCCESS;
    until([&] {
        *outcount = find_some(list, all, indices, statuses, error);
        return *outcount != 0 || error != MPI_SUCCESS;
    });
    if (*outcount < 0) *outcount = MPI_UNDEFINED;
    return error;
}

int MPI_Testsome(int count, MPI_Request* all, int* outcount, int* indices, MPI_Status* statuses) {
    if (library().world == nullptr) return PMPI_Testsome(count, all, outcount, indices, statuses);
    if (busy()) advance();
    if (only_native(count, all)) return PMPI_Testsome(count, all, outcount, indices, statuses);
    Requests list(count, all);
    int error = MPI_SUCCESS;
    *outcount = find_some(list, all, indices, statuses, error);
    if (*outcount == 0) look_after_test();
    if (*outcount < 0) *outcount = MPI_UNDEFINED;
    return error;
}

int MPI_Start(MPI_Request* request) {
    Entry* entry = library().world == nullptr ? nullptr : find(*request);
    return entry == nullptr || !entry->persistent ? PMPI_Start(request) : start_one(*entry);
}

int MPI_Startall(int count, MPI_Request* all) {
    if (library().world == nullptr) return PMPI_Startall(count, all);
    for (int i = 0; i < count; ++i)
        if (const int error = MPI_Start(all + i); error != MPI_SUCCESS) return error;
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
    Entry* entry = library().world == nullptr ? nullptr : find(*request);
    if (entry == nullptr) return PMPI_Request_free(request);
    const Guard guard;
    abandon(*entry);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    if (library().world == nullptr) return PMPI_Request_get_status(request, flag, status);
    if (busy()) advance();
    Entry* entry = find(request);
    if (entry == nullptr) return PMPI_Request_get_status(request, flag, status);
    *flag = done(*entry) ? 1 : 0;
    if (*flag != 0)
        set_empty(status);
    else
        look_after_test();
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op* op) {
    const Guard guard;
    if (!free_operation_later(*op)) return PMPI_Op_free(op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype* type) {
    const Guard guard;
    if (!free_type_later(*type)) return PMPI_Type_free(type);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

}  // extern "C"
