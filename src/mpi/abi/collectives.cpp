// The exported collectives: every one in three forms, and where MPI has them (4.0) with wide counts too.
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include "mpi/abi/rows.hpp"
#include "mpi/abi/start.hpp"

namespace loom::mpi {

namespace {

std::shared_ptr<const coll::Plan> between(const Preparation& p) {
    return std::make_shared<const coll::Plan>(coll::plan_between(*p.comm.groups, p.call));
}

}  // namespace

Preparation::Lists& empty_lists() {
    // The lock of a program with several threads is held while they are in use. Never destroyed, as the library's
    // state.
    static Preparation::Lists& lists = *new Preparation::Lists;
    lists.sent_bytes.clear();
    lists.sent_at.clear();
    lists.received_bytes.clear();
    lists.received_at.clear();
    return lists;
}

void begin(Preparation& p, Entry& entry, coll::Series series, const coll::Choice* choice) {
    if (p.baggage != nullptr) pack_up(*p.baggage);
    const coll::Communicator& group = *p.comm.group;
    entry.request = p.comm.groups ? group.start(between(p), p.buffers, p.reduction, series)
                                  : group.start(p.call, p.buffers, p.reduction, choice, series);
    entry.baggage = std::move(p.baggage);
    activate(entry, p.comm);
}

void keep(Preparation& p, Entry& entry) {
    const coll::Communicator& group = *p.comm.group;
    entry.persistent = p.comm.groups ? group.prepare(between(p), p.buffers, p.reduction)
                                     : group.prepare(p.call, p.buffers, p.reduction);
    entry.baggage = std::move(p.baggage);
    entry.comm = &p.comm;
}

}  // namespace loom::mpi

using loom::mpi::Operation;
using loom::mpi::Preparation;

#define LOOM_PREPARE(OPERATION, N, D, W) \
    [&](Preparation& p) { return loom::mpi::prepare_##OPERATION(p LOOM_ROW_##OPERATION(LOOM_FOLLOWING, N, D, W)); }

#define LOOM_NONBLOCKING(OPERATION, FUNCTION, N, D, W)                                                      \
    int MPI_##FUNCTION(LOOM_ROW_##OPERATION(LOOM_PARAMETER, N, D, W) MPI_Comm comm, MPI_Request* request) { \
        return loom::mpi::start_nonblocking(                                                                \
            Operation::OPERATION, comm, request, LOOM_PREPARE(OPERATION, N, D, W),                          \
            [&] { return PMPI_##FUNCTION(LOOM_ROW_##OPERATION(LOOM_ARGUMENT, N, D, W) comm, request); });   \
    }
#define LOOM_PERSISTENT(OPERATION, PREFIX, FUNCTION, N, D, W)                                                       \
    int PREFIX##FUNCTION(LOOM_ROW_##OPERATION(LOOM_PARAMETER, N, D, W) MPI_Comm comm, MPI_Info info,                \
                         MPI_Request* request) {                                                                    \
        return loom::mpi::start_persistent(                                                                         \
            Operation::OPERATION, comm, request, LOOM_PREPARE(OPERATION, N, D, W),                                  \
            [&] { return P##PREFIX##FUNCTION(LOOM_ROW_##OPERATION(LOOM_ARGUMENT, N, D, W) comm, info, request); }); \
    }
#define LOOM_BLOCKING(OPERATION, FUNCTION, N, D, W)                                                        \
    int MPI_##FUNCTION(LOOM_ROW_##OPERATION(LOOM_PARAMETER, N, D, W) MPI_Comm comm) {                      \
        return loom::mpi::run_blocking(Operation::OPERATION, comm, LOOM_PREPARE(OPERATION, N, D, W), [&] { \
            return PMPI_##FUNCTION(LOOM_ROW_##OPERATION(LOOM_ARGUMENT, N, D, W) comm);                     \
        });                                                                                                \
    }

// Names: MPI_Ibcast from (bcast, Bcast).
#define LOOM_THREE_FORMS(OPERATION, NAME, WHAT)                   \
    LOOM_NONBLOCKING(OPERATION, I##OPERATION, int, int, MPI_Aint) \
    LOOM_BLOCKING(OPERATION, NAME, int, int, MPI_Aint)

extern "C" {

LOOM_MPI_COLLECTIVES(LOOM_THREE_FORMS)

#if defined(OPEN_MPI)
#define LOOM_INIT_FORM(OPERATION, NAME, WHAT) LOOM_PERSISTENT(OPERATION, MPIX_, NAME##_init, int, int, MPI_Aint)
LOOM_MPI_COLLECTIVES(LOOM_INIT_FORM)
#endif

#if MPI_VERSION >= 4
#define LOOM_WIDE_FORMS(OPERATION, NAME, WHAT)                                   \
    LOOM_NONBLOCKING(OPERATION, I##OPERATION##_c, MPI_Count, MPI_Aint, MPI_Aint) \
    LOOM_BLOCKING(OPERATION, NAME##_c, MPI_Count, MPI_Aint, MPI_Aint)            \
    LOOM_PERSISTENT(OPERATION, MPI_, NAME##_init, int, int, MPI_Aint)            \
    LOOM_PERSISTENT(OPERATION, MPI_, NAME##_init_c, MPI_Count, MPI_Aint, MPI_Aint)
LOOM_MPI_COUNTED_COLLECTIVES(LOOM_WIDE_FORMS)
LOOM_PERSISTENT(barrier, MPI_, Barrier_init, int, int, MPI_Aint)
#endif

}  // extern "C"
