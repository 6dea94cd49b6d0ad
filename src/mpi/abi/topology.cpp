// Neighbours of every rank, from what MPI says of a communicator's topology.
#include <algorithm>
#include <numeric>

#include "mpi/abi/library.hpp"

namespace loom::mpi {

namespace {

using Ranks = std::vector<int>;

std::vector<Rank> neighbours(std::span<const int> given) {
    std::vector<Rank> list;
    for (const int rank : given) list.push_back(rank < 0 ? coll::no_rank : Rank(static_cast<std::uint32_t>(rank)));
    return list;
}

void read_grid(MPI_Comm handle, std::uint32_t size, Topology& topology) {
    int dimensions = 0;
    PMPI_Cartdim_get(handle, &dimensions);
    Ranks dims(static_cast<std::size_t>(dimensions)), periods(dims.size()), at(dims.size());
    if (dimensions > 0) PMPI_Cart_get(handle, dimensions, dims.data(), periods.data(), at.data());
    coll::Grid grid;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        grid.dims.push_back(static_cast<std::uint32_t>(dims[d]));
        grid.periodic.push_back(periods[d] != 0);
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        Ranks beside;
        if (dimensions > 0) PMPI_Cart_coords(handle, static_cast<int>(rank), dimensions, at.data());
        for (std::size_t d = 0; d < dims.size(); ++d)
            for (const int step : {-1, 1}) {
                Ranks there = at;
                there[d] += step;
                int neighbour = MPI_PROC_NULL;
                if (periods[d] != 0 || (there[d] >= 0 && there[d] < dims[d]))
                    PMPI_Cart_rank(handle, there.data(), &neighbour);
                beside.push_back(neighbour);
            }
        topology.by_rank[rank] = {neighbours(beside), neighbours(beside)};
    }
    if (dimensions > 0) topology.grid = std::move(grid);
}

void read_graph(MPI_Comm handle, std::uint32_t size, Topology& topology) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        int count = 0;
        PMPI_Graph_neighbors_count(handle, static_cast<int>(rank), &count);
        Ranks beside(static_cast<std::size_t>(count));
        PMPI_Graph_neighbors(handle, static_cast<int>(rank), count, beside.data());
        topology.by_rank[rank] = {neighbours(beside), neighbours(beside)};
    }
}

// Each rank knows its own alone: they are gathered, inside of the constructor.
void read_distributed(MPI_Comm handle, std::uint32_t size, Topology& topology) {
    int degree[3] = {0, 0, 0};
    PMPI_Dist_graph_neighbors_count(handle, &degree[0], &degree[1], &degree[2]);
    const std::size_t in = static_cast<std::size_t>(degree[0]), out = static_cast<std::size_t>(degree[1]);
    // One element more: MPI libraries differ in what they say to empty lists.
    Ranks mine(in + out), weights(std::max(in, out) + 1), sources(in + 1), destinations(out + 1);
    PMPI_Dist_graph_neighbors(handle, degree[0], sources.data(), weights.data(), degree[1], destinations.data(),
                              weights.data());
    std::copy_n(sources.begin(), in, mine.begin());
    std::copy_n(destinations.begin(), out, mine.begin() + degree[0]);

    Ranks degrees(2 * std::size_t{size}), lengths(size), starts(size);
    PMPI_Allgather(degree, 2, MPI_INT, degrees.data(), 2, MPI_INT, handle);
    for (std::uint32_t rank = 0; rank < size; ++rank) lengths[rank] = degrees[2 * rank] + degrees[2 * rank + 1];
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
    Ranks lists(static_cast<std::size_t>(starts.back() + lengths.back()) + 1);
    PMPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_INT, lists.data(), lengths.data(), starts.data(),
                    MPI_INT, handle);
    for (std::uint32_t rank = 0; rank < size; ++rank) {
        const std::span<const int> list(lists.data() + starts[rank], static_cast<std::size_t>(lengths[rank]));
        const auto in_degree = static_cast<std::size_t>(degrees[2 * rank]);
        topology.by_rank[rank] = {neighbours(list.first(in_degree)), neighbours(list.subspan(in_degree))};
    }
}

}  // namespace

std::unique_ptr<Topology> read_topology(MPI_Comm handle, std::uint32_t size) {
    int kind = MPI_UNDEFINED;
    PMPI_Topo_test(handle, &kind);
    if (kind == MPI_UNDEFINED) return nullptr;
    auto topology = std::make_unique<Topology>();
    topology->by_rank.resize(size);
    if (kind == MPI_CART) read_grid(handle, size, *topology);
    if (kind == MPI_GRAPH) read_graph(handle, size, *topology);
    if (kind == MPI_DIST_GRAPH) read_distributed(handle, size, *topology);
    topology->someone_alone = std::any_of(topology->by_rank.begin(), topology->by_rank.end(), [](const auto& beside) {
        const auto absent = [](Rank rank) { return rank == coll::no_rank; };
        return std::all_of(beside.sources.begin(), beside.sources.end(), absent) &&
               std::all_of(beside.destinations.begin(), beside.destinations.end(), absent);
    });
    return topology;
}

}  // namespace loom::mpi
