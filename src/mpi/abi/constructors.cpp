// Calls that make communicators. Pending operations of ours go on while ranks are waited for; what follows is short,
// everyone being there.
#include "mpi/abi/info.hpp"
#include "mpi/abi/library.hpp"
#include "mpi/abi/requests.hpp"

namespace loom::mpi {

namespace {

// Whether all ranks of what is made are ranks of its parent.
enum class Members { of_parent, others_too };

template <class Make>
int construct(MPI_Comm parent, MPI_Comm* made, Make&& make, Members members = Members::of_parent) {
    if (library().world == nullptr) return make();
    try {
        Offers offers(parent);
        std::optional<Deputy> deputy;
        if (!offers.made() || members == Members::others_too) deputy.emplace();
        const int result = make();
        if (result == MPI_SUCCESS) adopt(*made, offers.made() && members == Members::of_parent ? &offers : nullptr);
        return result;
    } catch (const std::exception& error) {
        return report_failure(parent, error);
    }
}

// The context comes from the first rank, in a broadcast of ours beside MPI's duplication: `native(request)`.
template <class Native>
int duplicate_in_background(MPI_Comm handle, MPI_Comm* made, MPI_Request* request, Native&& native) {
    const Guard guard;
    Comm* parent = library().world == nullptr ? nullptr : find_comm(handle);
    if (parent == nullptr || parent->handed_back) return native(request);
    Entry& entry = take_entry();
    entry.duplication = std::make_unique<Entry::Duplication>();
    Entry::Duplication& what = *entry.duplication;
    if (const int error = native(&what.native); error != MPI_SUCCESS) {
        put_back(entry);
        return error;
    }
    what.made = *made;
    try {
        if (parent->group->rank().value == 0) what.context = take_context();
        coll::Call call;
        call.what = coll::Collective::broadcast;
        call.bytes = sizeof what.context;
        entry.request = parent->group->start(call, {nullptr, reinterpret_cast<std::byte*>(&what.context)});
    } catch (const std::exception& error) {
        put_back(entry);  // MPI's request goes on without us: those of collectives must not be freed
        return report_failure(handle, error);
    }
    activate(entry, *parent);
    *request = entry.handle;
    return MPI_SUCCESS;
}

}  // namespace

}  // namespace loom::mpi

using loom::mpi::construct;
using loom::mpi::duplicate_in_background;
using loom::mpi::Members;

extern "C" {

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    const int result = construct(comm, made, [&] { return PMPI_Comm_dup(comm, made); });
    if (result == MPI_SUCCESS) loom::mpi::inherit_hints(*made, comm);
    return result;
}
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
    const int result = construct(comm, made, [&] { return PMPI_Comm_dup_with_info(comm, info, made); });
    if (result == MPI_SUCCESS) loom::mpi::obey_hints(*made, info);
    return result;
}
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    return duplicate_in_background(comm, made, request,
                                   [&](MPI_Request* native) { return PMPI_Comm_idup(comm, made, native); });
}
#if MPI_VERSION >= 4
int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
    return duplicate_in_background(
        comm, made, request, [&](MPI_Request* native) { return PMPI_Comm_idup_with_info(comm, info, made, native); });
}
#endif
int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
    return construct(comm, made, [&] { return PMPI_Comm_split(comm, colour, key, made); });
}
int MPI_Comm_split_type(MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* made) {
    return construct(comm, made, [&] { return PMPI_Comm_split_type(comm, kind, key, info, made); });
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    return construct(comm, made, [&] { return PMPI_Comm_create(comm, group, made); });
}
// Only the group's ranks call it: there is nobody to wait for with a barrier of the parent.
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
    return construct(MPI_COMM_NULL, made, [&] { return PMPI_Comm_create_group(comm, group, tag, made); });
}
int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* dims, const int* periods, int reorder, MPI_Comm* made) {
    return construct(comm, made, [&] { return PMPI_Cart_create(comm, dimensions, dims, periods, reorder, made); });
}
int MPI_Cart_sub(MPI_Comm comm, const int* remain, MPI_Comm* made) {
    return construct(comm, made, [&] { return PMPI_Cart_sub(comm, remain, made); });
}
int MPI_Graph_create(MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder, MPI_Comm* made) {
    return construct(comm, made, [&] { return PMPI_Graph_create(comm, nodes, index, edges, reorder, made); });
}
int MPI_Dist_graph_create(MPI_Comm comm, int nodes, const int* sources, const int* degrees, const int* destinations,
                          const int* weights, MPI_Info info, int reorder, MPI_Comm* made) {
    return construct(comm, made, [&] {
        return PMPI_Dist_graph_create(comm, nodes, sources, degrees, destinations, weights, info, reorder, made);
    });
}
int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* in_weights, int out,
                                   const int* destinations, const int* out_weights, MPI_Info info, int reorder,
                                   MPI_Comm* made) {
    return construct(comm, made, [&] {
        return PMPI_Dist_graph_create_adjacent(comm, in, sources, in_weights, out, destinations, out_weights, info,
                                               reorder, made);
    });
}
int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm* made) {
    return construct(
        local, made, [&] { return PMPI_Intercomm_create(local, leader, peer, remote_leader, tag, made); },
        Members::others_too);
}
int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm* made) {
    return construct(inter, made, [&] { return PMPI_Intercomm_merge(inter, high, made); });
}
int MPI_Comm_spawn(const char* command, char** argv, int processes, MPI_Info info, int root, MPI_Comm comm,
                   MPI_Comm* made, int* errors) {
    return construct(
        comm, made, [&] { return PMPI_Comm_spawn(command, argv, processes, info, root, comm, made, errors); },
        Members::others_too);
}
int MPI_Comm_spawn_multiple(int count, char** commands, char*** argvs, const int* processes, const MPI_Info* infos,
                            int root, MPI_Comm comm, MPI_Comm* made, int* errors) {
    return construct(
        comm, made,
        [&] { return PMPI_Comm_spawn_multiple(count, commands, argvs, processes, infos, root, comm, made, errors); },
        Members::others_too);
}
int MPI_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
    return construct(
        comm, made, [&] { return PMPI_Comm_accept(port, info, root, comm, made); }, Members::others_too);
}
int MPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
    return construct(
        comm, made, [&] { return PMPI_Comm_connect(port, info, root, comm, made); }, Members::others_too);
}

}  // extern "C"
