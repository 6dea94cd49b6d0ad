// Hints of the program: "loom_reproducible" of a communicator.
#include "mpi/abi/info.hpp"

#include <string>

namespace loom::mpi {

namespace {

constexpr const char* reproducible_key = "loom_reproducible";

// Nothing: the hint is not there, or says something else.
std::optional<bool> asked_for(MPI_Info info) {
    if (info == MPI_INFO_NULL) return {};
    char value[16] = {};
    int there = 0;
    if (PMPI_Info_get(info, reproducible_key, sizeof value - 1, value, &there) != MPI_SUCCESS || there == 0) return {};
    const std::string word = value;
    if (word == "true" || word == "1") return true;
    if (word == "false" || word == "0") return false;
    return {};
}

}  // namespace

void obey_hints(MPI_Comm handle, MPI_Info info) {
    if (library().world == nullptr || handle == MPI_COMM_NULL) return;
    const std::optional<bool> asked = asked_for(info);
    if (!asked) return;
    const Guard guard;
    if (const Comm* comm = find_comm(handle); comm != nullptr && comm->group) comm->group->set_reproducible(*asked);
}

void inherit_hints(MPI_Comm handle, MPI_Comm parent) {
    if (library().world == nullptr || handle == MPI_COMM_NULL) return;
    const Guard guard;
    const Comm* const from = find_comm(parent);
    if (from == nullptr || !from->group || !from->group->is_reproducible()) return;
    if (const Comm* comm = find_comm(handle); comm != nullptr && comm->group) comm->group->set_reproducible(true);
}

}  // namespace loom::mpi

extern "C" int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
    const int result = PMPI_Comm_set_info(comm, info);
    if (result == MPI_SUCCESS) loom::mpi::obey_hints(comm, info);
    return result;
}
