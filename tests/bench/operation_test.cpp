#include "contest/operation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace loom::bench::coll {
namespace {

// What each rank gives, and what all of them get by the words of the standard, element by element.
struct World {
    std::vector<Shape> shapes;
    std::vector<std::vector<std::byte>> inputs, outputs;
};

World world(Operation operation, std::uint32_t ranks, std::uint64_t bytes) {
    World all;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        Shape shape{operation, bytes, rank, ranks, {}};
        if (has_neighbours(operation)) shape.neighbours = neighbours_of(rank, ranks);
        all.inputs.emplace_back(shape.input_bytes());
        all.outputs.emplace_back(shape.output_bytes());
        fill(shape, all.inputs.back().data(), all.outputs.back().data());
        all.shapes.push_back(shape);
    }
    return all;
}

TEST(BenchOperation, WhatNobodyCarriedIsWrong) {
    for (std::size_t i = 1; i < operations.size(); ++i) {
        const World all = world(static_cast<Operation>(i), 4, 64);

        const auto wrong = first_wrong(all.shapes[i == 1 ? 1 : 0], all.outputs[i == 1 ? 1 : 0].data());

        // Rank 0 gets nothing from exscan; bcast's root has it.
        EXPECT_EQ(wrong.has_value(), static_cast<Operation>(i) != Operation::exscan) << operations[i];
    }
}

TEST(BenchOperation, AlltoallIsRightWhenBlocksAreExchangedAndOnlyThen) {
    World all = world(Operation::alltoallw, 4, 40);
    for (std::uint32_t to = 0; to < 4; ++to)
        for (std::uint32_t from = 0; from < 4; ++from)
            std::memcpy(&all.outputs[to][from * 40], &all.inputs[from][to * 40], 40);

    EXPECT_FALSE(first_wrong(all.shapes[2], all.outputs[2].data()).has_value());
    std::memcpy(&all.outputs[2][40], &all.inputs[1][3 * 40], 40);  // meant for rank 3
    EXPECT_EQ(first_wrong(all.shapes[2], all.outputs[2].data()), 40u);
}

TEST(BenchOperation, SumsAreThoseOfAllRanks) {
    World all = world(Operation::reduce_scatter_block, 4, 16);
    for (std::size_t element = 0; element < 2; ++element) {
        double sum = 0;
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            double value = 0;
            std::memcpy(&value, &all.inputs[rank][3 * 16 + element * 8], sizeof value);
            sum += value;
        }
        std::memcpy(&all.outputs[3][element * 8], &sum, sizeof sum);
    }

    EXPECT_FALSE(first_wrong(all.shapes[3], all.outputs[3].data()).has_value());
    EXPECT_TRUE(first_wrong(all.shapes[2], all.outputs[3].data()).has_value());
}

TEST(BenchOperation, NeighboursAreMutual) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 6u, 8u})
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            for (const std::uint32_t other : neighbours_of(rank, ranks)) {
                const auto back = neighbours_of(other, ranks);
                EXPECT_LT(other, ranks);
                EXPECT_EQ(std::count(back.begin(), back.end(), rank), 1);
            }
}

}  // namespace
}  // namespace loom::bench::coll
