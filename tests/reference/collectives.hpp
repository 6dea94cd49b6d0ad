// What every collective means: all ranks' buffers before, all ranks' outputs after. Slow and obvious.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "loom/coll/call.hpp"
#include "loom/coll/reduction.hpp"

namespace loom::reference {

using Data = std::vector<std::byte>;

// One rank's buffers before the call.
struct RankData {
    Data input, output;
};

// Its output afterwards: bytes that the collective does not write are those that were there before. Beyond `defined`
// bytes it may be anything (reduce_scatter in place).
struct Outcome {
    Data output;
    std::size_t defined = 0;
};

namespace collective {

inline Data piece(const Data& data, std::uint64_t at, std::uint64_t bytes) {
    if (at + bytes > data.size()) throw std::out_of_range("a block lies outside its buffer");
    return {data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + bytes)};
}

inline void put(Data& data, std::uint64_t at, const Data& what) {
    if (at + what.size() > data.size()) throw std::out_of_range("a block lies outside its buffer");
    std::copy(what.begin(), what.end(), data.begin() + static_cast<std::ptrdiff_t>(at));
}

// x[first] op ... op x[last], from the left.
inline Data fold(const std::vector<Data>& x, std::size_t first, std::size_t last, const coll::Reduction& op) {
    Data sum = x[first];
    for (std::size_t i = first + 1; i <= last; ++i) {
        Data next = x[i];
        op.apply(op.state, sum.data(), next.data(), next.size() / op.element);
        sum = next;
    }
    return sum;
}

// How often list[i] stands before i.
inline std::uint32_t times_before(const std::vector<Rank>& list, std::size_t i) {
    std::uint32_t times = 0;
    for (std::size_t k = 0; k < i; ++k) times += list[k] == list[i] ? 1 : 0;
    return times;
}

// The destination of rank's source that is meant by its i-th source.
inline std::uint32_t opposite(const coll::Group& group, std::uint32_t rank, std::uint32_t i) {
    const auto& sources = group.neighbours[rank].sources;
    if (group.grid != nullptr) return i % 2 == 0 ? i + 1 : i - 1;
    const auto& list = group.neighbours[sources[i].value].destinations;
    for (std::uint32_t k = 0; k < list.size(); ++k)
        if (list[k].value == rank && times_before(list, k) == times_before(sources, i)) return k;
    throw std::logic_error("neighbours do not match");
}

}  // namespace collective

// `calls` and `before` by rank; `op` of reductions. group.me does not matter.
inline std::vector<Outcome> run_collective(const coll::Group& group, std::span<const coll::Call> calls,
                                           std::span<const RankData> before, const coll::Reduction* op = nullptr) {
    using coll::Collective;
    using namespace collective;
    const std::uint32_t n = group.size;
    const Collective what = calls[0].what;
    const std::uint32_t root = calls[0].root.value;
    std::vector<Outcome> after(n);
    for (std::uint32_t r = 0; r < n; ++r) after[r] = {before[r].output, before[r].output.size()};

    // The whole input of a reduction.
    const auto vectors = [&](std::uint64_t bytes, bool only_root_in_place) {
        std::vector<Data> x(n);
        for (std::uint32_t r = 0; r < n; ++r) {
            const bool there = calls[r].in_place && (!only_root_in_place || r == root);
            x[r] = piece(there ? before[r].output : before[r].input, 0, bytes);
        }
        return x;
    };

    switch (what) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            for (std::uint32_t r = 0; r < n; ++r)
                put(after[r].output, 0, piece(before[root].output, 0, calls[0].bytes));
            break;
        case Collective::gather:
        case Collective::gatherv:
            for (std::uint32_t r = 0; r < n; ++r) {
                const coll::Call& at_root = calls[root];
                const bool even = what == Collective::gather;
                const std::uint64_t bytes = even ? calls[r].bytes : at_root.received.bytes[r];
                const std::uint64_t at = even ? r * bytes : at_root.received.at[r];
                if (r == root && at_root.in_place) continue;
                put(after[root].output, at, piece(before[r].input, 0, bytes));
            }
            break;
        case Collective::scatter:
        case Collective::scatterv:
            for (std::uint32_t r = 0; r < n; ++r) {
                const coll::Call& at_root = calls[root];
                const bool even = what == Collective::scatter;
                const std::uint64_t bytes = even ? calls[r].bytes : at_root.sent.bytes[r];
                const std::uint64_t at = even ? r * bytes : at_root.sent.at[r];
                if (r == root && at_root.in_place) continue;
                put(after[r].output, 0, piece(before[root].input, at, bytes));
            }
            break;
        case Collective::allgather:
        case Collective::allgatherv:
            for (std::uint32_t to = 0; to < n; ++to)
                for (std::uint32_t from = 0; from < n; ++from) {
                    const bool even = what == Collective::allgather;
                    const std::uint64_t bytes = even ? calls[from].bytes : calls[from].received.bytes[from];
                    const std::uint64_t there = even ? from * bytes : calls[from].received.at[from];
                    const std::uint64_t here = even ? from * bytes : calls[to].received.at[from];
                    put(after[to].output, here,
                        calls[from].in_place ? piece(before[from].output, there, bytes)
                                             : piece(before[from].input, 0, bytes));
                }
            break;
        case Collective::alltoall:
        case Collective::alltoallv:
            for (std::uint32_t to = 0; to < n; ++to)
                for (std::uint32_t from = 0; from < n; ++from) {
                    const bool even = what == Collective::alltoall;
                    const bool there = calls[from].in_place;
                    const coll::Blocks& sent = there ? calls[from].received : calls[from].sent;
                    const std::uint64_t bytes = even ? calls[from].bytes : sent.bytes[to];
                    const std::uint64_t from_at = even ? to * bytes : sent.at[to];
                    const std::uint64_t to_at = even ? from * bytes : calls[to].received.at[from];
                    put(after[to].output, to_at,
                        piece(there ? before[from].output : before[from].input, from_at, bytes));
                }
            break;
        case Collective::reduce:
            put(after[root].output, 0, fold(vectors(calls[0].bytes, true), 0, n - 1, *op));
            break;
        case Collective::allreduce: {
            const Data sum = fold(vectors(calls[0].bytes, false), 0, n - 1, *op);
            for (std::uint32_t r = 0; r < n; ++r) put(after[r].output, 0, sum);
            break;
        }
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block: {
            std::vector<std::uint64_t> bytes(n, calls[0].bytes);
            if (what == Collective::reduce_scatter)
                bytes.assign(calls[0].received.bytes.begin(), calls[0].received.bytes.end());
            std::uint64_t total = 0;
            for (const std::uint64_t b : bytes) total += b;
            const Data sum = fold(vectors(total, false), 0, n - 1, *op);
            std::uint64_t at = 0;
            for (std::uint32_t r = 0; r < n; ++r) {
                put(after[r].output, 0, piece(sum, at, bytes[r]));
                if (calls[r].in_place) after[r].defined = bytes[r];
                at += bytes[r];
            }
            break;
        }
        case Collective::scan:
            for (std::uint32_t r = 0; r < n; ++r)
                put(after[r].output, 0, fold(vectors(calls[0].bytes, false), 0, r, *op));
            break;
        case Collective::exscan:
            for (std::uint32_t r = 1; r < n; ++r)
                put(after[r].output, 0, fold(vectors(calls[0].bytes, false), 0, r - 1, *op));
            break;
        case Collective::neighbour_allgather:
        case Collective::neighbour_allgatherv:
        case Collective::neighbour_alltoall:
        case Collective::neighbour_alltoallv:
            for (std::uint32_t to = 0; to < n; ++to)
                for (std::uint32_t i = 0; i < group.neighbours[to].sources.size(); ++i) {
                    const Rank source = group.neighbours[to].sources[i];
                    if (source == coll::no_rank) continue;
                    const coll::Call& theirs = calls[source.value];
                    const bool even = what == Collective::neighbour_allgather || what == Collective::neighbour_alltoall;
                    const bool one =
                        what == Collective::neighbour_allgather || what == Collective::neighbour_allgatherv;
                    const std::uint32_t block = one ? 0 : opposite(group, to, i);
                    const std::uint64_t bytes = even ? theirs.bytes : theirs.sent.bytes[block];
                    const std::uint64_t from_at = one ? 0 : even ? block * bytes : theirs.sent.at[block];
                    const std::uint64_t to_at = even ? i * bytes : calls[to].received.at[i];
                    put(after[to].output, to_at, piece(before[source.value].input, from_at, bytes));
                }
            break;
    }
    return after;
}

}  // namespace loom::reference
