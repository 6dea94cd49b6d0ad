// Communicators of MPI that Loomband knows. Contexts are agreed on when one is made, so that no collective has to wait
// for that: the first rank takes one of its own share and tells the others. A freed communicator's context is given
// back once every rank has finished its operations, which a barrier on it tells, in the background.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "loom/base/error.hpp"
#include "mpi/abi/library.hpp"

namespace loom::mpi {

namespace {

constexpr std::uint32_t first_context = 16, contexts = 1u << 20;  // below are Loomband's own

void prepare_contexts() {
    Library& all = library();
    const std::uint32_t ranks = all.world->size();
    all.context_share = (contexts - first_context) / ranks;
    all.context_first = first_context + all.world->rank().value * all.context_share;
    all.context_used.assign(all.context_share, false);
}

std::vector<Rank> world_ranks(MPI_Comm handle, std::uint32_t size) {
    MPI_Group mine = MPI_GROUP_NULL, everyone = MPI_GROUP_NULL;
    PMPI_Comm_group(handle, &mine);
    PMPI_Comm_group(MPI_COMM_WORLD, &everyone);
    std::vector<int> ours(size), theirs(size);
    std::iota(ours.begin(), ours.end(), 0);
    PMPI_Group_translate_ranks(mine, static_cast<int>(size), ours.data(), everyone, theirs.data());
    PMPI_Group_free(&mine);
    PMPI_Group_free(&everyone);
    std::vector<Rank> ranks;
    for (const int rank : theirs) {
        if (rank == MPI_UNDEFINED) return {};
        ranks.emplace_back(static_cast<std::uint32_t>(rank));
    }
    return ranks;
}

void forget_last() {
    library().last_handle = MPI_COMM_NULL;
    library().last_comm = nullptr;
}

void say_farewell(std::uint64_t key, Comm* comm) {
    Library& all = library();
    if (all.comms.find(key) != comm) return;
    all.comms.remove(key);
    forget_last();
    comm->freed = true;
    all.leaving.emplace_back(comm);
    if (comm->group && comm->pending == 0) comm->farewell = comm->group->start(coll::Call{}, {});
}

void read_notes() {
    for (const auto& [key, comm] : library().departed.take()) say_farewell(key, comm);
}

// Not under the lock: MPI has one of its own around attributes, and calls us back with it held.
void keep(std::unique_ptr<Comm> comm) {
    Library& all = library();
    PMPI_Comm_set_attr(comm->handle, all.comm_keyval, comm.get());
    const Guard guard;
    if (all.threads) read_notes();  // the handle may be that of one that is gone
    forget_last();
    all.comms.put(key_of(comm->handle), comm.get());
    comm.release();  // by forget()
}

std::unique_ptr<Comm> describe(MPI_Comm handle) {
    auto comm = std::make_unique<Comm>();
    comm->handle = handle;
    int inter = 0, rank = 0, size = 0;
    PMPI_Comm_test_inter(handle, &inter);
    PMPI_Comm_rank(handle, &rank);
    PMPI_Comm_size(handle, &size);
    comm->rank = static_cast<std::uint32_t>(rank);
    comm->size = static_cast<std::uint32_t>(size);
    if (inter != 0) comm->handed_back = Reason::intercommunicator;
    return comm;
}

void open_group(Comm& comm, std::span<const Rank> members) {
    std::vector<coll::Neighbours> neighbours;
    std::optional<coll::Grid> grid;
    if (comm.topology != nullptr) {
        neighbours = comm.topology->by_rank;
        grid = comm.topology->grid;
    }
    comm.group = coll::Communicator::with_context(*library().world, members, comm.context, std::move(neighbours),
                                                  std::move(grid));
}

void give_back(std::uint32_t context) {
    Library& all = library();
    if (context >= all.context_first && context - all.context_first < all.context_share)
        all.context_used[context - all.context_first] = false;
}

}  // namespace

Comm* find_comm(MPI_Comm handle) {
    Library& all = library();
    if (all.threads && all.departed.any()) read_notes();
    if (handle == all.last_handle) return all.last_comm;
    Comm* found = all.comms.find(key_of(handle));
    if (found != nullptr && !all.threads) {
        all.last_handle = handle;
        all.last_comm = found;
    }
    return found;
}

// In a circle, so that a context rests as long as possible.
std::uint32_t take_context() {
    Library& all = library();
    if (all.context_used.empty()) prepare_contexts();
    for (std::uint32_t tries = 0; tries < all.context_share; ++tries) {
        const std::uint32_t one = all.context_next;
        all.context_next = (one + 1) % all.context_share;
        if (!all.context_used[one]) {
            all.context_used[one] = true;
            return all.context_first + one;
        }
    }
    return 0;
}

void adopt(MPI_Comm handle) {
    Library& all = library();
    if (handle == MPI_COMM_NULL || all.world == nullptr) return;
    std::unique_ptr<Comm> comm = describe(handle);
    if (!comm->handed_back) {
        const std::vector<Rank> members = world_ranks(handle, comm->size);
        if (members.empty()) {
            comm->handed_back = Reason::other_ranks;
        } else {
            {
                const Guard guard;
                advance();
                bury();
                if (comm->rank == 0) comm->context = take_context();
            }
            PMPI_Bcast(&comm->context, 1, MPI_UINT32_T, 0, handle);
            comm->topology = read_topology(handle, comm->size);
            if (comm->context == 0) comm->handed_back = Reason::no_context;
        }
        const Guard guard;
        if (!comm->handed_back) open_group(*comm, members);
    }
    keep(std::move(comm));
}

void adopt_copy(MPI_Comm handle, const Comm& parent, std::uint32_t context) {
    std::unique_ptr<Comm> comm = describe(handle);
    comm->handed_back = parent.handed_back;
    comm->context = context;
    if (parent.topology != nullptr) comm->topology = std::make_unique<Topology>(*parent.topology);
    if (context == 0) comm->handed_back = Reason::no_context;
    {
        const Guard guard;
        if (!comm->handed_back) open_group(*comm, world_ranks(handle, comm->size));
    }
    keep(std::move(comm));
}

void forget(MPI_Comm handle, Comm* comm) {
    Library& all = library();
    if (all.threads)
        all.departed.note(key_of(handle), comm);
    else
        say_farewell(key_of(handle), comm);
}

void operation_ended(Comm& comm) {
    --comm.pending;
    if (comm.freed && comm.pending == 0) comm.farewell = comm.group->start(coll::Call{}, {});
}

void bury() {
    std::erase_if(library().leaving, [](const std::unique_ptr<Comm>& comm) {
        const bool over = comm->pending == 0 && comm->farewell.finished();
        if (over) give_back(comm->context);
        return over;
    });
}

}  // namespace loom::mpi
