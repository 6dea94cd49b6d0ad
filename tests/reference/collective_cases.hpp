// Random calls of collectives, for all ranks at once, with buffers and operations to go with them.
#pragma once

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/coll/call.hpp"
#include "loom/coll/reduction.hpp"
#include "reference/collectives.hpp"

namespace loom::reference {

// Affine maps x -> a x + b over 32-bit numbers, one after the other: associative, but order counts. 8 bytes.
inline coll::Reduction affine() {
    return {[](const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    std::uint32_t left[2], right[2];
                    std::memcpy(left, in + 8 * i, 8);
                    std::memcpy(right, inout + 8 * i, 8);
                    const std::uint32_t both[2] = {left[0] * right[0], left[0] * right[1] + left[1]};
                    std::memcpy(inout + 8 * i, both, 8);
                }
            },
            nullptr, 8, false};
}

// Sums of 32-bit numbers.
inline coll::Reduction sum() {
    return {[](const void*, const std::byte* in, std::byte* inout, std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) {
                    std::uint32_t left, right;
                    std::memcpy(&left, in + 4 * i, 4);
                    std::memcpy(&right, inout + 4 * i, 4);
                    right += left;
                    std::memcpy(inout + 4 * i, &right, 4);
                }
            },
            nullptr, 4, true};
}

// Everything that a call on all ranks needs; not to be copied, the calls point into it.
struct CollectiveCase {
    coll::Group group;  // me is for whoever uses it to set
    std::vector<coll::Call> calls;
    std::vector<RankData> before;
    coll::Reduction op;

    std::vector<std::uint32_t> hosts;
    std::vector<coll::Neighbours> neighbours;
    coll::Grid grid;
    struct Lists {
        std::vector<std::uint64_t> bytes, at;
    };
    std::vector<Lists> sent, received;

    CollectiveCase() = default;
    CollectiveCase(const CollectiveCase&) = delete;
    CollectiveCase& operator=(const CollectiveCase&) = delete;
};

struct CaseOptions {
    std::uint64_t most = 200;  // bytes of a block or message, about
    bool may_be_in_place = true;
    bool may_not_commute = true;
};

namespace cases {

inline Data random_data(Random& random, std::uint64_t bytes) {
    Data data(bytes);
    for (std::byte& b : data) b = static_cast<std::byte>(random());
    return data;
}

inline std::uint64_t random_size(Random& random, std::uint64_t most, std::uint64_t element) {
    const std::uint32_t kind = random.below(8);
    if (kind == 0) return 0;
    if (kind == 1) return element;
    return random.below(static_cast<std::uint32_t>(most / element) + 1) * element;
}

// Places for blocks, in random order and with gaps between them; their end.
inline std::uint64_t lay_out(Random& random, CollectiveCase::Lists& lists) {
    std::vector<std::uint32_t> order(lists.bytes.size());
    std::iota(order.begin(), order.end(), 0u);
    const bool neat = random.below(2) == 0;
    if (!neat) random.shuffle(std::span(order));
    lists.at.assign(lists.bytes.size(), 0);
    std::uint64_t at = neat ? 0 : random.below(5);
    for (const std::uint32_t i : order) {
        lists.at[i] = at;
        at += lists.bytes[i] + (neat ? 0 : random.below(7));
    }
    return at;
}

inline void random_graph(Random& random, CollectiveCase& one, std::uint32_t n) {
    one.neighbours.resize(n);
    const std::uint32_t edges = random.below(4 * n + 1);
    for (std::uint32_t e = 0; e < edges; ++e) {  // also to itself, also twice
        const Rank from{random.below(n)}, to{random.below(n)};
        one.neighbours[from.value].destinations.push_back(to);
        one.neighbours[to.value].sources.push_back(from);
    }
    for (auto& [sources, destinations] : one.neighbours) random.shuffle(std::span(sources));
}

inline void random_grid(Random& random, CollectiveCase& one, std::uint32_t n) {
    std::uint32_t left = n;
    for (std::uint32_t dims = 1 + random.below(3); dims > 1; --dims) {
        std::uint32_t factor = 1 + random.below(left);
        while (left % factor != 0) --factor;
        one.grid.dims.push_back(factor);
        left /= factor;
    }
    one.grid.dims.push_back(left);
    for (std::size_t d = 0; d < one.grid.dims.size(); ++d) one.grid.periodic.push_back(random.below(2) == 0);
    one.neighbours = coll::grid_neighbours(one.grid);
    one.group.grid = &one.grid;
}

}  // namespace cases

// The same seed, the same case.
inline std::unique_ptr<CollectiveCase> random_case(std::uint64_t seed, coll::Collective what, std::uint32_t n,
                                                   const CaseOptions& options = {}) {
    using coll::Collective;
    using namespace cases;
    Random random(seed);
    auto result = std::make_unique<CollectiveCase>();
    CollectiveCase& one = *result;
    one.group.size = n;
    const std::uint32_t host_count = 1 + random.below(n);
    const bool blocked = random.below(2) == 0;
    std::vector<std::uint32_t> names(n, 0xffffffffu);
    std::uint32_t next = 0;
    for (std::uint32_t r = 0; r < n; ++r) {
        std::uint32_t& name = names[blocked ? r * host_count / n : random.below(host_count)];
        if (name == 0xffffffffu) name = next++;
        one.hosts.push_back(name);
    }
    one.group.hosts = one.hosts;
    const bool of_neighbours = what >= Collective::neighbour_allgather;
    if (of_neighbours) {
        random.below(3) == 0 ? random_grid(random, one, n) : random_graph(random, one, n);
        one.group.neighbours = one.neighbours;
    }
    const bool reduces = what >= Collective::reduce && what <= Collective::exscan;
    one.op = options.may_not_commute && random.below(2) == 0 ? affine() : sum();
    const std::uint32_t element = reduces ? one.op.element : 1;

    coll::Call call;
    call.what = what;
    call.root = Rank{random.below(n)};
    call.element = element;
    call.commutative = !reduces || one.op.commutative;
    call.bytes = random_size(random, options.most, element);
    const bool in_place = options.may_be_in_place && !of_neighbours && what != Collective::barrier &&
                          what != Collective::broadcast && random.below(2) == 0;
    const bool rooted = what == Collective::gather || what == Collective::gatherv || what == Collective::scatter ||
                        what == Collective::scatterv || what == Collective::reduce;
    one.calls.assign(n, call);
    for (std::uint32_t r = 0; r < n; ++r) one.calls[r].in_place = in_place && (!rooted || r == call.root.value);
    one.sent.resize(n);
    one.received.resize(n);

    std::vector<std::uint64_t> in(n, 0), out(n, 0);  // sizes of the buffers
    const auto some = [&] { return random_size(random, options.most, element); };
    switch (what) {
        case Collective::barrier:
            break;
        case Collective::broadcast:
            out.assign(n, call.bytes);
            break;
        case Collective::gather:
        case Collective::allgather:
            in.assign(n, call.bytes);
            out.assign(n, call.bytes * n);
            break;
        case Collective::scatter:
            in.assign(n, call.bytes * n);
            out.assign(n, call.bytes);
            break;
        case Collective::alltoall:
            in.assign(n, call.bytes * n);
            out = in;
            break;
        case Collective::reduce:
        case Collective::allreduce:
        case Collective::scan:
        case Collective::exscan:
            in.assign(n, call.bytes);
            out = in;
            break;
        case Collective::reduce_scatter_block:
            in.assign(n, call.bytes * n);
            out.assign(n, in_place ? call.bytes * n : call.bytes);
            break;
        case Collective::reduce_scatter:
            for (std::uint32_t r = 0; r < n; ++r) one.received[0].bytes.push_back(some());
            in.assign(n, std::accumulate(one.received[0].bytes.begin(), one.received[0].bytes.end(), std::uint64_t{0}));
            for (std::uint32_t r = 0; r < n; ++r) {
                one.received[r].bytes = one.received[0].bytes;
                out[r] = in_place ? in[r] : one.received[r].bytes[r];
            }
            break;
        case Collective::gatherv:
        case Collective::scatterv: {
            const bool gathers = what == Collective::gatherv;
            auto& at_root = (gathers ? one.received : one.sent)[call.root.value];
            for (std::uint32_t r = 0; r < n; ++r) at_root.bytes.push_back(some());
            for (std::uint32_t r = 0; r < n; ++r) {
                (gathers ? one.sent : one.received)[r].bytes = {at_root.bytes[r]};
                (gathers ? one.sent : one.received)[r].at = {0};
                (gathers ? in : out)[r] = at_root.bytes[r];
            }
            (gathers ? out : in)[call.root.value] = lay_out(random, at_root);
            break;
        }
        case Collective::allgatherv:
            for (std::uint32_t r = 0; r < n; ++r) one.received[0].bytes.push_back(some());
            for (std::uint32_t r = 0; r < n; ++r) {
                one.received[r].bytes = one.received[0].bytes;
                out[r] = lay_out(random, one.received[r]);
                in[r] = one.received[r].bytes[r];
            }
            break;
        case Collective::alltoallv:
            for (std::uint32_t r = 0; r < n; ++r) {
                one.sent[r].bytes.resize(n);
                one.received[r].bytes.resize(n);
            }
            for (std::uint32_t r = 0; r < n; ++r)
                for (std::uint32_t to = 0; to < n; ++to) {
                    const bool as_back = in_place && to < r;  // in place, both directions are of one size
                    one.sent[r].bytes[to] = as_back ? one.sent[to].bytes[r] : some();
                    one.received[to].bytes[r] = one.sent[r].bytes[to];
                }
            for (std::uint32_t r = 0; r < n; ++r) {
                in[r] = lay_out(random, one.sent[r]);
                out[r] = lay_out(random, one.received[r]);
            }
            break;
        case Collective::neighbour_allgather:
        case Collective::neighbour_alltoall:
            for (std::uint32_t r = 0; r < n; ++r) {
                in[r] =
                    call.bytes * (what == Collective::neighbour_allgather ? 1 : one.neighbours[r].destinations.size());
                out[r] = call.bytes * one.neighbours[r].sources.size();
            }
            break;
        case Collective::neighbour_allgatherv:
        case Collective::neighbour_alltoallv:
            for (std::uint32_t r = 0; r < n; ++r) {
                const std::size_t blocks =
                    what == Collective::neighbour_allgatherv ? 1 : one.neighbours[r].destinations.size();
                for (std::size_t i = 0; i < blocks; ++i) one.sent[r].bytes.push_back(some());
                if (what == Collective::neighbour_allgatherv)
                    one.sent[r].at = {0}, in[r] = one.sent[r].bytes[0];
                else
                    in[r] = lay_out(random, one.sent[r]);
            }
            for (std::uint32_t r = 0; r < n; ++r) {
                const auto& sources = one.neighbours[r].sources;
                for (std::uint32_t i = 0; i < sources.size(); ++i) {
                    std::uint64_t bytes = 3;  // of a block that nobody sends
                    if (sources[i] != coll::no_rank)
                        bytes = what == Collective::neighbour_allgatherv
                                    ? one.sent[sources[i].value].bytes[0]
                                    : one.sent[sources[i].value].bytes[collective::opposite(one.group, r, i)];
                    one.received[r].bytes.push_back(bytes);
                }
                out[r] = lay_out(random, one.received[r]);
            }
            break;
    }
    for (std::uint32_t r = 0; r < n; ++r) {
        one.calls[r].sent = {one.sent[r].bytes, one.sent[r].at};
        one.calls[r].received = {one.received[r].bytes, one.received[r].at};
        one.before.push_back({random_data(random, in[r]), random_data(random, out[r])});
    }
    return result;
}

}  // namespace loom::reference
