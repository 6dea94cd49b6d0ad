#include "loom/coll/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "coll/algorithms/families.hpp"
#include "coll/whole.hpp"
#include "loom/base/error.hpp"
#include "loom/base/nearest.hpp"
#include "loom/coll/mpi_operations.hpp"

namespace loom::coll {
namespace {

struct Known {
    std::string_view name;
    Family (*algorithms)();
};

constexpr std::array<Known, collectives> known{{
    {"barrier", barriers},
    {"broadcast", broadcasts},
    {"gather", gathers},
    {"gatherv", gathervs},
    {"scatter", scatters},
    {"scatterv", scattervs},
    {"allgather", allgathers},
    {"allgatherv", allgathervs},
    {"alltoall", alltoalls},
    {"alltoallv", alltoallvs},
    {"reduce", reduces},
    {"allreduce", allreduces},
    {"reduce_scatter", reduce_scatters},
    {"reduce_scatter_block", reduce_scatter_blocks},
    {"scan", scans},
    {"exscan", exscans},
    {"neighbour_allgather", neighbour_allgathers},
    {"neighbour_allgatherv", neighbour_allgathervs},
    {"neighbour_alltoall", neighbour_alltoalls},
    {"neighbour_alltoallv", neighbour_alltoallvs},
}};

struct MpiName {
    std::string_view name;
    Collective what;
};
constexpr MpiName mpi_names[] = {
#define LOOM_MPI_NAME(OPERATION, NAME, WHAT) {#OPERATION, Collective::WHAT},
    LOOM_MPI_COLLECTIVES(LOOM_MPI_NAME)
#undef LOOM_MPI_NAME
        {"neighbour_alltoallw", Collective::neighbour_alltoallv},  // neither MPI's spelling nor a collective of its own
};

std::uint64_t bytes_touched(std::span<const traffic::Op> ops, std::span<const Places> places) {
    std::array<std::uint64_t, 4> first, end{};  // by Buffer
    first.fill(UINT64_MAX);
    for (std::size_t i = 0; i < ops.size(); ++i)
        for (const Place& place : {places[i].from, places[i].to}) {
            if (place.buffer == Buffer::none) continue;
            const auto buffer = static_cast<std::size_t>(place.buffer);
            first[buffer] = std::min(first[buffer], place.at);
            end[buffer] = std::max(end[buffer], place.at + ops[i].amount);
        }
    std::uint64_t bytes = 0;
    for (std::size_t buffer = 0; buffer < end.size(); ++buffer)
        bytes += end[buffer] - std::min(first[buffer], end[buffer]);
    return bytes;
}

void check(const Algorithm& algorithm, const Group& group, const Call& call) {
    if (algorithm.what != call.what)
        throw UsageError(
            fmt::format("{} {} cannot do {}", to_string(algorithm.what), algorithm.name, to_string(call.what)));
    if (!algorithm.fits(group, call))
        throw UsageError(fmt::format("{} {} does not fit this call on {} ranks", to_string(algorithm.what),
                                     algorithm.name, group.size));
}

}  // namespace

std::string_view to_string(Collective what) {
    return known[static_cast<std::size_t>(what)].name;
}

Collective parse_collective(std::string_view name) {
    for (const MpiName& each : mpi_names)
        if (each.name == name) return each.what;
    std::string names;
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (known[i].name == name) return static_cast<Collective>(i);
        names += fmt::format("{}{}", i == 0 ? "" : ", ", known[i].name);
    }
    std::vector<std::string> words;
    for (const Known& each : known) words.emplace_back(each.name);
    for (const MpiName& each : mpi_names) words.emplace_back(each.name);
    const std::string guess = nearest(name, words);
    const std::string advice =
        guess.empty() ? fmt::format("there are {}", names) : fmt::format("did you mean {}?", guess);
    throw UsageError(fmt::format("there is no collective '{}'; {}", name, advice));
}

std::span<const Algorithm> algorithms(Collective what) {
    return known[static_cast<std::size_t>(what)].algorithms();
}

const Algorithm& find_algorithm(Collective what, std::string_view name) {
    std::string names;
    for (const Algorithm& algorithm : algorithms(what)) {
        if (algorithm.name == name) return algorithm;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm.name);
    }
    throw UsageError(fmt::format("{} has no algorithm '{}'; it has {}", to_string(what), name, names));
}

std::vector<Neighbours> grid_neighbours(const Grid& grid) {
    std::uint64_t size = 1;
    for (const std::uint32_t dim : grid.dims) size *= dim;
    std::vector<Neighbours> all(size);
    for (std::uint64_t rank = 0; rank < size; ++rank) {
        std::uint64_t stride = size;
        for (std::size_t d = 0; d < grid.dims.size(); ++d) {
            const std::uint64_t dim = grid.dims[d];
            stride /= dim;
            const std::uint64_t here = rank / stride % dim;
            const auto at = [&](std::uint64_t there) {
                return Rank{static_cast<std::uint32_t>(rank - here * stride + there * stride)};
            };
            const bool round = grid.periodic[d];
            all[rank].sources.push_back(here > 0 || round ? at((here + dim - 1) % dim) : no_rank);
            all[rank].sources.push_back(here + 1 < dim || round ? at((here + 1) % dim) : no_rank);
        }
        all[rank].destinations = all[rank].sources;
    }
    return all;
}

Plan make_plan(const Algorithm& algorithm, const Group& group, const Call& call, const Tuning& tuning) {
    check(algorithm, group, call);
    Writer writer(group.size, group.me);
    algorithm.write(group, call, tuning, writer);
    return writer.finish();
}

traffic::Schedule whole_schedule(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of,
                                 const Tuning& tuning) {
    return whole(algorithm, group, call_of, tuning).schedule;
}

Whole whole(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of, const Tuning& tuning) {
    WholeBuilder builder;
    (void)builder.build(algorithm, group, call_of, tuning);
    return builder.take();
}

const Whole& WholeBuilder::build(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of,
                                 const Tuning& tuning) {
    if (call_of.size() != 1 && call_of.size() != group.size)
        throw UsageError(
            fmt::format("a schedule of {} ranks needs one call or as many, not {}", group.size, call_of.size()));
    builder_.reset(group.size);
    writer_.clear();
    whole_.in_scratch.clear();
    whole_.touched.clear();
    writer_.ranks_ = group.size;
    Group one = group;
    for (std::uint32_t rank = 0; rank < group.size; ++rank) {
        const Call& call = call_of[call_of.size() == 1 ? 0 : rank];
        one.me = writer_.me_ = Rank{rank};
        check(algorithm, one, call);
        algorithm.write(one, call, tuning, writer_);
        take_part();
    }
    builder_.build_into(whole_.schedule);
    return whole_;
}

// What the writer took down goes right into the whole: no schedule is built for each rank.
void WholeBuilder::take_part() {
    const Rank me = writer_.me_;
    for (const traffic::Op& op : writer_.ops_) builder_.add(me, op);
    for (std::size_t i = 0; i < writer_.ops_.size(); ++i) {
        const Places& places = writer_.places_[i];
        const Place& memory = writer_.ops_[i].kind == traffic::OpKind::send ? places.from : places.to;
        whole_.in_scratch.push_back(memory.buffer == Buffer::scratch);
    }
    whole_.touched.push_back(bytes_touched(writer_.ops_, writer_.places_));
    for (const Writer::Edge& edge : writer_.edges_) builder_.require(me, edge.later, edge.earlier);
    writer_.clear();
}

}  // namespace loom::coll
