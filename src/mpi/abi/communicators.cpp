// Communicators of MPI that Loomband knows. Contexts are agreed on when one is made, so that no collective has to wait
// for that: the first rank takes one of its own share, which the others were told in advance. A freed communicator's
// context is given back once every rank has finished its operations, which a barrier on it tells, in the background.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "loom/base/error.hpp"
#include "mpi/abi/library.hpp"

namespace loom::mpi {

namespace {

using coll::Communicator;

void prepare_contexts() {
    Library& all = library();
    const std::uint32_t ranks = all.world->size();
    all.context_share = (Communicator::contexts - Communicator::first_context) / ranks;
    all.context_first = Communicator::first_context + all.world->rank().value * all.context_share;
    all.context_used.assign(all.context_share, false);
}

// Ranks of the world; nothing where some are of another. Frees the group.
std::vector<Rank> world_ranks(MPI_Group group) {
    int size = 0;
    PMPI_Group_size(group, &size);
    std::vector<int> ours(static_cast<std::size_t>(size)), theirs(ours.size());
    std::iota(ours.begin(), ours.end(), 0);
    PMPI_Group_translate_ranks(group, size, ours.data(), library().everyone, theirs.data());
    PMPI_Group_free(&group);
    std::vector<Rank> ranks;
    ranks.reserve(theirs.size());
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
    ++all.gone;
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

// A communicator and its members, ranks of the world.
struct Description {
    std::unique_ptr<Comm> comm;
    std::vector<Rank> members;  // of an intercommunicator those of both groups, in the same order everywhere
};

// The group with the lower first rank comes first.
void join_groups(Description& what, std::vector<Rank> remote) {
    Comm& comm = *what.comm;
    std::vector<Rank>& local = what.members;
    comm.peers = static_cast<std::uint32_t>(remote.size());
    coll::TwoGroups groups{comm.size, comm.size + comm.peers, Rank(comm.rank)};
    if (remote.front() < local.front()) {
        groups.first = comm.peers;
        groups.me = Rank(comm.peers + comm.rank);
        local.swap(remote);
    }
    local.insert(local.end(), remote.begin(), remote.end());
    comm.groups = groups;
}

Description describe(MPI_Comm handle) {
    Description what{std::make_unique<Comm>(), {}};
    Comm& comm = *what.comm;
    comm.handle = handle;
    int inter = 0, rank = 0, size = 0;
    PMPI_Comm_test_inter(handle, &inter);
    PMPI_Comm_rank(handle, &rank);
    PMPI_Comm_size(handle, &size);
    comm.rank = static_cast<std::uint32_t>(rank);
    comm.size = comm.peers = static_cast<std::uint32_t>(size);
    MPI_Group group = MPI_GROUP_NULL;
    PMPI_Comm_group(handle, &group);
    what.members = world_ranks(group);
    std::vector<Rank> remote;
    if (inter != 0) {
        PMPI_Comm_remote_group(handle, &group);
        remote = world_ranks(group);
    }
    if (what.members.empty() || (inter != 0 && remote.empty()))
        comm.handed_back = Reason::other_ranks;
    else if (inter != 0)
        join_groups(what, std::move(remote));
    return what;
}

// The first member takes a context and tells the others, of its own group by way of the other one.
void agree_through_mpi(Comm& comm) {
    const bool first = comm.groups ? comm.groups->me.value == 0 : comm.rank == 0;
    {
        const Guard guard;
        if (first) comm.context = take_context();
    }
    if (!comm.groups) {
        PMPI_Bcast(&comm.context, 1, MPI_UINT32_T, 0, comm.handle);
        return;
    }
    const bool in_first = comm.groups->here() == 0;
    const int among_givers = comm.rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    PMPI_Bcast(&comm.context, 1, MPI_UINT32_T, in_first ? among_givers : 0, comm.handle);
    PMPI_Bcast(&comm.context, 1, MPI_UINT32_T, in_first ? 0 : among_givers, comm.handle);
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

Offers::Offers(MPI_Comm parent) {
    coll::Request request;
    {
        const Guard guard;
        const Comm* comm = find_comm(parent);
        if (comm == nullptr || comm->handed_back) return;
        advance();
        bury();
        mine_ = take_context();
        group_ = comm->group;
        all_.resize(group_->size());
        coll::Call call;
        call.what = coll::Collective::allgather;
        call.bytes = sizeof mine_;
        request =
            group_->start(call, {reinterpret_cast<const std::byte*>(&mine_), reinterpret_cast<std::byte*>(all_.data())},
                          nullptr, nullptr,
                          coll::Series::second);  // as blocking calls, among which constructors have their place
    }
    until([&] {
        const Guard guard;
        return request.finished() && request.test();
    });
}

Offers::~Offers() {
    const Guard guard;
    if (mine_ != 0) give_back(mine_);
    group_.reset();
}

std::uint32_t Offers::accept(Rank first) {
    std::uint32_t at = 0;
    while (group_->world_rank(Rank(at)) != first) ++at;
    if (Rank(at) == group_->rank()) mine_ = 0;
    return all_[at];
}

void adopt(MPI_Comm handle, Offers* offers) {
    if (handle == MPI_COMM_NULL || library().world == nullptr) return;
    auto [comm, members] = describe(handle);
    if (!comm->handed_back) {
        if (offers != nullptr)
            comm->context = offers->accept(members.front());
        else
            agree_through_mpi(*comm);
        if (!comm->groups) comm->topology = read_topology(handle, comm->size);
        if (comm->context == 0) comm->handed_back = Reason::no_context;
        const Guard guard;
        if (!comm->handed_back) open_group(*comm, members);
    }
    keep(std::move(comm));
}

void adopt_copy(MPI_Comm handle, const Comm& parent, std::uint32_t context) {
    auto [comm, members] = describe(handle);
    comm->context = context;
    if (parent.topology != nullptr) comm->topology = std::make_unique<Topology>(*parent.topology);
    if (context == 0) comm->handed_back = Reason::no_context;
    {
        const Guard guard;
        if (!comm->handed_back) open_group(*comm, members);
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
    // Ranks with several threads read their notes at different times; at the end all must have read all.
    if (library().departed.any()) read_notes();
    std::erase_if(library().leaving, [](const std::unique_ptr<Comm>& comm) {
        const bool over = comm->pending == 0 && comm->farewell.finished();
        if (over) give_back(comm->context);
        return over;
    });
}

}  // namespace loom::mpi
