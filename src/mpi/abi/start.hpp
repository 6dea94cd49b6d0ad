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

// Non-blocking calls match non-blocking ones, blocking calls blocking ones (MPI 4.0, 6.12), and LibNBC's its own: a
// program may call them in different orders on different ranks.
inline constexpr coll::Series nonblocking_calls = coll::Series::first, blocking_calls = coll::Series::second,
                              nbc_calls = coll::Series::third;

// The preparation, settled, as an operation under way or kept. `choice` may be null; between two groups there is none.
void begin(Preparation& p, Entry& entry, coll::Series series, const coll::Choice* choice = nullptr);
void keep(Preparation& p, Entry& entry);

// Nothing when it was taken over: `use(Preparation&)` got it ready.
template <class Prepare, class Use>
Verdict take_over(Operation what, Form form, MPI_Comm handle, Prepare&& prepare, Use&& use) {
    const Guard guard;
    Account& account = library().account;
    const Choice choice = choose(handle);
    Verdict verdict = choice.why;
    if (choice.comm != nullptr) {
        Preparation p{*choice.comm, {}, {}, nullptr, nullptr, {}, empty_lists()};
        verdict = prepare(p);
        if (verdict && p.refused) verdict = p.refused;
        if (!verdict && p.call.in_place && choice.comm->groups) verdict = Reason::arguments;
        if (!verdict) {
            prepare::settle(p);
            use(p);
            account.taken(what, form);
            return {};
        }
    }
    account.handed_back(what, form, *verdict);
    return verdict;
}

// The bodies of every MPI_I..., MPI_..._init and MPI_...: `prepare(Preparation&)` answers a Verdict, `native()` is the
// MPI library's own.
template <class Prepare, class Native>
int start_nonblocking(Operation what, MPI_Comm handle, MPI_Request* request, Prepare&& prepare, Native&& native) {
    try {
        const auto use = [&](Preparation& p) {
            Entry& entry = take_entry();
            try {
                begin(p, entry, nonblocking_calls);
            } catch (...) {
                put_back(entry);
                throw;
            }
            *request = entry.handle;
        };
        return take_over(what, Form::nonblocking, handle, prepare, use) ? native() : MPI_SUCCESS;
    } catch (const std::exception& error) {
        return report_failure(handle, error);
    }
}

template <class Prepare, class Native>
int start_persistent(Operation what, MPI_Comm handle, MPI_Request* request, Prepare&& prepare, Native&& native) {
    try {
        const auto use = [&](Preparation& p) {
            Entry& entry = make_persistent_entry();
            try {
                keep(p, entry);
            } catch (...) {
                drop_persistent(entry);
                throw;
            }
            *request = entry.handle;
        };
        return take_over(what, Form::persistent, handle, prepare, use) ? native() : MPI_SUCCESS;
    } catch (const std::exception& error) {
        return report_failure(handle, error);
    }
}

// Started and waited for at once, without a handle.
template <class Prepare, class Native>
int run_blocking(Operation what, MPI_Comm handle, Prepare&& prepare, Native&& native) {
    Library& all = library();
    if (!all.blocking) {
        all.account.handed_back(what, Form::blocking, Reason::not_asked);
    } else {
        Entry entry;
        try {
            if (!take_over(what, Form::blocking, handle, prepare,
                           [&](Preparation& p) { begin(p, entry, blocking_calls); })) {
                until([&] {
                    const Guard guard;
                    return completed(entry);
                });
                return entry.error;
            }
        } catch (const std::exception& error) {
            return report_failure(handle, error);
        }
    }
    const Deputy deputy;
    return native();
}

}  // namespace loom::mpi
