// Starting collectives of the program: taken over, or handed back with a reason.
#pragma once

#include "mpi/abi/collectives.hpp"
#include "mpi/abi/requests.hpp"

namespace loom::mpi {

// Who can take it over, or why not.
struct Choice {
    Comm* comm = nullptr;
    Reason why = Reason::no_world;
};
[[nodiscard]] inline Choice choose(MPI_Comm handle) {
    if (library().world == nullptr) return {};
    Comm* comm = find_comm(handle);
    if (comm == nullptr) return {nullptr, Reason::unseen};
    if (comm->handed_back) return {nullptr, *comm->handed_back};
    return {comm, {}};
}

[[nodiscard]] Preparation::Lists& empty_lists();
void packed_and_ready(Preparation& p);

// The body of every MPI_I...: `prepare(Preparation&)` answers a Verdict, `native()` is the MPI library's own.
template <class Prepare, class Native>
int start_nonblocking(Operation what, MPI_Comm handle, MPI_Request* request, Prepare&& prepare, Native&& native) {
    Library& all = library();
    const Guard guard;
    const Choice choice = choose(handle);
    Reason why = choice.why;
    if (choice.comm != nullptr) {
        Preparation p{*choice.comm, {}, {}, nullptr, nullptr, empty_lists()};
        const Verdict verdict = prepare(p);
        if (!verdict) {
            try {
                packed_and_ready(p);
                Entry& entry = take_entry();
                entry.request = choice.comm->group->start(p.call, p.buffers, p.reduction);
                entry.baggage = std::move(p.baggage);
                activate(entry, *choice.comm);
                *request = entry.handle;
                all.account.taken(what, Form::nonblocking);
                return MPI_SUCCESS;
            } catch (const std::exception& error) {
                return report_failure(handle, error);
            }
        }
        why = *verdict;
    }
    all.account.handed_back(what, Form::nonblocking, why);
    return native();
}

template <class Prepare, class Native>
int start_persistent(Operation what, MPI_Comm handle, MPI_Request* request, Prepare&& prepare, Native&& native) {
    Library& all = library();
    const Guard guard;
    const Choice choice = choose(handle);
    Reason why = choice.why;
    if (choice.comm != nullptr) {
        Preparation p{*choice.comm, {}, {}, nullptr, nullptr, empty_lists()};
        const Verdict verdict = prepare(p);
        if (!verdict) {
            try {
                prepare::settle(p);
                Entry& entry = make_persistent_entry();
                entry.persistent = choice.comm->group->prepare(p.call, p.buffers, p.reduction);
                entry.baggage = std::move(p.baggage);
                entry.comm = choice.comm;
                *request = entry.handle;
                all.account.taken(what, Form::persistent);
                return MPI_SUCCESS;
            } catch (const std::exception& error) {
                return report_failure(handle, error);
            }
        }
        why = *verdict;
    }
    all.account.handed_back(what, Form::persistent, why);
    return native();
}

// Started and waited for at once, without a handle.
template <class Prepare, class Native>
int run_blocking(Operation what, MPI_Comm handle, Prepare&& prepare, Native&& native) {
    Library& all = library();
    Reason why = Reason::not_asked;
    if (all.blocking) {
        const Choice choice = choose(handle);
        why = choice.why;
        if (choice.comm != nullptr) {
            Entry entry;
            {
                const Guard guard;
                Preparation p{*choice.comm, {}, {}, nullptr, nullptr, empty_lists()};
                const Verdict verdict = prepare(p);
                if (!verdict) {
                    try {
                        packed_and_ready(p);
                        entry.request = choice.comm->group->start(p.call, p.buffers, p.reduction);
                        entry.baggage = std::move(p.baggage);
                        activate(entry, *choice.comm);
                    } catch (const std::exception& error) {
                        return report_failure(handle, error);
                    }
                } else {
                    why = *verdict;
                }
            }
            if (waits(entry)) {
                all.account.taken(what, Form::blocking);
                until([&] {
                    const Guard guard;
                    return completed(entry);
                });
                return entry.error;
            }
        }
    }
    all.account.handed_back(what, Form::blocking, why);
    const Deputy deputy;
    return native();
}

}  // namespace loom::mpi
