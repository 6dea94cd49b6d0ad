// Typed arguments become an untyped call: one function for each collective.
#pragma once

#include "loom/coll/buffers.hpp"
#include "loom/coll/typed/data.hpp"

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

template <class T>
[[nodiscard]] Bound bind_equal(Collective what, const std::byte* input, std::byte* output, std::size_t elements,
                               Rank root = {}) {
    Bound bound;
    bound.call.what = what;
    bound.call.root = root;
    bound.call.bytes = elements * sizeof(T);
    bound.call.element = sizeof(T);
    bound.buffers = {input, output};
    return bound;
}

template <class T, class Op>
void bind_operation(Bound& bound, const Op& op) {
    bound.reduction = reduction_of<T>(op);
    bound.call.commutative = bound.reduction.commutative;
}

template <class Data>
[[nodiscard]] Bound bind_broadcast(Data& data, Rank root) {
    return bind_equal<Element<Data>>(Collective::broadcast, nullptr, output_data(data), std::ranges::size(data), root);
}

// Gather, and allgather (for which everyone is a root).
template <class T, class In, class Out>
[[nodiscard]] Bound bind_gather(Collective what, std::uint32_t ranks, bool root, const In& in, Out& out, Rank to = {}) {
    std::size_t each = 0;
    if constexpr (is_in_place<In>)
        each = std::ranges::size(out) / ranks;
    else
        each = std::ranges::size(in);
    need(!root || std::ranges::size(out) >= each * ranks, to_string(what), "the output is too small for all ranks");
    Bound bound = bind_equal<T>(what, input_data(in), output_data(out), each, to);
    bound.call.in_place = is_in_place<In>;
    return bound;
}

template <class T, class In, class Out>
[[nodiscard]] BoundBlocks bind_gatherv(Collective what, bool root, const In& in, Out& out, const Layout& layout,
                                       Rank to = {}) {
    BoundBlocks bound{bind_equal<T>(what, input_data(in), output_data(out), 0, to), {}, {}};
    if (root) bound.received = {layout, sizeof(T), std::ranges::size(out), to_string(what)};
    if constexpr (!is_in_place<In>) bound.sent = BlockBytes(std::ranges::size(in) * sizeof(T));
    bound.call.in_place = is_in_place<In>;
    return bound;
}

template <class T, class In, class Out>
[[nodiscard]] Bound bind_scatter(std::uint32_t ranks, bool root, const In& in, Out& out, Rank from) {
    std::size_t each = 0;
    if constexpr (is_in_place<Out>)
        each = std::ranges::size(in) / ranks;
    else
        each = std::ranges::size(out);
    need(!root || std::ranges::size(in) >= each * ranks, "scatter", "the input is too short for all ranks");
    Bound bound = bind_equal<T>(Collective::scatter, input_data(in), output_data(out), each, from);
    bound.call.in_place = is_in_place<Out>;
    return bound;
}

template <class T, class In, class Out>
[[nodiscard]] BoundBlocks bind_scatterv(bool root, const In& in, const Layout& layout, Out& out, Rank from) {
    BoundBlocks bound{bind_equal<T>(Collective::scatterv, input_data(in), output_data(out), 0, from), {}, {}};
    if (root) bound.sent = {layout, sizeof(T), std::ranges::size(in), "scatterv"};
    if constexpr (!is_in_place<Out>) bound.received = BlockBytes(std::ranges::size(out) * sizeof(T));
    bound.call.in_place = is_in_place<Out>;
    return bound;
}

template <class T, class In, class Out>
[[nodiscard]] Bound bind_alltoall(std::uint32_t ranks, const In& in, Out& out) {
    const std::size_t each = std::ranges::size(out) / ranks;
    if constexpr (!is_in_place<In>)
        need(std::ranges::size(in) == std::ranges::size(out), "alltoall", "input and output must be equally long");
    need(each * ranks == std::ranges::size(out), "alltoall",
         "the output must have a block of equal size for each rank");
    Bound bound = bind_equal<T>(Collective::alltoall, input_data(in), output_data(out), each);
    bound.call.in_place = is_in_place<In>;
    return bound;
}

template <class T, class In, class Out>
[[nodiscard]] BoundBlocks bind_alltoallv(Collective what, const In& in, const Layout& sent, Out& out,
                                         const Layout& received) {
    BoundBlocks bound{bind_equal<T>(what, input_data(in), output_data(out), 0), {}, {}};
    if constexpr (!is_in_place<In>) bound.sent = {sent, sizeof(T), std::ranges::size(in), to_string(what)};
    bound.received = {received, sizeof(T), std::ranges::size(out), to_string(what)};
    bound.call.in_place = is_in_place<In>;
    return bound;
}

// Reduce, allreduce, scan and exscan: input and output of one size.
template <class T, class In, class Out, class Op>
[[nodiscard]] Bound bind_reduction(Collective what, bool root, const In& in, Out& out, const Op& op, Rank to = {}) {
    std::size_t elements = 0;
    if constexpr (is_in_place<In>)
        elements = std::ranges::size(out);
    else
        elements = std::ranges::size(in);
    need(!root || std::ranges::size(out) >= elements, to_string(what), "the output is shorter than the input");
    Bound bound = bind_equal<T>(what, input_data(in), output_data(out), elements, to);
    bind_operation<T>(bound, op);
    bound.call.in_place = is_in_place<In>;
    return bound;
}

template <class T, class In, class Out, class Op>
[[nodiscard]] Bound bind_reduce_scatter_block(std::uint32_t ranks, const In& in, Out& out, const Op& op) {
    std::size_t each = 0;
    if constexpr (is_in_place<In>) {
        each = std::ranges::size(out) / ranks;
    } else {
        each = std::ranges::size(in) / ranks;
        need(std::ranges::size(in) == each * ranks && std::ranges::size(out) >= each, "reduce_scatter_block",
             "the input must have a block of equal size for each rank, and the output room for one");
    }
    Bound bound = bind_equal<T>(Collective::reduce_scatter_block, input_data(in), output_data(out), each);
    bind_operation<T>(bound, op);
    bound.call.in_place = is_in_place<In>;
    return bound;
}

template <class T, class In, class Out, class Op>
[[nodiscard]] BoundBlocks bind_reduce_scatter(std::uint32_t me, const In& in, Out& out,
                                              std::span<const std::size_t> counts, const Op& op) {
    BoundBlocks bound{bind_equal<T>(Collective::reduce_scatter, input_data(in), output_data(out), 0), {}, {}};
    std::size_t room = 0;
    if constexpr (is_in_place<In>) {
        room = std::ranges::size(out);
    } else {
        room = std::ranges::size(in);
        need(me >= counts.size() || std::ranges::size(out) >= counts[me], "reduce_scatter", "the output is too small");
    }
    bound.received = {counts, sizeof(T), room, "reduce_scatter"};
    bind_operation<T>(bound, op);
    bound.call.in_place = is_in_place<In>;
    return bound;
}

template <class T, class In, class Out>
[[nodiscard]] Bound bind_neighbours(Collective what, const Neighbours& mine, const In& in, Out& out) {
    const std::size_t blocks = what == Collective::neighbour_alltoall ? mine.destinations.size() : 1;
    const std::size_t each = blocks == 0 ? std::ranges::size(out) / std::max<std::size_t>(1, mine.sources.size())
                                         : std::ranges::size(in) / blocks;
    need(std::ranges::size(in) >= blocks * each && std::ranges::size(out) >= mine.sources.size() * each,
         to_string(what), "there must be a block of equal size for each neighbour");
    return bind_equal<T>(what, input_data(in), output_data(out), each);
}

}  // namespace loom::coll::detail
