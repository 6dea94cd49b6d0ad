#include "coll/ranking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coll/call_class.hpp"
#include "coll/choice.hpp"
#include "coll/whole.hpp"
#include "loom/base/error.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/world.hpp"
#include "loom/model/assumed.hpp"
#include "loom/model/parameters.hpp"
#include "reference/collective_cases.hpp"

namespace loom::coll {
namespace {

using testing::HasSubstr;

struct Given {
    explicit Given(std::uint32_t ranks, std::uint32_t hosts = 1) : host_of(ranks) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) host_of[rank] = rank * hosts / ranks;
        group.size = ranks;
        group.hosts = host_of;
        charges = model::assumed_charges(host_of, ranks);
    }
    [[nodiscard]] std::vector<Candidate> rank(Collective what, std::uint64_t bytes) const {
        Call call;
        call.what = what;
        call.bytes = bytes;
        call.element = what == Collective::barrier || what == Collective::broadcast ? 1 : 8;
        return rank_candidates(group, call, charges).candidates;
    }
    std::vector<std::uint32_t> host_of;
    Group group;
    model::Charges charges;
};

// More ranks than cores; a message costs nothing but its bytes, large ones are copied by the side with less to do.
Given crowded(std::uint32_t ranks) {
    Given given(ranks);
    given.charges.host_cores = 2;
    given.charges.waits_for = model::Large::ready;
    given.charges.way = {};
    given.charges.way.limit = 16'384;
    given.charges.way.large.send_byte = 90;
    given.charges.way.copying = model::Copying::by_fewer;
    return given;
}

std::vector<std::string> described(const std::vector<Candidate>& all) {
    std::vector<std::string> text;
    for (const Candidate& each : all)
        text.push_back(describe(each.algorithm->name, each.tuning) + " " + std::to_string(each.predicted.ps));
    return text;
}

// Each round is a turn of every rank, which predictions do not see where others' work hides it.
TEST(Candidates, OnCrowdedHostsAmongEquallyQuickOnesFewRoundsWin) {
    Given given = crowded(8);
    given.charges.way.shared_byte = 90;
    given.charges.way.small.send_byte = given.charges.way.small.take_byte = 90;

    const std::vector<Candidate> ranked = given.rank(Collective::allgather, 1 << 20);

    EXPECT_EQ(ranked.front().algorithm->name, "linear");
}

// Cores that share a memory do not move twice the bytes in the same time, which predictions do not see either.
TEST(Candidates, OnCrowdedHostsAmongEquallyQuickOnesThoseThatMoveTwiceTheBytesLose) {
    Given given = crowded(4);
    given.charges.way.small.latency = given.charges.way.large.latency = Time{1'400'000};
    given.charges.way.small.send_byte = given.charges.way.small.take_byte = 145;
    given.charges.way.large.send_byte = 87;
    given.charges.local = {31, 31};

    const std::vector<Candidate> ranked = given.rank(Collective::exscan, 1 << 20);

    EXPECT_NE(ranked.front().algorithm->name, "linear");
    const auto linear =
        std::find_if(ranked.begin(), ranked.end(), [](const Candidate& c) { return c.algorithm->name == "linear"; });
    ASSERT_NE(linear, ranked.end());
    EXPECT_LE(linear->predicted.ps, ranked.front().predicted.ps * 9 / 8) << "the case is none";
}

// A segment waits for a turn of each rank on its way, which costs more than is predicted.
TEST(Candidates, OnCrowdedHostsMessagesAreCutOnlyIfThatPromisesMuch) {
    Given given = crowded(8);
    given.charges.way.small.latency = given.charges.way.large.latency = Time{2'000'000};
    given.charges.way.small.send_byte = given.charges.way.small.take_byte = 90;
    unsigned undecided = 0;
    for (const Collective what : {Collective::broadcast, Collective::allreduce})
        for (const std::uint64_t bytes : {256u << 10, 1u << 20, 4u << 20}) {
            const std::vector<Candidate> ranked = given.rank(what, bytes);
            const auto cuts = [&](const Candidate& each) {
                const std::uint64_t segment = each.algorithm->always_cuts && each.tuning.segment == 0
                                                  ? std::uint64_t{64} << 10
                                                  : each.tuning.segment;
                return segment != 0 && segment < bytes;
            };
            std::int64_t whole = INT64_MAX, cut = INT64_MAX;
            for (const Candidate& each : ranked) {
                std::int64_t& least = cuts(each) ? cut : whole;
                least = std::min(least, each.predicted.ps);
            }
            ASSERT_NE(whole, INT64_MAX);
            const bool promises_much = cut < whole / 2;
            undecided += !promises_much && cut < whole;

            EXPECT_EQ(cuts(ranked.front()), promises_much) << to_string(what) << " " << bytes;
            EXPECT_TRUE(std::is_sorted(ranked.begin() + 1, ranked.end(), [](const Candidate& a, const Candidate& b) {
                return a.predicted < b.predicted;
            }));
        }
    EXPECT_GE(undecided, 1u) << "the case is none";
}

// Each rank on the way has to have its turn.
TEST(Candidates, OnCrowdedHostsBlocksComeAtOnceUnlessAnotherWayPromisesMuch) {
    Given given = crowded(8);
    unsigned undecided = 0;
    for (const std::int64_t latency : {0, 2'000'000, 20'000'000})
        for (const std::int64_t shared : {0, 40, 90, 200})
            for (const std::uint64_t bytes : {std::uint64_t{32} << 10, std::uint64_t{1} << 20}) {
                given.charges.way.small.latency = given.charges.way.large.latency = Time{latency};
                given.charges.way.shared_byte = shared;
                given.charges.way.large.send = Time{latency / 4};
                const std::vector<Candidate> ranked = given.rank(Collective::allgather, bytes);
                std::int64_t linear = 0, best = INT64_MAX;
                for (const Candidate& each : ranked) {
                    best = std::min(best, each.predicted.ps);
                    if (each.algorithm->name == "linear") linear = each.predicted.ps;
                }
                undecided += linear > best && linear <= 2 * best;

                EXPECT_EQ(ranked.front().algorithm->name == "linear", linear / 2 <= best)
                    << latency << " " << shared << " " << bytes << " " << linear << " " << best;
            }
    EXPECT_GE(undecided, 2u) << "the case is none";
}

// Nobody hands parts of it on, and what is measured of protocols changes with the minute.
TEST(Candidates, BetweenTwoRanksAMessageTravelsAsOneUnlessPartsPromiseMuch) {
    Given given(2);
    given.charges.way.limit = 16'384;
    given.charges.way.small = {};
    given.charges.way.large.send_byte = 60;
    unsigned undecided = 0;
    for (const std::int64_t ps : {40, 60, 80, 100})
        for (const std::int64_t latency : {0, 1'000'000, 4'000'000, 20'000'000})
            for (const Collective what :
                 {Collective::broadcast, Collective::reduce, Collective::scan, Collective::exscan,
                  Collective::allgather, Collective::alltoall, Collective::gather}) {
                given.charges.way.small.send_byte = given.charges.way.small.take_byte = ps;
                given.charges.way.large.latency = Time{latency};
                const std::vector<Candidate> ranked = given.rank(what, 32 << 10);
                const auto least = std::min_element(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
                                       return a.operations < b.operations;
                                   })->operations;
                std::int64_t single = INT64_MAX, best = INT64_MAX;
                for (const Candidate& each : ranked) {
                    best = std::min(best, each.predicted.ps);
                    if (each.operations == least) single = std::min(single, each.predicted.ps);
                }
                undecided += single > best && single <= 4 * best;

                EXPECT_EQ(ranked.front().operations == least, single <= 4 * best) << ps << " " << latency;
            }
    EXPECT_GE(undecided, 4u) << "the case is none";
}

// Fewer operations in two rounds are not simpler.
TEST(Candidates, BetweenTwoRanksAnAllreduceIsOneExchange) {
    const Given given(2);
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{4096}, std::uint64_t{1} << 20})
        EXPECT_THAT(given.rank(Collective::allreduce, bytes).front().algorithm->name,
                    testing::AnyOf("recursive-doubling", "full-exchange"))
            << bytes;
}

// Bruck's algorithm packs and passes on; that is cheap only while it stays in the caches.
TEST(Candidates, CopiesCountForMoreWhereCachesEnd) {
    Given given = crowded(4);
    given.charges.way.shared_byte = 20;
    given.charges.local.copy = 10;
    const auto bruck = [](const std::vector<Candidate>& all) {
        const auto found =
            std::find_if(all.begin(), all.end(), [](const Candidate& each) { return each.algorithm->name == "bruck"; });
        return found->predicted;
    };

    const Time warm = bruck(given.rank(Collective::alltoall, 1 << 20));
    given.charges.cold = model::ColdCosts{2 << 20, 32 << 20, 100, 100, 90, 90};
    const Time cold = bruck(given.rank(Collective::alltoall, 1 << 20));
    const Time small = bruck(given.rank(Collective::alltoall, 1 << 15));
    given.charges.cold.reset();

    EXPECT_GT(cold.ps, 2 * warm.ps);
    EXPECT_EQ(small, bruck(given.rank(Collective::alltoall, 1 << 15)));
}

// Whatever its own blocks and buffers, and whatever was asked before.
TEST(Candidates, AreAlikeOnEveryRank) {
    for (std::uint64_t seed = 1; seed <= 3 * collectives; ++seed) {
        const auto what = static_cast<Collective>(seed % collectives);
        const auto ranks = static_cast<std::uint32_t>(2 + seed % 7);
        const auto each = reference::random_case(seed, what, ranks);
        const model::Charges charges = model::assumed_charges(each->group.hosts, 2);
        std::vector<std::string> first;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            Group group = each->group;
            group.me = Rank{rank};
            Ranking ranking;
            if (rank % 2 == 1) {  // of the same class, but another
                Call other = each->calls[rank];
                other.in_place = !other.in_place;
                (void)ranking.of(group, signature(group), other, charges);
            }

            const auto got = described(ranking.of(group, signature(group), each->calls[rank], charges).candidates);
            const Chosen chosen = choose(group, signature(group), each->calls[rank], nullptr, ranking, charges);

            if (rank == 0) first = got;
            EXPECT_EQ(got, first) << seed;
            EXPECT_TRUE(chosen.algorithm->fits(group, each->calls[rank])) << seed;
        }
    }
}

// What is kept is kept for calls that are alike: each is ranked as if it were the first.
TEST(Candidates, AreKeptForTheirOwnCallAndGroupAlone) {
    const Given one(6), two(6, 2), more(8, 2);
    Ranking ranking;
    for (const Given* given : {&one, &two, &more})
        for (const Collective what : {Collective::reduce, Collective::allreduce})
            for (const std::uint64_t bytes : {64u, 65'536u})
                for (const bool commutative : {true, false})
                    for (const std::uint32_t element : {8u, 64u})
                        for (const std::uint32_t root : {0u, 5u}) {
                            Call call;
                            call.what = what;
                            call.bytes = bytes;
                            call.commutative = commutative;
                            call.element = element;
                            call.root = Rank{root};

                            const auto kept =
                                ranking.of(given->group, signature(given->group), call, given->charges).candidates;

                            EXPECT_EQ(described(kept),
                                      described(rank_candidates(given->group, call, given->charges).candidates))
                                << to_string(what) << " of " << bytes << ", " << commutative << ", root " << root;
                        }
}

TEST(Candidates, ArePredictedFromTheSchedulesThatRun) {
    const Given given(8);
    Call call;
    call.what = Collective::allreduce;
    call.bytes = 64 * 1024;
    call.element = 8;

    for (const Candidate& each : rank_candidates(given.group, call, given.charges).candidates) {
        if (each.tuning.segment != 0 && call.bytes / each.tuning.segment > 8) continue;  // long ones are extrapolated
        const Whole all = whole(*each.algorithm, given.group, std::span(&call, 1), each.tuning);
        EXPECT_EQ(each.predicted, model::walk(all.schedule, given.charges, given.host_of, all.in_scratch).finish());
        EXPECT_EQ(all.schedule, whole_schedule(*each.algorithm, given.group, std::span(&call, 1), each.tuning));
    }
}

TEST(Candidates, OfLongSegmentedMessagesGrowLikeTheirSchedules) {
    const Given given(4);
    Call call;
    call.what = Collective::broadcast;
    call.bytes = 1 << 20;

    int segmented = 0;
    for (const Candidate& each : rank_candidates(given.group, call, given.charges).candidates) {
        if (each.tuning.segment == 0) continue;
        const Whole all = whole(*each.algorithm, given.group, std::span(&call, 1), each.tuning);
        const double exact =
            model::walk(all.schedule, given.charges, given.host_of, all.in_scratch).finish().microseconds();
        EXPECT_NEAR(each.predicted.microseconds(), exact, exact / 20) << describe(each.algorithm->name, each.tuning);
        ++segmented;
    }
    EXPECT_GT(segmented, 3);
}

TEST(Choice, IsTheSimplestOfThoseThatAreNearlyAlike) {
    const Given given(8);
    for (const std::uint64_t bytes : {8u, 4096u, 1u << 20}) {
        const std::vector<Candidate> all = given.rank(Collective::allreduce, bytes);

        Time quickest = never;
        for (const Candidate& each : all) quickest = std::min(quickest, each.predicted);
        EXPECT_LE(all.front().predicted.ps - quickest.ps, quickest.ps / 8);
        for (const Candidate& each : all)
            if (each.predicted.ps - quickest.ps <= quickest.ps / 8) {
                EXPECT_GE(each.operations, all.front().operations);
            }
    }
}

TEST(Choice, IsFlatWhereDependenciesAreDear) {
    Given given(8);
    given.charges = model::parse_charges("L=50us,o=100ns,o_first=0ns,ready=50us", given.charges);

    EXPECT_THAT(given.rank(Collective::broadcast, 8).front().algorithm->name, testing::AnyOf("linear", "knomial"));
    EXPECT_EQ(given.rank(Collective::barrier, 0).front().tuning.ways, 7u);
}

TEST(Choice, IsATreeWhereSendsAreDear) {
    Given given(16);
    given.charges = model::parse_charges("L=100ns,o=5us,o_first=0ns", given.charges);

    EXPECT_NE(given.rank(Collective::broadcast, 8).front().algorithm->name, "linear");
    EXPECT_EQ(given.rank(Collective::barrier, 0).front().tuning.ways, 1u);
}

TEST(Choice, OfLongReductionsDividesTheWork) {
    const Given given(8);

    EXPECT_THAT(given.rank(Collective::allreduce, 4 << 20).front().algorithm->name,
                testing::AnyOf("ring", "rabenseifner"));
}

TEST(Choice, CrossesBetweenHostsSeldomWhereThatIsDear) {
    Given given(8, 2);
    given.charges = model::parse_charges("far.g=5us,f=1", given.charges);

    EXPECT_EQ(given.rank(Collective::allreduce, 8).front().algorithm->name, "hierarchical");
}

TEST(SizeClass, KeepsThreeBits) {
    EXPECT_EQ(size_class(0), 0u);
    EXPECT_EQ(size_class(7), 7u);
    EXPECT_EQ(size_class(65536), 65536u);
    EXPECT_EQ(size_class(65537), 65536u);
    EXPECT_EQ(size_class(100'000), 98'304u);
}

TEST(Explain, SaysWhatRunsAndWhy) {
    run_local(4, [](World& world) {
        const Explanation e = world.communicator().explain(Collective::allreduce, 64 * 1024);

        const std::string text = e.text();
        EXPECT_THAT(text, HasSubstr("allreduce of 64"));
        EXPECT_THAT(text, HasSubstr("on 4 ranks: " + describe(e.algorithm, e.tuning)));
        EXPECT_THAT(text, HasSubstr("recursive-doubling"));
        EXPECT_THAT(text, HasSubstr("assumed"));
        const auto json = nlohmann::json::parse(e.json());
        EXPECT_EQ(json["chosen"]["algorithm"], e.algorithm);
        EXPECT_EQ(json["candidates"].size(), e.alternatives.size());
        EXPECT_EQ(json["candidates"][0]["algorithm"], e.algorithm);
        EXPECT_EQ(json["parameters"]["source"], "assumed");
    });
}

TEST(Explain, KnowsEveryCollective) {
    const Given given(5);
    const Parameters parameters{given.charges, Parameters::Source::assumed, ""};
    for (std::size_t i = 0; i < collectives; ++i) {
        const auto what = static_cast<Collective>(i);
        if (to_string(what).starts_with("neighbour")) continue;
        Call call;
        call.what = what;
        call.bytes = 100;

        const Explanation e = explain(given.group, call, parameters);

        EXPECT_FALSE(e.alternatives.empty()) << to_string(what);
        EXPECT_FALSE(e.algorithm.empty());
    }
}

TEST(Explain, SaysForWhichSizeItWasPredicted) {
    const Given given(5);
    Call call;
    call.what = Collective::broadcast;
    call.bytes = 100'000;

    const Explanation e = explain(given.group, call, {given.charges, Parameters::Source::assumed, ""});

    EXPECT_EQ(e.judged, 98'304u);
    EXPECT_THAT(e.text(), HasSubstr("predicted as for 96"));
    call.bytes = 98'304;
    EXPECT_EQ(e.alternatives[0].predicted, rank_candidates(given.group, call, given.charges).candidates[0].predicted);
}

TEST(Explain, SaysWhenSomebodyElseDecided) {
    run_local(2, [](World& world) {
        Call call;
        call.what = Collective::broadcast;
        call.bytes = 8;
        const Choice choice{"chain", {}};

        const Explanation e = world.communicator().explain(call, &choice);

        EXPECT_EQ(e.algorithm, "chain");
        EXPECT_EQ(e.why, "asked for");
        EXPECT_GT(e.alternatives.size(), 3u);
    });
}

}  // namespace
}  // namespace loom::coll
