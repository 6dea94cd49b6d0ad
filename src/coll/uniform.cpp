#include "loom/coll/uniform.hpp"

#include <fmt/format.h>

#include <utility>

#include "loom/base/error.hpp"
#include "loom/traffic/catalogue.hpp"

namespace loom::coll {

struct UniformCall::State {
    Group group;
    std::vector<Call> calls;
    std::vector<std::uint32_t> hosts;
    std::vector<Neighbours> neighbours;
    Grid grid;
    std::vector<std::uint64_t> bytes, at;  // of as many blocks as a rank may have
};

namespace {

bool of_neighbours(Collective what) {
    return what >= Collective::neighbour_allgather;
}

Grid usual_grid(std::uint32_t ranks) {
    Grid grid;
    for (const std::size_t extent : traffic::near_square(ranks, 2))
        grid.dims.push_back(static_cast<std::uint32_t>(extent));
    grid.periodic.assign(grid.dims.size(), true);
    return grid;
}

void check(const UniformShape& shape) {
    if (shape.ranks == 0) throw UsageError("a collective needs at least one rank");
    if (shape.root.value >= shape.ranks)
        throw UsageError(fmt::format("the root is rank {}, and there are {} ranks", shape.root.value, shape.ranks));
    if (!shape.hosts.empty() && shape.hosts.size() != shape.ranks)
        throw UsageError(fmt::format("{} hosts were given for {} ranks", shape.hosts.size(), shape.ranks));
    if (shape.element == 0 || shape.bytes % shape.element != 0)
        throw UsageError(fmt::format("{} bytes are no whole number of elements of {}", shape.bytes, shape.element));
    std::uint64_t places = 1;
    for (const std::uint32_t extent : shape.grid.dims) places *= extent;
    if (!shape.grid.dims.empty() && places != shape.ranks)
        throw UsageError(fmt::format("the grid has {} places, and there are {} ranks", places, shape.ranks));
    if (shape.grid.dims.size() != shape.grid.periodic.size())
        throw UsageError("a grid needs to know of every dimension whether it is closed");
}

}  // namespace

UniformCall::UniformCall(const UniformShape& shape) : state_(std::make_unique<State>()) {
    check(shape);
    State& state = *state_;
    state.hosts = shape.hosts;
    for (std::uint32_t rank = 0; rank < shape.ranks && shape.hosts.empty(); ++rank)
        state.hosts.push_back(shape.per_host == 0 ? 0 : rank / shape.per_host);
    state.group.size = shape.ranks;
    state.group.hosts = state.hosts;
    if (of_neighbours(shape.what)) {
        state.grid = shape.grid.dims.empty() ? usual_grid(shape.ranks) : shape.grid;
        state.neighbours = grid_neighbours(state.grid);
        state.group.neighbours = state.neighbours;
        state.group.grid = &state.grid;
    }
    const std::size_t blocks = std::max<std::size_t>(shape.ranks, 2 * state.grid.dims.size());
    for (std::size_t i = 0; i < blocks; ++i) {
        state.bytes.push_back(shape.bytes);
        state.at.push_back(i * shape.bytes);
    }

    Call call;
    call.what = shape.what;
    call.root = shape.root;
    call.bytes = shape.bytes;
    call.element = shape.element;
    call.commutative = shape.commutative;
    call.in_place = shape.in_place;
    const std::size_t width = of_neighbours(shape.what) ? 2 * state.grid.dims.size() : shape.ranks;
    call.sent = {std::span(state.bytes).first(width), std::span(state.at).first(width)};
    call.received = call.sent;
    state.calls.assign(shape.ranks, call);
    const bool rooted = shape.what == Collective::gather || shape.what == Collective::gatherv ||
                        shape.what == Collective::scatter || shape.what == Collective::scatterv ||
                        shape.what == Collective::reduce;
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
        if (rooted && Rank{rank} != shape.root) state.calls[rank].in_place = false;
}

UniformCall::~UniformCall() = default;
UniformCall::UniformCall(UniformCall&&) noexcept = default;
UniformCall& UniformCall::operator=(UniformCall&&) noexcept = default;

const Group& UniformCall::group() const {
    return state_->group;
}

std::span<const Call> UniformCall::calls() const {
    return state_->calls;
}

}  // namespace loom::coll
