// Communicators and grids.
#include <algorithm>
#include <string>

#include "loom/base/table.hpp"
#include "twin_mpi/process.hpp"

namespace loom::twin_mpi {

namespace {

void run(Process& me, const Comm& comm, const coll::Call& call, const coll::Buffers& buffers,
         const coll::Reduction* reduction) {
    coll::Request request = comm.group.start(call, buffers, reduction);
    try {
        while (!request.finished()) me.look_or_rest(false);
    } catch (...) {
        request.detach();
        throw;
    }
    request.wait();
}

// One that no member has in use.
std::uint32_t agree_on_context(Process& me, const Comm& comm) {
    std::uint32_t mine = me.next_context, highest = 0;
    const coll::Reduction* const maximum = mpi::kernel(mpi::Arithmetic::max, mpi::Scalar::u32);
    coll::Call call;
    call.what = coll::Collective::allreduce;
    call.bytes = call.element = sizeof mine;
    run(me, comm, call, {reinterpret_cast<const std::byte*>(&mine), reinterpret_cast<std::byte*>(&highest)}, maximum);
    me.next_context = highest + 1;
    require(highest < coll::Communicator::contexts, MPI_ERR_OTHER, "there are too many communicators");
    return highest;
}

std::vector<Rank> members_of(const Comm& comm, std::uint32_t count) {
    std::vector<Rank> members(count);
    for (std::uint32_t i = 0; i < count; ++i) members[i] = comm.group.world_rank(Rank{i});
    return members;
}

std::unique_ptr<Comm> make(Process& me, const Comm& parent, const std::vector<Rank>& members, std::uint32_t context) {
    auto comm = std::make_unique<Comm>(coll::Communicator::with_context(*me.world, members, context), context);
    comm->returns_errors = parent.returns_errors;
    comm->is_world_like = true;
    for (std::uint32_t i = 0; i < members.size(); ++i) comm->is_world_like &= members[i] == Rank{i};
    return comm;
}

struct Colour {
    std::int32_t colour, key;
    std::uint32_t context;
};

MPI_Comm split(Process& me, const Comm& comm, int colour, int key) {
    require(colour >= 0 || colour == MPI_UNDEFINED, MPI_ERR_ARG, "the colour is negative");
    const Colour mine{colour, key, me.next_context};
    std::vector<Colour> all(comm.size());
    coll::Call call;
    call.what = coll::Collective::allgather;
    call.bytes = sizeof mine;
    run(me, comm, call, {reinterpret_cast<const std::byte*>(&mine), reinterpret_cast<std::byte*>(all.data())}, nullptr);
    std::uint32_t context = 0;
    for (const Colour& each : all) context = std::max(context, each.context);
    me.next_context = context + 1;
    require(context < coll::Communicator::contexts, MPI_ERR_OTHER, "there are too many communicators");
    if (colour == MPI_UNDEFINED) return MPI_COMM_NULL;
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t i = 0; i < all.size(); ++i)
        if (all[i].colour == colour) chosen.push_back(i);
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return all[a].key < all[b].key; });
    std::vector<Rank> members;
    for (const std::uint32_t each : chosen) members.push_back(comm.group.world_rank(Rank{each}));
    return me.add(make(me, comm, members, context));
}

const coll::Grid& grid_of(const Comm& comm) {
    require(comm.grid.has_value(), MPI_ERR_TOPOLOGY, "the communicator has no grid");
    return *comm.grid;
}

// The last dimension fastest.
std::vector<int> coords_of(const coll::Grid& grid, std::uint32_t rank) {
    std::vector<int> coords(grid.dims.size());
    for (std::size_t i = coords.size(); i-- > 0; rank /= grid.dims[i])
        coords[i] = static_cast<int>(rank % grid.dims[i]);
    return coords;
}

// MPI_PROC_NULL beyond a border.
int rank_at(const coll::Grid& grid, const std::vector<int>& coords) {
    std::int64_t rank = 0;
    for (std::size_t i = 0; i < coords.size(); ++i) {
        const auto dim = static_cast<std::int64_t>(grid.dims[i]);
        std::int64_t at = coords[i];
        if (grid.periodic[i]) at = (at % dim + dim) % dim;
        if (at < 0 || at >= dim) return MPI_PROC_NULL;
        rank = rank * dim + at;
    }
    return static_cast<int>(rank);
}

MPI_Comm make_grid(Process& me, const Comm& comm, int count, const int* dims, const int* periods) {
    require(count >= 0, MPI_ERR_DIMS, "the number of dimensions is negative");
    coll::Grid grid;
    std::uint64_t places = 1;
    for (int i = 0; i < count; ++i) {
        require(dims[i] > 0, MPI_ERR_DIMS, "a dimension is not positive");
        places *= static_cast<std::uint64_t>(dims[i]);
        if (places > comm.size())
            throw Failure(MPI_ERR_DIMS,
                          "a grid of more places than the communicator has ranks, " + std::to_string(comm.size()));
        grid.dims.push_back(static_cast<std::uint32_t>(dims[i]));
        grid.periodic.push_back(periods[i] != 0);
    }
    const std::uint32_t context = agree_on_context(me, comm);
    if (comm.rank() >= places) return MPI_COMM_NULL;
    auto made = make(me, comm, members_of(comm, static_cast<std::uint32_t>(places)), context);
    made->grid = std::move(grid);
    return me.add(std::move(made));
}

// Dimensions that are not given, as near to each other as they can be, in no increasing order.
void choose_dims(int nodes, std::span<int> dims) {
    std::int64_t given = 1;
    std::vector<int> open;
    for (const int dim : dims) {
        require(dim >= 0, MPI_ERR_DIMS, "a dimension is negative");
        if (dim != 0) given *= dim;
        if (dim == 0) open.push_back(1);
    }
    require(nodes > 0 && given <= nodes && nodes % given == 0, MPI_ERR_DIMS, "the dimensions do not divide the nodes");
    std::vector<int> factors;
    int left = static_cast<int>(nodes / given);
    require(!open.empty() || left == 1, MPI_ERR_DIMS, "the dimensions leave nodes out");
    for (int factor = 2; left > 1; ++factor) {
        if (std::int64_t{factor} * factor > left) factor = left;
        for (; left % factor == 0; left /= factor) factors.push_back(factor);
    }
    for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor)
        *std::min_element(open.begin(), open.end()) *= *factor;
    std::sort(open.rbegin(), open.rend());
    auto next = open.begin();
    for (int& dim : dims)
        if (dim == 0) dim = *next++;
}

}  // namespace
}  // namespace loom::twin_mpi

using namespace loom::twin_mpi;

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
    return guarded("MPI_Comm_rank", comm, [&](Process& me) { *rank = static_cast<int>(me.comm(comm).rank()); });
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
    return guarded("MPI_Comm_size", comm, [&](Process& me) { *size = static_cast<int>(me.comm(comm).size()); });
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return guarded("MPI_Comm_dup", comm, [&](Process& me) {
        const Comm& from = me.comm(comm);
        const std::uint32_t context = agree_on_context(me, from);
        auto copy = make(me, from, members_of(from, from.size()), context);
        copy->grid = from.grid;
        *made = me.add(std::move(copy));
    });
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
    return guarded("MPI_Comm_split", comm, [&](Process& me) { *made = split(me, me.comm(comm), colour, key); });
}

int MPI_Comm_free(MPI_Comm* comm) {
    return guarded("MPI_Comm_free", *comm, [&](Process& me) {
        me.remove(*comm);
        *comm = MPI_COMM_NULL;
    });
}

int MPI_Comm_compare(MPI_Comm first, MPI_Comm second, int* result) {
    return guarded("MPI_Comm_compare", first, [&](Process& me) {
        const Comm &a = me.comm(first), &b = me.comm(second);
        if (&a == &b) {
            *result = MPI_IDENT;
            return;
        }
        auto ranks_of_a = members_of(a, a.size()), ranks_of_b = members_of(b, b.size());
        *result = MPI_CONGRUENT;
        if (ranks_of_a == ranks_of_b) return;
        std::sort(ranks_of_a.begin(), ranks_of_a.end());
        std::sort(ranks_of_b.begin(), ranks_of_b.end());
        *result = ranks_of_a == ranks_of_b ? MPI_SIMILAR : MPI_UNEQUAL;
    });
}

int MPI_Dims_create(int nodes, int count, int* dims) {
    return guarded("MPI_Dims_create", MPI_COMM_WORLD, [&](Process&) {
        require(count >= 0, MPI_ERR_DIMS, "the number of dimensions is negative");
        choose_dims(nodes, {dims, static_cast<std::size_t>(count)});
    });
}

int MPI_Cart_create(MPI_Comm comm, int count, const int* dims, const int* periods, int, MPI_Comm* made) {
    return guarded("MPI_Cart_create", comm,
                   [&](Process& me) { *made = make_grid(me, me.comm(comm), count, dims, periods); });
}

int MPI_Cartdim_get(MPI_Comm comm, int* count) {
    return guarded("MPI_Cartdim_get", comm,
                   [&](Process& me) { *count = static_cast<int>(grid_of(me.comm(comm)).dims.size()); });
}

int MPI_Cart_get(MPI_Comm comm, int most, int* dims, int* periods, int* coords) {
    return guarded("MPI_Cart_get", comm, [&](Process& me) {
        const loom::coll::Grid& grid = grid_of(me.comm(comm));
        const std::vector<int> mine = coords_of(grid, me.comm(comm).rank());
        for (std::size_t i = 0;
             i < std::min<std::size_t>(grid.dims.size(), static_cast<std::size_t>(std::max(0, most))); ++i) {
            dims[i] = static_cast<int>(grid.dims[i]);
            periods[i] = grid.periodic[i] ? 1 : 0;
            coords[i] = mine[i];
        }
    });
}

int MPI_Cart_rank(MPI_Comm comm, const int* coords, int* rank) {
    return guarded("MPI_Cart_rank", comm, [&](Process& me) {
        const loom::coll::Grid& grid = grid_of(me.comm(comm));
        *rank = rank_at(grid, {coords, coords + grid.dims.size()});
        require(*rank != MPI_PROC_NULL, MPI_ERR_ARG, "the coordinates are outside of the grid");
    });
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int most, int* coords) {
    return guarded("MPI_Cart_coords", comm, [&](Process& me) {
        const Comm& with = me.comm(comm);
        require(rank >= 0 && static_cast<std::uint32_t>(rank) < with.size(), MPI_ERR_RANK, "there is no such rank");
        const std::vector<int> all = coords_of(grid_of(with), static_cast<std::uint32_t>(rank));
        require(static_cast<std::size_t>(std::max(0, most)) >= all.size(), MPI_ERR_DIMS, "there is no room for all");
        std::copy(all.begin(), all.end(), coords);
    });
}

int MPI_Cart_shift(MPI_Comm comm, int direction, int steps, int* source, int* dest) {
    return guarded("MPI_Cart_shift", comm, [&](Process& me) {
        const Comm& with = me.comm(comm);
        const loom::coll::Grid& grid = grid_of(with);
        require(direction >= 0 && static_cast<std::size_t>(direction) < grid.dims.size(), MPI_ERR_DIMS,
                "there is no such dimension");
        std::vector<int> to = coords_of(grid, with.rank()), from = to;
        to[static_cast<std::size_t>(direction)] += steps;
        from[static_cast<std::size_t>(direction)] -= steps;
        *source = rank_at(grid, from);
        *dest = rank_at(grid, to);
    });
}
