#include "loom/base/parallel.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace loom {
namespace {

TEST(ParallelFor, VisitsEveryNumberOnce) {
    for (const unsigned threads : {1u, 2u, 5u})
        for (const std::size_t count : {0u, 1u, 7u, 1000u}) {
            std::vector<int> visits(count, 0);

            parallel_for(count, threads, 3, [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) ++visits[i];
            });

            EXPECT_EQ(visits, std::vector<int>(count, 1));
        }
}

TEST(ParallelFor, PassesOnWhatAThreadThrows) {
    const auto work = [](std::size_t begin, std::size_t) {
        if (begin >= 50) throw std::runtime_error("fifty");
    };

    EXPECT_THROW(parallel_for(100, 3, 10, work), std::runtime_error);
}

}  // namespace
}  // namespace loom
