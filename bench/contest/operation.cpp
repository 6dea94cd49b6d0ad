#include "contest/operation.hpp"

#include <algorithm>
#include <cstring>

namespace loom::bench::coll {
namespace {

// What rank `from` gives to rank `to` at this place. Neighbouring ranks, places and blocks differ.
std::byte given(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
    return static_cast<std::byte>((from * 31 + to * 17 + at * 7 + at / 256) & 0xff);
}

// Whole numbers, so that every order of adding gives the same sum.
double addend(std::uint32_t rank, std::uint64_t index) {
    return static_cast<double>((rank + 1) * (1 + index % 13));
}
double sum(std::uint32_t ranks_up_to, std::uint64_t index) {
    return static_cast<double>(std::uint64_t{ranks_up_to} * (ranks_up_to + 1) / 2 * (1 + index % 13));
}

bool rooted(Operation operation) {
    return operation == Operation::gather || operation == Operation::gatherv || operation == Operation::reduce;
}
// Whether a rank gives every other something else; otherwise all get the same block, counted as that for rank 0.
bool to_each(Operation operation) {
    switch (operation) {
        case Operation::scatter:
        case Operation::scatterv:
        case Operation::alltoall:
        case Operation::alltoallv:
        case Operation::alltoallw:
        case Operation::neighbor_alltoall:
        case Operation::neighbor_alltoallv:
        case Operation::neighbor_alltoallw:
            return true;
        default:
            return false;
    }
}
// The rank that the block of this number is from or for.
std::uint32_t partner(const Shape& shape, std::uint64_t block) {
    return has_neighbours(shape.operation) ? shape.neighbours[block] : static_cast<std::uint32_t>(block);
}

std::optional<std::uint64_t> first_wrong_block(const std::byte* block, std::uint64_t bytes, std::uint32_t from,
                                               std::uint32_t to) {
    for (std::uint64_t at = 0; at < bytes; ++at)
        if (block[at] != given(from, to, at)) return at;
    return {};
}

// `first`: the number of the first element among those that were added up.
std::optional<std::uint64_t> first_wrong_sum(const std::byte* block, std::uint64_t bytes, std::uint32_t summands,
                                             std::uint64_t first) {
    for (std::uint64_t at = 0; at < bytes; at += sizeof(double)) {
        double value = 0;
        std::memcpy(&value, block + at, sizeof value);
        if (value != sum(summands, first + at / sizeof value)) return at;
    }
    return {};
}

}  // namespace

std::uint64_t Shape::input_bytes() const {
    switch (operation) {
        case Operation::barrier:
        case Operation::bcast:
            return 0;
        case Operation::scatter:
        case Operation::scatterv:
            return rank == 0 ? bytes * ranks : 0;
        case Operation::alltoall:
        case Operation::alltoallv:
        case Operation::alltoallw:
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block:
        case Operation::neighbor_alltoall:
        case Operation::neighbor_alltoallv:
        case Operation::neighbor_alltoallw:
            return bytes * blocks();
        default:
            return bytes;
    }
}

std::uint64_t Shape::output_bytes() const {
    switch (operation) {
        case Operation::barrier:
            return 0;
        case Operation::gather:
        case Operation::gatherv:
            return rank == 0 ? bytes * ranks : 0;
        case Operation::reduce:
            return rank == 0 ? bytes : 0;
        case Operation::allgather:
        case Operation::allgatherv:
        case Operation::alltoall:
        case Operation::alltoallv:
        case Operation::alltoallw:
        case Operation::neighbor_allgather:
        case Operation::neighbor_allgatherv:
        case Operation::neighbor_alltoall:
        case Operation::neighbor_alltoallv:
        case Operation::neighbor_alltoallw:
            return bytes * blocks();
        default:
            return bytes;
    }
}

std::vector<std::uint32_t> neighbours_of(std::uint32_t rank, std::uint32_t ranks) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t bit = 1; bit < ranks; bit *= 2)
        if ((rank ^ bit) < ranks) out.push_back(rank ^ bit);
    return out;
}

void fill(const Shape& shape, std::byte* input, std::byte* output) {
    const std::uint64_t in = shape.input_bytes(), out = shape.output_bytes();
    std::fill(output, output + out, std::byte{0xa5});
    const auto write = [&](std::byte* block, std::uint32_t to) {
        for (std::uint64_t at = 0; at < shape.bytes; ++at) block[at] = given(shape.rank, to, at);
    };
    switch (shape.operation) {
        case Operation::barrier:
            return;
        case Operation::bcast:
            if (shape.rank == 0) write(output, 0);
            return;
        case Operation::reduce:
        case Operation::allreduce:
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block:
        case Operation::scan:
        case Operation::exscan:
            for (std::uint64_t at = 0; at < in; at += sizeof(double)) {
                const double value = addend(shape.rank, at / sizeof value);
                std::memcpy(input + at, &value, sizeof value);
            }
            return;
        default:
            for (std::uint64_t block = 0; block * shape.bytes < in; ++block)
                write(input + block * shape.bytes, to_each(shape.operation) ? partner(shape, block) : 0);
    }
}

std::optional<std::uint64_t> first_wrong(const Shape& shape, const std::byte* output) {
    const std::uint64_t bytes = shape.bytes;
    if (rooted(shape.operation) && shape.rank != 0) return {};
    switch (shape.operation) {
        case Operation::barrier:
            return {};
        case Operation::bcast:
            return first_wrong_block(output, bytes, 0, 0);
        case Operation::scatter:
        case Operation::scatterv:
            return first_wrong_block(output, bytes, 0, shape.rank);
        case Operation::reduce:
        case Operation::allreduce:
            return first_wrong_sum(output, bytes, shape.ranks, 0);
        case Operation::reduce_scatter:
        case Operation::reduce_scatter_block:
            return first_wrong_sum(output, bytes, shape.ranks, shape.rank * bytes / sizeof(double));
        case Operation::scan:
            return first_wrong_sum(output, bytes, shape.rank + 1, 0);
        case Operation::exscan:  // undefined on rank 0
            return shape.rank == 0 ? std::nullopt : first_wrong_sum(output, bytes, shape.rank, 0);
        default:
            break;
    }
    for (std::uint64_t block = 0; block < shape.blocks(); ++block)
        if (const auto wrong = first_wrong_block(output + block * bytes, bytes, partner(shape, block),
                                                 to_each(shape.operation) ? shape.rank : 0))
            return block * bytes + *wrong;
    return {};
}

}  // namespace loom::bench::coll
