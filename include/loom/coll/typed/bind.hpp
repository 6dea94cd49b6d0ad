// The arguments of typed calls become untyped calls: one function for each kind of collective.
#pragma once

#include <algorithm>

#include "loom/coll/typed/given.hpp"

namespace loom::coll::detail {

struct Bound {
    Call call;
    Buffers buffers;
    Reduction reduction;
};

// With blocks of different sizes.
struct BoundBlocks : Bound {
    BlockBytes sent, received;
};

[[nodiscard]] inline Bound bind_equal(Collective what, const Given& given, std::size_t elements, Rank root = {}) {
    Bound bound;
    bound.call.what = what;
    bound.call.root = root;
    bound.call.bytes = elements * given.element;
    bound.call.element = given.element;
    bound.call.in_place = given.in_place;
    bound.call.commutative = given.reduction.commutative;
    bound.buffers = given.buffers;
    bound.reduction = given.reduction;
    return bound;
}

[[nodiscard]] inline Bound bind_broadcast(const Given& given, Rank root) {
    return bind_equal(Collective::broadcast, given, given.outputs, root);
}

// Gather, and allgather (for which everyone is a root).
[[nodiscard]] inline Bound bind_gather(Collective what, std::uint32_t ranks, bool root, const Given& given,
                                       Rank to = {}) {
    const std::size_t each = given.in_place ? given.outputs / ranks : given.inputs;
    need(!root || given.outputs >= each * ranks, to_string(what), "the output is too small for all ranks");
    return bind_equal(what, given, each, to);
}

[[nodiscard]] inline BoundBlocks bind_gatherv(Collective what, bool root, const Given& given, const Layout& layout,
                                              Rank to = {}) {
    BoundBlocks bound{bind_equal(what, given, 0, to), {}, {}};
    if (root) bound.received = {layout, given.element, given.outputs, to_string(what)};
    if (!given.in_place) bound.sent = BlockBytes(given.inputs * given.element);
    return bound;
}

[[nodiscard]] inline Bound bind_scatter(std::uint32_t ranks, bool root, const Given& given, Rank from) {
    const std::size_t each = given.in_place ? given.inputs / ranks : given.outputs;
    need(!root || given.inputs >= each * ranks, "scatter", "the input is too short for all ranks");
    return bind_equal(Collective::scatter, given, each, from);
}

[[nodiscard]] inline BoundBlocks bind_scatterv(bool root, const Given& given, const Layout& layout, Rank from) {
    BoundBlocks bound{bind_equal(Collective::scatterv, given, 0, from), {}, {}};
    if (root) bound.sent = {layout, given.element, given.inputs, "scatterv"};
    if (!given.in_place) bound.received = BlockBytes(given.outputs * given.element);
    return bound;
}

[[nodiscard]] inline Bound bind_alltoall(std::uint32_t ranks, const Given& given) {
    const std::size_t each = given.outputs / ranks;
    need(given.in_place || given.inputs == given.outputs, "alltoall", "input and output must be equally long");
    need(each * ranks == given.outputs, "alltoall", "the output must have a block of equal size for each rank");
    return bind_equal(Collective::alltoall, given, each);
}

[[nodiscard]] inline BoundBlocks bind_alltoallv(Collective what, const Given& given, const Layout& sent,
                                                const Layout& received) {
    BoundBlocks bound{bind_equal(what, given, 0), {}, {}};
    if (!given.in_place) bound.sent = {sent, given.element, given.inputs, to_string(what)};
    bound.received = {received, given.element, given.outputs, to_string(what)};
    return bound;
}

// Reduce, allreduce, scan and exscan: input and output of one size.
[[nodiscard]] inline Bound bind_reduction(Collective what, bool root, const Given& given, Rank to = {}) {
    const std::size_t elements = given.in_place ? given.outputs : given.inputs;
    need(!root || given.outputs >= elements, to_string(what), "the output is shorter than the input");
    return bind_equal(what, given, elements, to);
}

[[nodiscard]] inline Bound bind_reduce_scatter_block(std::uint32_t ranks, const Given& given) {
    const std::size_t each = (given.in_place ? given.outputs : given.inputs) / ranks;
    need(given.in_place || (given.inputs == each * ranks && given.outputs >= each), "reduce_scatter_block",
         "the input must have a block of equal size for each rank, and the output room for one");
    return bind_equal(Collective::reduce_scatter_block, given, each);
}

[[nodiscard]] inline BoundBlocks bind_reduce_scatter(std::uint32_t me, const Given& given, const Counts& counts) {
    BoundBlocks bound{bind_equal(Collective::reduce_scatter, given, 0), {}, {}};
    const std::span<const std::size_t> each = counts.span();
    need(given.in_place || me >= each.size() || given.outputs >= each[me], "reduce_scatter", "the output is too small");
    bound.received = {each, given.element, given.in_place ? given.outputs : given.inputs, "reduce_scatter"};
    return bound;
}

[[nodiscard]] inline Bound bind_neighbours(Collective what, const Neighbours& mine, const Given& given) {
    const std::size_t blocks = what == Collective::neighbour_alltoall ? mine.destinations.size() : 1;
    const std::size_t each =
        blocks == 0 ? given.outputs / std::max<std::size_t>(1, mine.sources.size()) : given.inputs / blocks;
    need(given.inputs >= blocks * each && given.outputs >= mine.sources.size() * each, to_string(what),
         "there must be a block of equal size for each neighbour");
    return bind_equal(what, given, each);
}

}  // namespace loom::coll::detail
