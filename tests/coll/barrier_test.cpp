#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/coll/algorithm.hpp"
#include "reference/late_rank.hpp"

namespace loom::coll {
namespace {

// A barrier moves no data by which a wrong one would show: what it promises is that nobody is through before all came.
TEST(Barrier, lets_nobody_through_while_one_is_missing) {
    for (const Algorithm& algorithm : algorithms(Collective::barrier))
        for (std::uint32_t ranks = 2; ranks <= 18; ++ranks)
            for (const std::uint32_t ways : {1u, 2u, 3u, 5u, 20u}) {
                std::vector<std::uint32_t> hosts(ranks);
                for (std::uint32_t rank = 0; rank < ranks; ++rank) hosts[rank] = rank / 3;
                Group group;
                group.size = ranks;
                group.hosts = hosts;
                const Call call;
                if (!algorithm.fits(group, call) || (ways > 1 && !algorithm.ways)) continue;

                const traffic::Schedule schedule = whole_schedule(algorithm, group, {&call, 1}, {0, ways});

                for (std::uint32_t late = 0; late < ranks; ++late)
                    ASSERT_THAT(reference::finish_without(schedule, Rank{late}), testing::IsEmpty())
                        << algorithm.name << ", " << ways << " ways, " << ranks << " ranks, without " << late;
            }
}

}  // namespace
}  // namespace loom::coll
