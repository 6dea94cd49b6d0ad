// nbc.h: what a program asks of a communicator's algorithms, and where its time went.
#include <array>
#include <cstdio>
#include <cstring>

#include "loom/coll/algorithm.hpp"
#include "mpi/abi/nbc_operation.hpp"

namespace loom::mpi {

namespace {

struct Key {
    const char* key;
    const char* value;
    coll::Collective what;
    const char* algorithm;
};
constexpr Key keys[] = {
    {NBC_BCAST_ALG_INFO_KEY, NBC_BCAST_ALG_LINEAR, coll::Collective::broadcast, "linear"},
    {NBC_BCAST_ALG_INFO_KEY, NBC_BCAST_ALG_BINOMIAL, coll::Collective::broadcast, "binomial"},
    {NBC_BCAST_ALG_INFO_KEY, NBC_BCAST_ALG_CHAIN, coll::Collective::broadcast, "chain"},
    {NBC_ALLREDUCE_ALG_INFO_KEY, NBC_ALLREDUCE_ALG_BINOMIAL, coll::Collective::allreduce, "binomial"},
    {NBC_ALLREDUCE_ALG_INFO_KEY, NBC_ALLREDUCE_ALG_RING, coll::Collective::allreduce, "ring"},
};

std::unique_ptr<AskedAlgorithms> asked_by(MPI_Info info) {
    auto asked = std::make_unique<AskedAlgorithms>();
    for (const Key& one : keys) {
        char value[8] = "";
        int there = 0, length = 0;
        PMPI_Info_get_valuelen(info, one.key, &length, &there);
        // MPICH takes it for an error when the value is longer.
        if (there == 0 || length >= static_cast<int>(sizeof value)) continue;
        PMPI_Info_get(info, one.key, sizeof value - 1, value, &there);
        if (std::strcmp(value, one.value) != 0) continue;
        const coll::Algorithm& algorithm = coll::find_algorithm(one.what, one.algorithm);
        (one.what == coll::Collective::broadcast ? asked->broadcast : asked->allreduce) = &algorithm;
    }
    if (asked->broadcast == nullptr && asked->allreduce == nullptr) return nullptr;
    return asked;
}

int free_info(MPI_Comm, int, void* value, void*) {
    auto* const info = static_cast<MPI_Info*>(value);
    PMPI_Info_free(info);
    delete info;
    return MPI_SUCCESS;
}

int info_keyval() {
    static const int keyval = [] {
        int made = MPI_KEYVAL_INVALID;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_info, &made, nullptr);
        return made;
    }();
    return keyval;
}

std::array<double, 3> times{};  // seconds by phase

}  // namespace

coll::Choice choice_by_info(const Preparation& p) {
    if (p.comm.groups) return {};
    const AskedAlgorithms& asked = *p.comm.asked;
    const coll::Algorithm* algorithm = p.call.what == coll::Collective::broadcast   ? asked.broadcast
                                       : p.call.what == coll::Collective::allreduce ? asked.allreduce
                                                                                    : nullptr;
    if (algorithm == nullptr || !algorithm->fits(p.comm.group->group(), p.call)) return {};
    return {algorithm->name, {}};
}

void Timed::add_up() const {
    const Guard guard;
    times[static_cast<std::size_t>(phase_)] += std::chrono::duration<double>(Clock::now() - begin_).count();
}

}  // namespace loom::mpi

using namespace loom::mpi;

extern "C" {

int NBC_Comm_set_info(MPI_Comm comm, MPI_Info info) {
    const Guard guard;
    Comm* const known = choose(comm).comm;
    if (info == MPI_INFO_NULL) {
        if (known != nullptr) known->asked.reset();
        MPI_Info* set = nullptr;
        int there = 0;
        PMPI_Comm_get_attr(comm, info_keyval(), static_cast<void*>(&set), &there);
        return nbc_code_of(there == 0 ? MPI_SUCCESS : PMPI_Comm_delete_attr(comm, info_keyval()));
    }
    MPI_Info copy = MPI_INFO_NULL;
    if (const int error = PMPI_Info_dup(info, &copy); error != MPI_SUCCESS) return nbc_code_of(error);
    if (const int error = PMPI_Comm_set_attr(comm, info_keyval(), new MPI_Info(copy)); error != MPI_SUCCESS)
        return nbc_code_of(error);
    if (known != nullptr) known->asked = asked_by(info);
    return NBC_OK;
}

int NBC_Comm_get_info(MPI_Comm comm, MPI_Info* info) {
    MPI_Info* set = nullptr;
    int there = 0;
    PMPI_Comm_get_attr(comm, info_keyval(), static_cast<void*>(&set), &there);
    if (there != 0) PMPI_Info_dup(*set, info);
    return there != 0 ? 1 : 0;
}

void NBC_Reset_times(void) {
    const Guard guard;
    times = {};
    times_are_counted = true;
}

void NBC_Print_times(double div) {
    const auto microseconds = [&](Phase phase) { return times[static_cast<std::size_t>(phase)] * 1e6 / div; };
    std::printf("*** NBC_TIMES: start: %f, test: %f, wait: %f\n", microseconds(Phase::start), microseconds(Phase::test),
                microseconds(Phase::wait));
}

}  // extern "C"
