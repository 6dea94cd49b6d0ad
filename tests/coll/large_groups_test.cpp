// Whether what is chosen for many ranks is good, by walks of the whole schedules: predictions may err, choices may not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coll/alike.hpp"
#include "coll/ranking.hpp"
#include "coll/whole.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/uniform.hpp"
#include "loom/model/assumed.hpp"

namespace loom::coll {
namespace {

// Where ranks know their own blocks alone, calls are judged by usual_block: there is no choice to be right.
bool all_is_known(Collective what) {
    return what != Collective::gatherv && what != Collective::scatterv && what != Collective::alltoallv &&
           what < Collective::neighbour_allgather;
}

bool reduces(Collective what) {
    return what == Collective::reduce || what == Collective::allreduce || what == Collective::reduce_scatter ||
           what == Collective::reduce_scatter_block || what == Collective::scan || what == Collective::exscan;
}

// Whose schedules are another's, if blocks are alike.
bool is_a_twin(Collective what) {
    return what == Collective::allgatherv || what == Collective::reduce_scatter || what == Collective::exscan;
}

UniformShape shape_of(Collective what, std::uint64_t bytes, std::uint32_t ranks, std::uint32_t per_host) {
    UniformShape shape;
    shape.what = what;
    shape.ranks = ranks;
    shape.bytes = what == Collective::barrier ? 0 : bytes;
    shape.element = reduces(what) ? 8 : 1;
    shape.per_host = per_host;
    return shape;
}

Time walked(const Candidate& candidate, const UniformCall& call, const model::Charges& charges) {
    const Whole all = whole(*candidate.algorithm, call.group(), call.calls(), candidate.tuning);
    return model::walk(all.schedule, charges, call.group().hosts, all.in_scratch).finish();
}

// Segments of blocks that all ranks have of all ranks are millions of operations, and never among the best here.
bool can_be_walked(const Candidate& candidate) {
    return candidate.tuning.segment == 0 || candidate.operations < 100'000;
}

struct Placed {
    std::uint32_t ranks, per_host;  // 0: all on one
};

class LargeGroups : public testing::TestWithParam<Placed> {};

TEST_P(LargeGroups, GetWhatIsNearlyTheBest) {
    const auto [ranks, per_host] = GetParam();
    int compared = 0;
    for (std::size_t i = 0; i < collectives; ++i) {
        const auto what = static_cast<Collective>(i);
        if (!all_is_known(what) || (ranks > 100 && is_a_twin(what))) continue;
        for (const std::uint64_t bytes : {8u, 65'536u}) {
            const UniformCall call(shape_of(what, bytes, ranks, per_host));
            const model::Charges charges = model::assumed_charges(call.group().hosts, ranks);

            const std::vector<Candidate> all = rank_candidates(call.group(), call.calls()[0], charges).candidates;

            const Time chosen = walked(all.front(), call, charges);
            Time best = chosen;
            std::string name;
            for (const Candidate& each : all) {
                if (!can_be_walked(each)) continue;
                const Time time = walked(each, call, charges);
                // Segments beyond some are not walked, but taken to go on.
                if (each.walked && (each.tuning.segment == 0 || bytes <= 8 * each.tuning.segment)) {
                    EXPECT_EQ(each.predicted, time) << describe(each.algorithm->name, each.tuning);
                }
                if (time < best) name = describe(each.algorithm->name, each.tuning);
                best = std::min(best, time);
                ++compared;
            }
            EXPECT_LE(chosen.microseconds(), 1.3 * best.microseconds())
                << to_string(what) << " of " << bytes << ": "
                << describe(all.front().algorithm->name, all.front().tuning) << " instead of " << name;
        }
    }
    EXPECT_GT(compared, 100);
}

INSTANTIATE_TEST_SUITE_P(OnOneHostAndOnMany, LargeGroups,
                         testing::Values(Placed{48, 0}, Placed{48, 4}, Placed{48, 12}, Placed{100, 0}, Placed{100, 4},
                                         Placed{100, 25}, Placed{256, 0}, Placed{256, 4}, Placed{256, 64}),
                         [](const auto& one) {
                             const Placed& placed = one.param;
                             return std::to_string(placed.ranks) + "Ranks" +
                                    (placed.per_host == 0 ? "" : std::to_string(placed.per_host) + "OnEachHost");
                         });

// A rank of 256, on 64 hosts: one that speaks for its host saves most of the way.
TEST(LargeGroup, ThatSharesHostsCanHaveOneRankSpeakForEach) {
    const UniformCall call(shape_of(Collective::barrier, 0, 256, 4));

    const std::vector<Candidate> all =
        rank_candidates(call.group(), call.calls()[0], model::assumed_charges(call.group().hosts, 256)).candidates;

    EXPECT_EQ(all.front().algorithm->name, "hierarchical");
    for (const Candidate& each : all) EXPECT_NE(each.predicted, never) << each.algorithm->name;
}

// Beyond what is walked, too: the smaller groups tell within a half how long it takes.
TEST(LargeGroup, IsSketchedBySmallerOnesOfItsKind) {
    int sketched = 0;
    for (const std::uint32_t per_host : {0u, 4u})
        for (const Collective what : {Collective::barrier, Collective::broadcast, Collective::allreduce,
                                      Collective::alltoall, Collective::allgather}) {
            const UniformCall call(shape_of(what, 1024, 128, per_host));
            const model::Charges charges = model::assumed_charges(call.group().hosts, 128);

            for (const Candidate& each : rank_candidates(call.group(), call.calls()[0], charges).candidates) {
                if (each.walked || each.tuning.segment != 0) continue;
                const double exact = walked(each, call, charges).microseconds();
                EXPECT_NEAR(each.predicted.microseconds(), exact, exact / 2)
                    << to_string(what) << ": " << describe(each.algorithm->name, each.tuning);
                ++sketched;
            }
        }
    EXPECT_GT(sketched, 10);
}

// However many ranks there are, what is walked for a choice stays within bounds: it is counted.
TEST(LargeGroup, IsNotWalkedWhole) {
    const UniformCall call(shape_of(Collective::allreduce, 65'536, 2048, 8));

    const std::vector<Candidate> all =
        rank_candidates(call.group(), call.calls()[0], model::assumed_charges(call.group().hosts, 2048)).candidates;

    EXPECT_GT(std::count_if(all.begin(), all.end(), [](const Candidate& each) { return !each.walked; }), 3);
    for (const Candidate& each : all) {
        EXPECT_NE(each.predicted, never) << each.algorithm->name;
        if (each.walked) {
            EXPECT_LE(each.operations, 80'000u);
        }
    }
}

TEST(Thinning, KeepsWholeHostsTheirOrderAndTheRoot) {
    const std::vector<std::uint32_t> hosts{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    Group group;
    group.size = 16;
    group.hosts = hosts;
    Call call;
    call.what = Collective::broadcast;
    call.root = Rank{6};  // the second of host 2

    const Alike half(group, call, thinned(extent_of(group), 2), 8);
    const Alike less(group, call, {2, 2}, 8);

    EXPECT_EQ((std::vector<std::uint32_t>(half.group().hosts.begin(), half.group().hosts.end())),
              (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(half.call().root, Rank{3});
    EXPECT_EQ(less.group().size, 4u);
    EXPECT_EQ(half.call().bytes, 8u);
}

TEST(Thinning, TakesHostsFirstAndEndsWithOneRankOnTwo) {
    EXPECT_EQ(thinned({64, 4}, 2), (Extent{32, 4}));
    EXPECT_EQ(thinned({64, 4}, 8), (Extent{8, 4}));
    EXPECT_EQ(thinned({2, 4}, 2), (Extent{2, 2}));
    EXPECT_EQ(thinned({2, 1}, 2), (Extent{2, 1}));
    EXPECT_EQ(thinned({1, 100}, 3), (Extent{1, 34}));
}

}  // namespace
}  // namespace loom::coll
