#include "loom/coll/algorithm.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "coll/algorithms/families.hpp"
#include "coll/whole.hpp"
#include "loom/base/error.hpp"

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

// MPI's names for what has another here.
std::string_view plain(std::string_view name) {
    if (name == "bcast") return "broadcast";
    if (name == "alltoallw") return "alltoallv";
    if (name == "neighbor_allgather") return "neighbour_allgather";
    if (name == "neighbor_allgatherv") return "neighbour_allgatherv";
    if (name == "neighbor_alltoall") return "neighbour_alltoall";
    if (name == "neighbor_alltoallv" || name == "neighbor_alltoallw" || name == "neighbour_alltoallw")
        return "neighbour_alltoallv";
    return name;
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
    std::string names;
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (known[i].name == plain(name)) return static_cast<Collective>(i);
        names += fmt::format("{}{}", i == 0 ? "" : ", ", known[i].name);
    }
    throw UsageError(fmt::format("there is no collective '{}'; there are {}", name, names));
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

// Takes what a writer took down right into the whole: no schedule is built for each rank.
class WholeSchedule {
public:
    explicit WholeSchedule(std::uint32_t ranks) : builder_(ranks) {}
    // What one rank has; the writer's memory serves the next.
    void add(Writer& writer) {
        for (const traffic::Op& op : writer.ops_) builder_.add(writer.me_, op);
        for (std::size_t i = 0; i < writer.ops_.size(); ++i) {
            const Places& places = writer.places_[i];
            const Place& memory = writer.ops_[i].kind == traffic::OpKind::send ? places.from : places.to;
            in_scratch_.push_back(memory.buffer == Buffer::scratch);
        }
        for (const Writer::Edge& edge : writer.edges_) builder_.require(writer.me_, edge.later, edge.earlier);
        writer.ops_.clear();
        writer.places_.clear();
        writer.edges_.clear();
        writer.scratch_ = 0;
        ++writer.me_.value;
    }
    Whole finish() { return {builder_.build(), std::move(in_scratch_)}; }

private:
    traffic::ScheduleBuilder builder_;
    std::vector<std::uint8_t> in_scratch_;
};

traffic::Schedule whole_schedule(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of,
                                 const Tuning& tuning) {
    return whole(algorithm, group, call_of, tuning).schedule;
}

Whole whole(const Algorithm& algorithm, const Group& group, std::span<const Call> call_of, const Tuning& tuning) {
    if (call_of.size() != 1 && call_of.size() != group.size)
        throw UsageError(
            fmt::format("a schedule of {} ranks needs one call or as many, not {}", group.size, call_of.size()));
    WholeSchedule parts(group.size);
    Group one = group;
    Writer writer(group.size, Rank{0});
    for (std::uint32_t rank = 0; rank < group.size; ++rank) {
        const Call& call = call_of[call_of.size() == 1 ? 0 : rank];
        one.me = Rank{rank};
        check(algorithm, one, call);
        algorithm.write(one, call, tuning, writer);
        parts.add(writer);
    }
    return parts.finish();
}

}  // namespace loom::coll
