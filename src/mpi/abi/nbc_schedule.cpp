// A schedule of nbc.h becomes a plan whose places are addresses. What Loomband's plans do not know, operations on any
// datatype, are reductions of one byte, the address of which says what to do: the reduction is a call back.
#include "mpi/abi/nbc_schedule.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "loom/coll/plan.hpp"
#include "mpi/abi/nbc_operation.hpp"

struct loom_nbc_schedule {
    std::vector<std::vector<loom::mpi::Step>> rounds{1};
    // Filled when it is started.
    std::vector<std::unique_ptr<std::function<void()>>> calls;
    loom::coll::Reduction call_back;
    bool calls_mpi = false;
};

namespace loom::mpi {

namespace {

void run_call(const void*, const std::byte* what, std::byte*, std::uint64_t) {
    (*reinterpret_cast<const std::function<void()>*>(what))();
}

coll::Place address(const void* memory) {
    return coll::input(reinterpret_cast<std::uintptr_t>(memory));
}
coll::Place target(void* memory) {
    return coll::output(reinterpret_cast<std::uintptr_t>(memory));
}

class PlanOfSchedule {
public:
    PlanOfSchedule(loom_nbc_schedule& schedule, std::uint32_t ranks, Rank me)
        : schedule_(schedule), writer_(ranks, me) {}

    coll::Plan write() {
        for (std::vector<Step>& round : schedule_.rounds) {
            steps_.clear();
            local_ = start_;
            for (Step& step : round) std::visit([&](auto& one) { add(one); }, step);
            if (!steps_.empty()) start_.assign(1, writer_.join(steps_));
        }
        return writer_.finish();
    }

private:
    using Steps = std::vector<coll::Writer::Step>;

    void add(Transfer& transfer) {
        const Type& type = *type_of(transfer.type);
        const auto count = static_cast<std::uint64_t>(transfer.count);
        const std::uint64_t bytes = count * type.size;
        const Rank peer(static_cast<std::uint32_t>(transfer.peer));
        std::byte* memory = transfer.memory + type.first;
        const bool direct = type.in_order(count);
        const Piece piece{transfer.memory, count, transfer.type, type.size, type.extent, 0};
        if (!direct) {
            transfer.packed.reset(new std::byte[bytes + 1]);
            memory = transfer.packed.get();
        }
        if (transfer.way == Transfer::Way::send) {
            if (!direct) call([piece, memory] { pack(piece, memory); });
            keep(writer_.send(peer, address(memory), bytes, local_, sends_[peer]++));
        } else {
            const auto got = writer_.receive(peer, target(memory), bytes, local_, receives_[peer]++);
            keep(got);
            if (!direct) keep(call_after({&got, 1}, [piece, memory] { unpack(piece, memory); }));
        }
    }

    void add(LocalOperation& what) {
        call([what] { NBC_Operation(what.to, what.left, what.right, what.op, what.type, what.count); });
    }

    void add(LocalCopy& what) {
        call([what] {
            NBC_Copy(what.from, what.from_count, what.from_type, what.to, what.to_count, what.to_type, MPI_COMM_SELF);
        });
    }

    // In the order of the list: each waits for the one before.
    void call(std::function<void()> what) {
        const auto step = call_after(local_, std::move(what));
        keep(step);
        local_.assign(1, step);
    }

    coll::Writer::Step call_after(coll::Writer::After after, std::function<void()> what) {
        schedule_.calls_mpi = true;
        schedule_.calls.push_back(std::make_unique<std::function<void()>>(std::move(what)));
        auto* const place = schedule_.calls.back().get();
        return writer_.reduce(address(place), target(place), 1, after);
    }

    void keep(coll::Writer::Step step) { steps_.push_back(step); }

    loom_nbc_schedule& schedule_;
    coll::Writer writer_;
    Steps start_;  // what this round waits for
    Steps local_;  // that, or the local operation before
    Steps steps_;  // of this round
    std::map<Rank, std::uint32_t> sends_, receives_;
};

bool exists(const NBC_Schedule* schedule) {
    return schedule != nullptr && *schedule != nullptr;
}

int add(NBC_Schedule* schedule, Step step) {
    if (!exists(schedule)) return NBC_BAD_SCHED;
    (*schedule)->rounds.back().push_back(std::move(step));
    return NBC_OK;
}

bool fits(const loom_nbc_schedule& schedule, std::uint32_t ranks) {
    for (const auto& round : schedule.rounds)
        for (const Step& step : round)
            if (const auto* transfer = std::get_if<Transfer>(&step);
                transfer != nullptr && static_cast<std::uint32_t>(transfer->peer) >= ranks)
                return false;
    return true;
}

// tgt = left (op) right, by way of inout = in (op) inout.
int combine(void* tgt, const void* left, const void* right, MPI_Op op, MPI_Datatype type, int count) {
    if (tgt != right) {
        if (const int error = NBC_Copy(right, count, type, tgt, count, type, MPI_COMM_SELF); error != NBC_OK)
            return error;
    }
    return PMPI_Reduce_local(const_cast<void*>(left), tgt, count, type, op) == MPI_SUCCESS ? NBC_OK
                                                                                           : NBC_OP_NOT_SUPPORTED;
}

}  // namespace

void delete_schedule(NBC_Schedule* schedule) {
    if (schedule == nullptr) return;
    delete *schedule;
    std::free(schedule);
}

}  // namespace loom::mpi

using namespace loom::mpi;

extern "C" {

int NBC_Sched_create(NBC_Schedule* schedule) {
    *schedule = new loom_nbc_schedule;
    return NBC_OK;
}

int NBC_Sched_send(const void* buf, int count, MPI_Datatype datatype, int dest, NBC_Schedule* schedule) {
    if (count < 0) return NBC_INVALID_PARAM;
    auto* memory = static_cast<std::byte*>(const_cast<void*>(buf));
    return add(schedule, Transfer{Transfer::Way::send, memory, count, datatype, dest, nullptr});
}

int NBC_Sched_recv(void* buf, int count, MPI_Datatype datatype, int source, NBC_Schedule* schedule) {
    if (count < 0) return NBC_INVALID_PARAM;
    return add(schedule,
               Transfer{Transfer::Way::receive, static_cast<std::byte*>(buf), count, datatype, source, nullptr});
}

int NBC_Sched_op(void* tgt, const void* src1, const void* src2, int count, MPI_Datatype datatype, MPI_Op op,
                 NBC_Schedule* schedule) {
    if (count < 0) return NBC_INVALID_PARAM;
    return add(schedule, LocalOperation{tgt, src1, src2, count, datatype, op});
}

int NBC_Sched_copy(const void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount, MPI_Datatype tgttype,
                   NBC_Schedule* schedule) {
    if (srccount < 0 || tgtcount < 0) return NBC_INVALID_PARAM;
    return add(schedule, LocalCopy{src, srccount, srctype, tgt, tgtcount, tgttype});
}

int NBC_Sched_barrier(NBC_Schedule* schedule) {
    if (!exists(schedule)) return NBC_BAD_SCHED;
    (*schedule)->rounds.emplace_back();
    return NBC_OK;
}

int NBC_Sched_commit(NBC_Schedule* schedule) {
    return exists(schedule) ? NBC_OK : NBC_BAD_SCHED;
}

int NBC_Start(NBC_Handle* handle, MPI_Comm comm, NBC_Schedule* schedule) {
    handle->schedule = nullptr;
    handle->operation = nullptr;
    if (!exists(schedule)) return NBC_BAD_SCHED;
    const Timed timed(Phase::start);
    const Guard guard;
    const Choice choice = choose(comm);
    if (choice.comm == nullptr || choice.comm->groups) return NBC_NOT_IMPLEMENTED;
    loom_nbc_schedule& what = **schedule;
    if (!fits(what, choice.comm->size)) return NBC_BAD_SCHED;
    for (const auto& round : what.rounds)
        for (const Step& step : round)
            if (const auto* transfer = std::get_if<Transfer>(&step);
                transfer != nullptr && type_of(transfer->type) == nullptr)
                return NBC_DATATYPE_NOT_SUPPORTED;
    try {
        auto plan = std::make_shared<loom::coll::Plan>(
            PlanOfSchedule(what, choice.comm->size, loom::Rank(choice.comm->rank)).write());
        what.call_back = {run_call, nullptr, 1, false};
        if (what.calls_mpi && !library().threads) library().world->set_progress(loom::coll::Progress::manual);
        loom::coll::Request request = choice.comm->group->start(std::move(plan), {}, &what.call_back, nbc_calls);
        loom_nbc_operation& operation = take_nbc_operation();
        operation.entry.calls_mpi = what.calls_mpi;
        operation.entry.request = std::move(request);
        activate(operation.entry, *choice.comm);
        operation.owned = schedule;
        handle->schedule = schedule;
        handle->operation = &operation;
        return NBC_OK;
    } catch (const std::exception& error) {
        report_failure(comm, error);
        return NBC_BAD_SCHED;
    }
}

int NBC_Get_schedule(NBC_Handle* handle, void** sched, int* size) {
    const bool started = handle->schedule != nullptr && handle->operation != nullptr;
    const NBC_Schedule* const own = started ? handle->operation->owned : nullptr;
    *sched = exists(own) ? *own : nullptr;
    *size = 0;
    if (exists(own))
        for (const auto& round : (*own)->rounds) *size += static_cast<int>(round.size());
    return NBC_OK;
}

int NBC_Copy(const void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount, MPI_Datatype tgttype,
             MPI_Comm comm) {
    if (srccount < 0 || tgtcount < 0) return NBC_INVALID_PARAM;
    int bytes = 0, packed = 0, unpacked = 0;
    if (PMPI_Pack_size(srccount, srctype, comm, &bytes) != MPI_SUCCESS) return NBC_DATATYPE_NOT_SUPPORTED;
    const auto buffer = std::make_unique<char[]>(static_cast<std::size_t>(bytes) + 1);
    if (PMPI_Pack(const_cast<void*>(src), srccount, srctype, buffer.get(), bytes, &packed, comm) != MPI_SUCCESS ||
        PMPI_Unpack(buffer.get(), packed, &unpacked, tgt, tgtcount, tgttype, comm) != MPI_SUCCESS)
        return NBC_DATATYPE_NOT_SUPPORTED;
    return NBC_OK;
}

int NBC_Operation(void* tgt, const void* src1, const void* src2, MPI_Op op, MPI_Datatype type, int count) {
    if (count < 0) return NBC_INVALID_PARAM;
    if (tgt != src1) return combine(tgt, src1, src2, op, type, count);
    // The left one would be overwritten before it is read.
    MPI_Aint first = 0, extent = 0, lowest = 0, span = 0;
    PMPI_Type_get_extent(type, &first, &extent);
    PMPI_Type_get_true_extent(type, &lowest, &span);
    std::vector<std::byte> left(static_cast<std::size_t>(span + extent * count) + 16);
    std::byte* const origin = left.data() - lowest;
    if (const int error = NBC_Copy(src1, count, type, origin, count, type, MPI_COMM_SELF); error != NBC_OK)
        return error;
    return combine(tgt, origin, src2, op, type, count);
}

}  // extern "C"
