// What a handle of nbc.h stands for: an operation of ours without a request of MPI's, or one of the MPI library's own.
#pragma once

// Not with quotes: it belongs to no room.
#include <loom/nbc.h>

#include <chrono>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "mpi/abi/start.hpp"

namespace loom::mpi {

// What must be there until an operation has ended and no buffer of the program's is.
struct KeptArguments {
    std::vector<std::byte> memory;
    std::vector<int> sent, sent_at, received, received_at;
    std::vector<MPI_Aint> sent_far, received_far;
    std::vector<MPI_Datatype> sent_types, received_types;
};

}  // namespace loom::mpi

struct loom_nbc_operation {
    loom::mpi::Entry entry;
    MPI_Request native = MPI_REQUEST_NULL;  // where it was handed back
    NBC_Schedule none = nullptr;            // a collective's handle points here, as it is under way
    NBC_Schedule* owned = nullptr;          // NBC_Start's
    loom::mpi::KeptArguments kept;
    loom_nbc_operation* next_idle = nullptr;
};

namespace loom::mpi {

// NBC_Reset_times begins to count; before, this costs a branch.
enum class Phase : std::uint8_t { start, test, wait };
inline bool times_are_counted = false;
class Timed {
public:
    explicit Timed(Phase phase) : phase_(phase), counts_(times_are_counted) {
        if (counts_) [[unlikely]]
            begin_ = Clock::now();
    }
    ~Timed() {
        if (counts_) [[unlikely]]
            add_up();
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

private:
    using Clock = std::chrono::steady_clock;
    void add_up() const;

    Phase phase_;
    bool counts_;
    Clock::time_point begin_;
};

[[nodiscard]] loom_nbc_operation& take_nbc_operation();
void put_back(loom_nbc_operation& operation);

// MPI's code in nbc.h's words.
[[nodiscard]] int nbc_code_of(int mpi);

// What the communicator's info asks for, if that can do the call; the name is empty else.
[[nodiscard]] coll::Choice choice_by_info(const Preparation& p);

// Under way: the handle is the program's now.
inline int hand_out(loom_nbc_operation& operation, NBC_Handle* handle) {
    *handle = {nullptr, &operation.none, &operation};
    return NBC_OK;
}
inline int give_up(loom_nbc_operation& operation, NBC_Handle* handle, int code) {
    put_back(operation);
    *handle = {nullptr, nullptr, nullptr};
    return code;
}

// The body of every NBC_I...: `prepare(Preparation&)` answers a Verdict, `native(MPI_Request*)` is the MPI library's
// own; `prepared(const Preparation&)` sees what is about to begin.
struct Nobody {
    void operator()(const Preparation&) const {}
};
template <class Prepare, class Native, class Prepared = Nobody>
int start_nbc(Operation what, MPI_Comm comm, NBC_Handle* handle, Prepare&& prepare, Native&& native,
              const Prepared& prepared = {}) {
    const Timed timed(Phase::start);
    loom_nbc_operation& operation = take_nbc_operation();
    int code = NBC_OK;
    try {
        const auto use = [&](Preparation& p) {
            prepared(p);
            if (p.comm.asked == nullptr) [[likely]]
                return begin(p, operation.entry, nbc_calls);
            const coll::Choice choice = choice_by_info(p);
            begin(p, operation.entry, nbc_calls, &choice);
        };
        if (take_over(what, Form::nonblocking, comm, prepare, use)) code = nbc_code_of(native(&operation.native));
    } catch (const std::exception& error) {
        code = nbc_code_of(report_failure(comm, error));
    }
    return code == NBC_OK ? hand_out(operation, handle) : give_up(operation, handle, code);
}

// What a call came to, for the next one with the same arguments: programs repeat theirs. Good until a communicator or a
// datatype goes. Users' operations, types with gaps and blocks of several sizes are not remembered, and nothing is
// where several threads are in MPI.
template <class Arguments>
struct Remembered {
    Arguments arguments{};
    Comm* comm = nullptr;
    std::uint64_t gone = 0;
    coll::Call call;
    coll::Buffers buffers;
    const coll::Reduction* reduction = nullptr;

    void note(const Arguments& given, const Preparation& p) {
        // It is read without the lock.
        if (library().threads) return;
        const bool plain = p.baggage == nullptr && p.call.sent.bytes.empty() && p.call.received.bytes.empty();
        comm = nullptr;
        if (!plain || p.comm.groups) return;
        *this = {given, &p.comm, library().gone, p.call, p.buffers, p.reduction};
    }
    [[nodiscard]] bool is(const Arguments& given) const {
        return comm != nullptr && gone == library().gone && arguments == given && comm->asked == nullptr;
    }
};

// The same for calls that may be remembered; `what` and the arguments say which call it is.
template <Operation what, class Prepare, class Native, class... Arguments>
int start_nbc_again(MPI_Comm comm, NBC_Handle* handle, Prepare&& prepare, Native&& native, Arguments... arguments) {
    using All = std::tuple<MPI_Comm, Arguments...>;
    static constinit Remembered<All> last;
    const All all{comm, arguments...};
    if (!last.is(all)) [[unlikely]]
        return start_nbc(what, comm, handle, prepare, native, [&](const Preparation& p) { last.note(all, p); });
    const Timed timed(Phase::start);
    loom_nbc_operation& operation = take_nbc_operation();
    try {
        operation.entry.request = last.comm->group->start(last.call, last.buffers, last.reduction, nullptr, nbc_calls);
        activate(operation.entry, *last.comm);
        library().account.taken(what, Form::nonblocking);
    } catch (const std::exception& error) {
        return give_up(operation, handle, nbc_code_of(report_failure(comm, error)));
    }
    return hand_out(operation, handle);
}

// Where arguments must outlive the call.
template <class Prepare, class Native>
int start_nbc_keeping(KeptArguments&& kept, Operation what, MPI_Comm comm, NBC_Handle* handle, Prepare&& prepare,
                      Native&& native) {
    const int code = start_nbc(what, comm, handle, prepare, native);
    if (code == NBC_OK) handle->operation->kept = std::move(kept);
    return code;
}

}  // namespace loom::mpi

#define LOOM_NBC_PREPARE(OPERATION)                                                          \
    [&](loom::mpi::Preparation& p) {                                                         \
        return loom::mpi::prepare_##OPERATION(p LOOM_ROW_##OPERATION(LOOM_FOLLOWING, , , )); \
    }
#define LOOM_NBC_NATIVE(OPERATION) \
    [&](MPI_Request* request) { return PMPI_I##OPERATION(LOOM_ROW_##OPERATION(LOOM_ARGUMENT, , , ) comm, request); }
// PNBC_NAME, which is NBC_NAME.
#define LOOM_NBC_ALIAS(NAME) extern "C" __attribute__((alias("loom_NBC_" #NAME))) decltype(NBC_##NAME) PNBC_##NAME;
